#include "cycle_ratio.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/failure.h"
#include "base/id.h"

namespace weft {
namespace {

__extension__ using Wide = __int128;

/// Costs and potentials below these cannot overflow where one of each is added.
constexpr std::int64_t cost_limit = std::int64_t{1} << 61U;
constexpr std::int64_t potential_limit = std::int64_t{1} << 62U;

/// Offsets of the edges of each node, and the edges.
struct Adjacency {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> edges;
};

Adjacency outgoing(const TimedGraph& graph) {
    Adjacency result;
    result.first.assign(std::size_t{graph.node_count} + 1, 0);
    for (const std::uint32_t node : graph.from) ++result.first[node + 1];
    std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
    result.edges.resize(graph.edge_count());
    std::vector<std::uint32_t> place(result.first.begin(), result.first.end() - 1);
    for (std::uint32_t edge = 0; edge < graph.edge_count(); ++edge) result.edges[place[graph.from[edge]]++] = edge;
    return result;
}

struct Ratio {
    std::int64_t weight = 0;
    std::int64_t distance = 0;   // 0: none yet
    [[nodiscard]] bool less_than(const Ratio& other) const {
        return distance == 0 || Wide{weight} * other.distance < Wide{other.weight} * distance;
    }
};

struct SumOverflow {};

class RatioSearch {
public:
    explicit RatioSearch(const TimedGraph& graph) : graph_(graph), adjacency_(outgoing(graph)) {}

    CycleRatio run() {
        if (!sort_nodes()) return std::move(result_);
        try {
            start();
            while (result_.status == RatioStatus::Found && improve()) {
            }
        } catch (const SumOverflow&) {
            result_ = {};
            result_.status = RatioStatus::Overflow;
        }
        return std::move(result_);
    }

private:
    /// Nodes in topological order of the edges without distance; false where there is none. Last in, first out: successors stand close
    /// to their predecessors, which is what makes a sweep fast.
    bool sort_nodes() {
        const std::uint32_t nodes = graph_.node_count;
        std::vector<std::uint32_t> waiting(nodes, 0);
        for (std::size_t edge = 0; edge < graph_.edge_count(); ++edge) {
            if (graph_.distance[edge] == 0) ++waiting[graph_.to[edge]];
        }
        std::vector<std::uint32_t> stack;
        for (std::uint32_t node = nodes; node-- > 0;) {
            if (waiting[node] == 0) stack.push_back(node);
        }
        place_.assign(nodes, no_id);
        order_.reserve(nodes);
        while (!stack.empty()) {
            const std::uint32_t node = stack.back();
            stack.pop_back();
            place_[node] = static_cast<std::uint32_t>(order_.size());
            order_.push_back(node);
            for (std::uint32_t at = adjacency_.first[node + 1]; at-- > adjacency_.first[node];) {
                const std::uint32_t edge = adjacency_.edges[at];
                if (graph_.distance[edge] == 0 && --waiting[graph_.to[edge]] == 0) stack.push_back(graph_.to[edge]);
            }
        }
        if (order_.size() == nodes) return true;
        report_zero_distance_cycle();
        return false;
    }

    /// Every node that was not sorted has a predecessor that was not: walk back until one comes again.
    void report_zero_distance_cycle() {
        std::vector<std::uint32_t> parent(graph_.node_count, no_id);
        for (std::uint32_t edge = 0; edge < graph_.edge_count(); ++edge) {
            if (graph_.distance[edge] == 0 && place_[graph_.from[edge]] == no_id && place_[graph_.to[edge]] == no_id) parent[graph_.to[edge]] = edge;
        }
        std::uint32_t node = 0;
        while (parent[node] == no_id) ++node;
        for (std::uint32_t step = 0; step < graph_.node_count; ++step) node = graph_.from[parent[node]];
        const std::uint32_t begin = node;
        do {
            result_.cycle.push_back(parent[node]);
            node = graph_.from[parent[node]];
        } while (node != begin);
        std::reverse(result_.cycle.begin(), result_.cycle.end());
        result_.status = RatioStatus::ZeroDistanceCycle;
    }

    /// A first cycle. Nodes that no cycle reaches are peeled off; every other node keeps one predecessor, the last one of a longest path
    /// where it has predecessors in the same iteration. Following these must close.
    void start() {
        const std::uint32_t nodes = graph_.node_count;
        std::vector<std::uint32_t> waiting(nodes, 0);
        for (const std::uint32_t node : graph_.to) ++waiting[node];
        std::vector<std::uint32_t> peeled;
        for (std::uint32_t node = 0; node < nodes; ++node) {
            if (waiting[node] == 0) peeled.push_back(node);
        }
        for (std::size_t head = 0; head < peeled.size(); ++head) {
            for (const std::uint32_t edge : edges_of(peeled[head])) {
                if (--waiting[graph_.to[edge]] == 0) peeled.push_back(graph_.to[edge]);
            }
        }
        if (peeled.size() == nodes) {
            result_.potential.resize(nodes);
            for (std::size_t at = 0; at < peeled.size(); ++at) result_.potential[peeled[at]] = static_cast<std::int64_t>(at);
            return;   // no cycle at all
        }
        result_.status = RatioStatus::Found;
        choose_predecessors(waiting);
        find_cycles();
    }

    [[nodiscard]] std::span<const std::uint32_t> edges_of(std::uint32_t node) const {
        return std::span(adjacency_.edges).subspan(adjacency_.first[node], adjacency_.first[node + 1] - adjacency_.first[node]);
    }

    static constexpr std::uint32_t mark_limit = 1U << 30U;   // far from the end of the type, and more than there are nodes

    /// `remains`: not zero for the nodes that count.
    void choose_predecessors(std::span<const std::uint32_t> remains) {
        const std::uint32_t nodes = graph_.node_count;
        std::vector<std::int64_t> length(nodes, 0);
        parent_.assign(nodes, no_id);
        const auto relax = [&](std::uint32_t edge) {
            const std::uint32_t to = graph_.to[edge];
            const Wide sum = Wide{length[graph_.from[edge]]} + graph_.weight[edge];
            if (sum > potential_limit || sum < -potential_limit) throw SumOverflow{};
            if (parent_[to] != no_id && sum <= length[to]) return;
            length[to] = static_cast<std::int64_t>(sum);
            parent_[to] = edge;
        };
        for (const std::uint32_t node : order_) {
            if (remains[node] == 0) continue;
            for (const std::uint32_t edge : edges_of(node)) {
                if (graph_.distance[edge] == 0) relax(edge);
            }
        }
        // Only now: an edge with distance may lead to where the order has been already.
        std::vector<std::uint8_t> within(nodes, 0);
        for (std::uint32_t node = 0; node < nodes; ++node) within[node] = parent_[node] != no_id ? 1 : 0;
        for (std::uint32_t edge = 0; edge < graph_.edge_count(); ++edge) {
            const bool counts = graph_.distance[edge] != 0 && remains[graph_.from[edge]] != 0 && within[graph_.to[edge]] == 0;
            if (counts) relax(edge);
        }
        heads_.clear();
        is_head_.assign(nodes, 0);
        for (std::uint32_t edge = 0; edge < graph_.edge_count(); ++edge) {
            const std::uint32_t to = graph_.to[edge];
            if (graph_.distance[edge] == 0 || is_head_[to] != 0) continue;
            is_head_[to] = 1;
            heads_.push_back(to);
        }
        mark_.assign(nodes, 0);
    }

    /// The cycle of largest ratio among the predecessors, if it is larger than what is known. Every cycle has an edge with distance, so
    /// walks begin at such edges' ends.
    bool find_cycles() {
        bool found = false;
        if (next_mark_ > mark_limit) {
            std::fill(mark_.begin(), mark_.end(), 0);
            next_mark_ = 1;
        }
        const std::uint32_t first_mark = next_mark_;
        for (const std::uint32_t head : heads_) {
            if (parent_[head] == no_id || mark_[head] >= first_mark) continue;
            const std::uint32_t mark = next_mark_++;
            std::uint32_t node = head;
            while (node != no_id && mark_[node] < first_mark) {
                mark_[node] = mark;
                node = parent_[node] == no_id ? no_id : graph_.from[parent_[node]];
            }
            if (node != no_id && mark_[node] == mark) found = take_cycle(node) || found;
        }
        return found;
    }

    bool take_cycle(std::uint32_t begin) {
        Wide weight = 0;
        Wide distance = 0;
        std::uint32_t node = begin;
        do {
            weight += graph_.weight[parent_[node]];
            distance += graph_.distance[parent_[node]];
            node = graph_.from[parent_[node]];
        } while (node != begin);
        if (weight > potential_limit || weight < -potential_limit || distance > potential_limit) throw SumOverflow{};
        const Ratio ratio{static_cast<std::int64_t>(weight), static_cast<std::int64_t>(distance)};
        if (!best_.less_than(ratio)) return false;
        best_ = ratio;
        result_.cycle.clear();
        do {
            result_.cycle.push_back(parent_[node]);
            node = graph_.from[parent_[node]];
        } while (node != begin);
        std::reverse(result_.cycle.begin(), result_.cycle.end());
        return true;
    }

    /// One edge as a sweep reads it, in the order of its source.
    struct Step {
        std::uint32_t to = 0;      // place
        std::uint32_t edge = 0;
        std::int64_t cost = 0;
    };

    /// Test the best ratio: true where a better cycle was found, false where potentials prove that there is none.
    bool improve() {
        ++result_.tests;
        const std::int64_t divisor = std::gcd(best_.weight, best_.distance);
        result_.numerator = best_.weight / divisor;
        result_.denominator = best_.distance / divisor;
        set_costs();
        potentials_.assign(graph_.node_count, 0);
        changed_.assign(graph_.node_count, 1);
        std::fill(parent_.begin(), parent_.end(), no_id);
        while (sweep()) {
            if (find_cycles()) return true;
        }
        result_.potential.resize(graph_.node_count);
        for (std::uint32_t node = 0; node < graph_.node_count; ++node) result_.potential[node] = potentials_[place_[node]];
        return false;
    }

    void set_costs() {
        if (steps_.empty()) {
            steps_.reserve(graph_.edge_count());
            step_first_.reserve(std::size_t{graph_.node_count} + 1);
            for (const std::uint32_t node : order_) {
                step_first_.push_back(static_cast<std::uint32_t>(steps_.size()));
                for (const std::uint32_t edge : edges_of(node)) steps_.push_back({place_[graph_.to[edge]], edge, 0});
            }
            step_first_.push_back(static_cast<std::uint32_t>(steps_.size()));
        }
        for (Step& step : steps_) {
            const Wide cost = Wide{result_.denominator} * graph_.weight[step.edge] - Wide{result_.numerator} * graph_.distance[step.edge];
            if (cost > cost_limit || cost < -cost_limit) throw SumOverflow{};
            step.cost = static_cast<std::int64_t>(cost);
        }
    }

    /// Relax all edges of nodes that have moved, in order; false where none moved. Potentials only rise, from zero.
    bool sweep() {
        ++result_.sweeps;
        bool moved = false;
        for (std::uint32_t at = 0; at < graph_.node_count; ++at) {
            if (changed_[at] == 0) continue;
            changed_[at] = 0;
            const std::int64_t potential = potentials_[at];
            for (std::uint32_t step_id = step_first_[at]; step_id < step_first_[at + 1]; ++step_id) {
                const Step& step = steps_[step_id];
                const std::int64_t reached = potential + step.cost;
                if (reached <= potentials_[step.to]) continue;
                if (reached > potential_limit) throw SumOverflow{};
                potentials_[step.to] = reached;
                changed_[step.to] = 1;
                parent_[order_[step.to]] = step.edge;
                moved = true;
            }
        }
        return moved;
    }

    const TimedGraph& graph_;
    Adjacency adjacency_;
    std::vector<std::uint32_t> order_;     // nodes
    std::vector<std::uint32_t> place_;     // by node: where it stands in order_
    std::vector<std::uint32_t> heads_;     // ends of edges with distance, each once
    std::vector<std::uint8_t> is_head_;
    std::vector<std::uint32_t> parent_;    // by node: edge
    std::vector<std::uint32_t> mark_;      // by node: walk that came by
    std::uint32_t next_mark_ = 1;
    std::vector<Step> steps_;
    std::vector<std::uint32_t> step_first_;
    std::vector<std::int64_t> potentials_;   // by place
    std::vector<std::uint8_t> changed_;
    Ratio best_;
    CycleRatio result_;
};

}  // namespace

CycleRatio maximum_cycle_ratio(const TimedGraph& graph) { return RatioSearch(graph).run(); }

}  // namespace weft
