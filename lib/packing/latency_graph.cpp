#include "packing/latency_graph.h"

#include <algorithm>

#include "base/checked.h"
#include "pim/placement.h"

namespace weft {
namespace {

/// Two cores as far apart as the mean of the chip, for costs that must not depend on the placement.
struct TypicalPair {
    CoreId from;
    CoreId to;
};

TypicalPair typical_pair(const Target& target) {
    const std::uint32_t cores = target.core_count;
    if (cores < 2) return {CoreId(0), CoreId(0)};
    std::uint64_t sum = 0;
    const auto link = [&](std::uint32_t p, std::uint32_t q) { return target.link_latency_ps[std::size_t{p} * (cores + 1U) + q]; };
    for (std::uint32_t p = 0; p < cores; ++p) {
        for (std::uint32_t q = 0; q < cores; ++q) sum += p == q ? 0 : link(p, q);
    }
    const auto mean = static_cast<std::int64_t>(sum / (std::uint64_t{cores} * (cores - 1)));
    TypicalPair best{CoreId(0), CoreId(1)};
    std::int64_t best_off = -1;
    for (std::uint32_t q = 1; q < cores; ++q) {
        const std::int64_t off = std::abs(std::int64_t{link(0, q)} - mean);
        if (best_off < 0 || off < best_off) {
            best_off = off;
            best.to = CoreId(q);
        }
    }
    return best;
}

class GraphBuilder {
public:
    GraphBuilder(const Tasks& tasks, const Target& target, const PimTiming& timing, const std::vector<std::uint32_t>& parts)
        : tasks_(tasks), target_(target), timing_(timing), parts_(parts), pair_(typical_pair(target)) {}

    LatencyGraph run() {
        cut_families();
        base_ns_.assign(graph_.task_lanes.size(), 0);
        for (std::uint32_t t = 0; t < base_ns_.size(); ++t) {
            for (const Lane& lane : tasks_.lanes.subspan(graph_.task_lanes[t].first, graph_.task_lanes[t].count)) {
                base_ns_[t] += static_cast<std::int64_t>(lane.work_ns);
            }
        }
        for (std::uint32_t t = 0; t < base_ns_.size(); ++t) connect_inputs(t);
        graph_.dag.task_count = narrow<std::uint32_t>(base_ns_.size());
        graph_.dag.processor_count = target_.core_count;
        set_edges(graph_.dag, std::move(edges_));
        graph_.dag.edge_flits.resize(graph_.dag.successors.size());
        copy_links();
        fill_costs();
        fill_weights();
        fill_space();
        return std::move(graph_);
    }

private:
    void cut_families() {
        for (std::uint32_t f = 0; f < tasks_.families.size(); ++f) {
            first_task_.push_back(narrow<std::uint32_t>(graph_.task_lanes.size()));
            for (std::uint32_t part = 0; part < parts_[f]; ++part) {
                graph_.task_lanes.push_back(lane_run(tasks_.families[f], part, parts_[f]));
                graph_.task_family.push_back(f);
                PositionHull made;
                const LaneRun& run = graph_.task_lanes.back();
                for (const Lane& lane : tasks_.lanes.subspan(run.first, run.count)) {
                    const std::uint32_t end = std::max(made.first + made.count, lane.first_position + lane.position_count);
                    made.first = made.count == 0 ? lane.first_position : std::min(made.first, lane.first_position);
                    made.count = end - made.first;
                }
                made_.push_back(made);
            }
        }
        first_task_.push_back(narrow<std::uint32_t>(graph_.task_lanes.size()));
    }

    void connect_inputs(std::uint32_t task) {
        const Family& family = tasks_.families[graph_.task_family[task]];
        for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
            const std::uint32_t tensor = tasks_.inputs[family.first_input + slot];
            const std::uint32_t producer = tasks_.tensors[tensor].producer;
            if (producer == no_id) continue;
            const PositionHull wanted = demanded_hull(tasks_, graph_.task_lanes[task], slot);
            for (std::uint32_t from = first_task_[producer]; from < first_task_[producer + 1]; ++from) {
                connect(from, task, tasks_.tensors[tensor], wanted);
            }
        }
    }

    void connect(std::uint32_t from, std::uint32_t to, const TaskTensor& tensor, PositionHull wanted) {
        const PositionHull& made = made_[from];
        const std::uint32_t first = std::max(made.first, wanted.first);
        const std::uint32_t end = std::min(made.first + made.count, wanted.first + wanted.count);
        if (first >= end) return;
        const std::uint32_t elems = span_elems(tensor, {first, end - first});
        const std::int64_t flight = timing_.network_ns(pair_.from, pair_.to, elems);
        edges_.push_back({from, to, 0, ceil_divide(elems, target_.network.bus_width_bytes)});
        base_ns_[from] += timing_.send_ns(pair_.from, pair_.to, elems);
        base_ns_[to] += std::max<std::int64_t>(0, timing_.recv_ns(pair_.from, pair_.to, elems) - flight);
    }

    /// The target's table without the global memory.
    void copy_links() {
        for (std::uint32_t p = 0; p < target_.core_count; ++p) {
            const auto row = target_.link_latency_ps.subspan(std::size_t{p} * (target_.core_count + 1U), target_.core_count);
            graph_.dag.link_ps.insert(graph_.dag.link_ps.end(), row.begin(), row.end());
        }
    }

    /// Loads and stores are the only costs that depend on the core.
    void fill_costs() {
        graph_.dag.cost_ns.reserve(base_ns_.size() * target_.core_count);
        std::vector<std::uint32_t> loads;
        for (std::uint32_t t = 0; t < base_ns_.size(); ++t) {
            const Family& family = tasks_.families[graph_.task_family[t]];
            loads.clear();
            for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
                const TaskTensor& input = tasks_.tensors[tasks_.inputs[family.first_input + slot]];
                const PositionHull hull = demanded_hull(tasks_, graph_.task_lanes[t], slot);
                if (input.producer == no_id && hull.count > 0) loads.push_back(span_elems(input, {hull.first, hull.count}));
            }
            const TaskTensor& output = tasks_.tensors[family.output];
            const std::uint32_t stored = output.output_port == no_id ? 0 : span_elems(output, {made_[t].first, made_[t].count});
            for (std::uint32_t c = 0; c < target_.core_count; ++c) {
                std::int64_t cost = base_ns_[t];
                for (const std::uint32_t elems : loads) cost += timing_.load_ns(CoreId(c), elems);
                if (stored > 0) cost += timing_.store_ns(CoreId(c), stored);
                graph_.dag.cost_ns.push_back(cost);
            }
        }
    }

    void fill_weights() {
        for (std::size_t f = 0; f < tasks_.families.size(); ++f) {
            graph_.dag.weight_size.push_back(tasks_.families[f].crossbars);
            graph_.dag.weight_limit.push_back(parts_[f]);
        }
        for (const std::uint32_t f : graph_.task_family) {
            graph_.dag.task_weight.push_back(tasks_.families[f].crossbars > 0 ? f : no_id);
        }
        graph_.dag.capacity.assign(target_.core_count, target_.core.crossbar_count);
    }

    /// Whole rows of what a run reads and makes, for every run by itself: neighbours on one core share some, so it is not too little.
    void fill_space() {
        const auto rows_elems = [&](std::uint32_t tensor_id, PositionHull hull, std::uint32_t more_rows) -> std::int64_t {
            const TaskTensor& tensor = tasks_.tensors[tensor_id];
            if (hull.count == 0) return 0;
            const std::uint32_t rows = (hull.first + hull.count - 1) / tensor.columns - hull.first / tensor.columns + 1 + more_rows;
            return std::int64_t{rows} * (tensor.columns + tensor.gap) * tensor.channels;
        };
        std::int64_t scratch = 0;
        for (const Family& family : tasks_.families) scratch = std::max<std::int64_t>(scratch, family.scratch_elems);
        for (std::uint32_t t = 0; t < base_ns_.size(); ++t) {
            const Family& family = tasks_.families[graph_.task_family[t]];
            std::int64_t elems = rows_elems(family.output, made_[t], 0);
            for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
                // Padding above or below the tensor stands in memory too.
                const std::uint32_t padding = std::min(family.pad_top, family.kernel_rows);
                elems += rows_elems(tasks_.inputs[family.first_input + slot], demanded_hull(tasks_, graph_.task_lanes[t], slot), padding);
            }
            graph_.dag.task_space.push_back(elems);
        }
        // An eighth is kept for constants, and the scratch of one family at a time.
        const auto space = static_cast<std::int64_t>(target_.core.local_memory_bytes / 8 * 7) - scratch;
        graph_.dag.space.assign(target_.core_count, std::max<std::int64_t>(0, space));
    }

    const Tasks& tasks_;
    const Target& target_;
    const PimTiming& timing_;
    const std::vector<std::uint32_t>& parts_;
    TypicalPair pair_;
    LatencyGraph graph_;
    std::vector<std::uint32_t> first_task_;   // per family, and the end
    std::vector<PositionHull> made_;          // per task: the positions of the family's tensor that it computes
    std::vector<std::int64_t> base_ns_;       // per task: what it costs on every core
    std::vector<DagEdge> edges_;
};

}  // namespace

LatencyGraph make_latency_graph(const Tasks& tasks, const Target& target, const PimTiming& timing,
                                const std::vector<std::uint32_t>& parts) {
    return GraphBuilder(tasks, target, timing, parts).run();
}

}  // namespace weft
