#include "schedule/latency.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "dag/reservation.h"
#include "schedule/latency_graph.h"

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

/// One core per family with weights, by best fit.
std::optional<std::vector<Residence>> reserve_families(const Tasks& tasks, const Target& target) {
    std::vector<std::uint32_t> sizes;
    std::vector<std::uint32_t> family;
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        if (tasks.families[f].crossbars == 0) continue;
        sizes.push_back(tasks.families[f].crossbars);
        family.push_back(f);
    }
    const std::vector<std::uint32_t> capacity(target.core_count, target.core.crossbar_count);
    auto found = reserve_best_fit(sizes, capacity);
    if (!found) return std::nullopt;
    for (Residence& residence : found->residences) residence.weight = family[residence.weight];
    return std::move(found->residences);
}

}  // namespace

LatencyPlacement place_for_latency(const Tasks& tasks, const Target& target, const PimTiming& timing, const LatencyOptions& options) {
    const std::uint64_t available = std::uint64_t{target.core_count} * target.core.crossbar_count;
    const std::string name = algorithm_name(options.algorithm);
    ListOptions list;
    list.algorithm = options.algorithm;
    const auto attempt = [&](const std::vector<std::uint32_t>& replicas, const char* rung) -> std::optional<LatencyPlacement> {
        const LatencyGraph graph = make_latency_graph(tasks, target, timing, replicas);
        const DagSchedule schedule = list_schedule(view(graph.dag), list);
        if (schedule.failed_task != no_id) return std::nullopt;
        return spread_lanes(tasks, graph, schedule, name + rung);
    };
    std::vector<std::uint32_t> replicas;
    std::uint64_t budget = available;
    for (const std::uint32_t percent : {100U, 95U, 90U, 80U, 60U}) {
        budget = available * percent / 100;
        replicas = plan_replicas(tasks, target, timing, budget);
        if (auto placed = attempt(replicas, "")) return *std::move(placed);
        if (std::all_of(replicas.begin(), replicas.end(), [](std::uint32_t n) { return n == 1; })) break;
    }
    const auto reserved = reserve_families(tasks, target);
    if (!reserved) {
        std::vector<std::uint32_t> one(tasks.families.size(), 1);
        refuse(
            "no reservation of the weights was found: they need {} crossbars in {} families, the target has {} cores x {}; this is no proof "
            "that none exists. Use a larger chip or a smaller network",
            replica_crossbars(tasks, one), tasks.families.size(), target.core_count, target.core.crossbar_count);
    }
    list.reserved = *reserved;
    if (auto placed = attempt(replicas, "-largest-first")) return *std::move(placed);
    list.only_reserved = true;
    auto placed = attempt(replicas, "-shared");
    WEFT_CHECK(placed, "every family has a core, yet a task was not placed");
    return *std::move(placed);
}

}  // namespace weft
