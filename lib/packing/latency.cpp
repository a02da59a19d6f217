#include "packing/latency.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "packing/latency_graph.h"
#include "packing/load_model.h"

namespace weft {
namespace {

std::string algorithm_name(ListAlgorithm algorithm) {
    switch (algorithm) {
        case ListAlgorithm::Peft: return "peft";
        case ListAlgorithm::Heft: return "heft";
        case ListAlgorithm::LookAhead: return "lookahead";
        case ListAlgorithm::Cpop: return "cpop";
    }
    return "?";
}

/// Tasks of one family are alike: deal them anew so that each core's tasks are neighbours, cores in the order of their tasks' mean
/// position. Costs on the cores stay what they were, up to loads and stores; fewer borders mean fewer messages.
void join_neighbours(const LatencyGraph& graph, std::vector<std::uint32_t>& core_of) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> cores;   // (mean position of its tasks, scaled; core)
    for (std::uint32_t first = 0; first < core_of.size();) {
        std::uint32_t end = first;
        while (end < core_of.size() && graph.task_family[end] == graph.task_family[first]) ++end;
        std::vector<std::uint32_t> used(core_of.begin() + first, core_of.begin() + end);
        std::sort(used.begin(), used.end());
        used.erase(std::unique(used.begin(), used.end()), used.end());
        cores.clear();
        std::vector<std::uint32_t> counts(used.size(), 0);
        std::vector<std::uint64_t> sums(used.size(), 0);
        for (std::uint32_t t = first; t < end; ++t) {
            const auto i = static_cast<std::size_t>(std::lower_bound(used.begin(), used.end(), core_of[t]) - used.begin());
            ++counts[i];
            sums[i] += t - first;
        }
        for (std::size_t i = 0; i < used.size(); ++i) {
            cores.emplace_back(sums[i] * 1024 / counts[i], static_cast<std::uint32_t>(i));
        }
        std::sort(cores.begin(), cores.end());
        std::uint32_t task = first;
        for (const auto& [position, i] : cores) {
            for (std::uint32_t n = 0; n < counts[i]; ++n) core_of[task++] = used[i];
        }
        first = end;
    }
}

LatencyPlacement spread_lanes(const Tasks& tasks, const LatencyGraph& graph, const DagSchedule& schedule, std::string strategy) {
    LatencyPlacement result;
    std::vector<std::uint32_t> core_of = schedule.processor;
    join_neighbours(graph, core_of);
    result.placement.assign(tasks.lanes.size(), 0);
    for (std::uint32_t t = 0; t < core_of.size(); ++t) {
        const LaneRun& run = graph.task_lanes[t];
        std::fill_n(result.placement.begin() + run.first, run.count, narrow<std::uint16_t>(core_of[t]));
    }
    result.strategy = std::move(strategy);
    result.makespan_ns = schedule.makespan_ns;
    result.task_count = graph.dag.task_count;
    result.edge_count = narrow<std::uint32_t>(graph.dag.successors.size());
    return result;
}

/// The shorter one of the two kinds of reservation; none where both run out of room.
std::optional<LatencyPlacement> place_graph(const Tasks& tasks, const LatencyGraph& graph, std::span<const Residence> reserved,
                                            ListAlgorithm algorithm, const std::string& name) {
    const Dag dag = view(graph.dag);
    ListOptions list;
    list.algorithm = algorithm;
    const DagSchedule by_load = list_schedule(dag, list);
    list.reserved = reserved;
    list.only_reserved = true;
    const DagSchedule by_reservation = list_schedule(dag, list);
    const bool load_placed = by_load.failed_task == no_id;
    if (by_reservation.failed_task == no_id && (!load_placed || by_reservation.makespan_ns < by_load.makespan_ns)) {
        return spread_lanes(tasks, graph, by_reservation, name + "-reserved");
    }
    if (load_placed) return spread_lanes(tasks, graph, by_load, name);
    return std::nullopt;
}

}  // namespace

std::optional<LatencyPlacement> find_latency_placement(const Tasks& tasks, const Target& target, const PimTiming& timing, const LatencyOptions& options,
                                                       std::span<const std::int64_t> constants) {
    const auto plan = plan_replicas(tasks, target, timing);
    if (!plan) return std::nullopt;
    LatencyGraph graph = make_latency_graph(tasks, target, timing, plan->replicas);
    const std::vector<std::int64_t> space = graph.dag.space;
    const std::string name = algorithm_name(options.algorithm);
    const std::vector<std::uint32_t> levels = dependency_levels(tasks);
    const std::uint32_t slots = levels.empty() ? 1 : *std::max_element(levels.begin(), levels.end()) + 1;
    const auto fits = [&](const LanePlacement& placement) {
        return LoadModel(tasks, target, timing, placement, {ExchangePolicy::Burst, slots, levels}, constants).fits(usable_elems(target));
    };
    // What runs of lanes need together is an estimate: with less of it until they fit.
    std::optional<LatencyPlacement> first;
    for (const std::int64_t percent : {100, 85, 70, 55}) {
        for (std::size_t core = 0; core < space.size(); ++core) graph.dag.space[core] = multiply_divide(space[core], percent, 100);
        auto placed = place_graph(tasks, graph, plan->residences, options.algorithm, name);
        if (!placed) break;
        placed->fits = fits(placed->placement);
        if (placed->fits) return placed;
        if (!first) first = std::move(placed);
    }
    if (first) return first;
    // The estimate is on the safe side: lower may still find room, and says what is missing where there is none.
    graph.dag.space.clear();
    graph.dag.task_space.clear();
    auto placed = place_graph(tasks, graph, plan->residences, options.algorithm, name + "-tight");
    WEFT_CHECK(placed, "every family has a core, yet a task was not placed");
    placed->fits = fits(placed->placement);
    return placed;
}

LatencyPlacement place_for_latency(const Tasks& tasks, const Target& target, const PimTiming& timing, const LatencyOptions& options,
                                   std::span<const std::int64_t> constants) {
    if (auto placed = find_latency_placement(tasks, target, timing, options, constants)) return *std::move(placed);
    std::uint64_t crossbars = 0;
    for (const Family& family : tasks.families) crossbars += family.crossbars;
    refuse(
        "no reservation of the weights was found: they need {} crossbars in {} families, the target has {} cores x {}; this is no proof "
        "that none exists. Use a larger chip or a smaller network",
        crossbars, tasks.families.size(), target.core_count, target.core.crossbar_count);
}

}  // namespace weft
