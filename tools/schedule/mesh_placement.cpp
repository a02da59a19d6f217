#include "schedule/mesh_placement.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/checked.h"
#include "base/random.h"
#include "pim/placement.h"

namespace weft {
namespace {

struct Traffic {
    std::uint32_t peer = 0;
    std::int64_t flits_out = 0;
    std::int64_t flits_in = 0;
};

/// Flits between cores, symmetric CSR.
struct TrafficGraph {
    std::vector<std::uint32_t> first;
    std::vector<Traffic> peers;
};

TrafficGraph measure_traffic(const Tasks& tasks, const Target& target, const LanePlacement& placement,
                             const Rhythm& rhythm) {
    const ActorPlan plan = plan_actors(tasks, placement, rhythm);
    std::map<std::pair<std::uint32_t, std::uint32_t>, Traffic> edges;
    for (const Transfer& transfer : plan.transfers) {
        if (transfer.source == no_id) continue;
        const std::uint32_t from = plan.outputs[transfer.source].core.value;
        const std::uint32_t to = plan.inputs[transfer.target].core.value;
        if (from == to) continue;
        const std::uint32_t elems = span_elems(tasks.tensors[plan.inputs[transfer.target].tensor.index()], transfer.span);
        const std::int64_t flits = ceil_divide(elems, target.network.bus_width_bytes);
        Traffic& out = edges[{from, to}];
        out.peer = to;
        out.flits_out += flits;
        Traffic& in = edges[{to, from}];
        in.peer = from;
        in.flits_in += flits;
    }
    TrafficGraph graph;
    graph.first.assign(target.core_count + 1U, 0);
    for (const auto& [key, traffic] : edges) {
        ++graph.first[key.first + 1];
        graph.peers.push_back(traffic);
    }
    std::partial_sum(graph.first.begin(), graph.first.end(), graph.first.begin());
    return graph;
}

class Annealer {
public:
    Annealer(const TrafficGraph& graph, const Target& target)
        : graph_(graph), target_(target), site_(target.core_count) {
        std::iota(site_.begin(), site_.end(), 0U);
    }

    std::vector<std::uint32_t> run(std::uint32_t moves_per_core) {
        const std::uint32_t cores = target_.core_count;
        Random random(0x77656674U);
        const std::uint64_t moves = std::uint64_t{moves_per_core} * cores;
        std::int64_t total = 0;
        for (std::uint32_t c = 0; c < cores; ++c) total += cost_of(c, no_id);
        // Start where a typical swap is accepted often, end where none that hurts is; integers only.
        const std::int64_t hottest = std::max<std::int64_t>(1, total / cores / 8);
        for (std::uint64_t move = 0; move < moves; ++move) {
            const std::uint32_t a = random.below(cores);
            const std::uint32_t b = random.below(cores);
            if (a == b) continue;
            const std::int64_t before = cost_of(a, b) + cost_of(b, a);
            std::swap(site_[a], site_[b]);
            const std::int64_t after = cost_of(a, b) + cost_of(b, a);
            const auto left = static_cast<std::int64_t>(moves - move);
            const std::int64_t threshold = multiply_divide(hottest, multiply_divide(left, left, static_cast<std::int64_t>(moves)),
                                                           static_cast<std::int64_t>(moves));
            // Threshold acceptance with a random part: worse by up to a random share of the temperature.
            const std::int64_t accepted = multiply_divide(threshold, random.below(1024), 1024);
            if (after - before > accepted) std::swap(site_[a], site_[b]);
        }
        return site_;
    }

private:
    std::int64_t latency(std::uint32_t from, std::uint32_t to) const {
        return target_.link_latency_ps[std::size_t{from} * (target_.core_count + 1U) + to];
    }
    /// Cost of the traffic of core `c`, the edge to `except` left out (a swap of the two does not change it on symmetric networks).
    std::int64_t cost_of(std::uint32_t c, std::uint32_t except) const {
        std::int64_t cost = 0;
        for (std::uint32_t e = graph_.first[c]; e < graph_.first[c + 1]; ++e) {
            const Traffic& traffic = graph_.peers[e];
            if (traffic.peer == except) continue;
            cost += traffic.flits_out * latency(site_[c], site_[traffic.peer]);
            cost += traffic.flits_in * latency(site_[traffic.peer], site_[c]);
        }
        return cost;
    }

    const TrafficGraph& graph_;
    const Target& target_;
    std::vector<std::uint32_t> site_;   // per core of the placement: the physical core
};

}  // namespace

LanePlacement place_cores(const Tasks& tasks, const Target& target, LanePlacement placement,
                          const Rhythm& rhythm,
                          std::uint32_t moves_per_core) {
    if (target.core_count < 3 || moves_per_core == 0) return placement;
    const TrafficGraph graph = measure_traffic(tasks, target, placement, rhythm);
    const std::vector<std::uint32_t> site = Annealer(graph, target).run(moves_per_core);
    for (std::uint16_t& core : placement) core = narrow<std::uint16_t>(site[core]);
    return placement;
}

}  // namespace weft
