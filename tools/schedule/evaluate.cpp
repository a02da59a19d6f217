#include "schedule/evaluate.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "pim/placement.h"
#include "packing/workload.h"

namespace weft {
namespace {

/// Lanes of each core in execution order: by slot of the round, then by family, then by tile.
void order_lanes(const Tasks& tasks, std::uint32_t core_count, ScheduleColumns& schedule) {
    std::vector<std::uint32_t> order(tasks.lanes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (schedule.lane_core[a] != schedule.lane_core[b]) return schedule.lane_core[a] < schedule.lane_core[b];
        const std::uint32_t slot_a = schedule.family_level[tasks.lanes[a].family] % schedule.slots_per_round;
        const std::uint32_t slot_b = schedule.family_level[tasks.lanes[b].family] % schedule.slots_per_round;
        return slot_a != slot_b ? slot_a < slot_b : a < b;
    });
    schedule.core_first.assign(core_count + 1U, 0);
    for (const std::uint16_t core : schedule.lane_core) ++schedule.core_first[core + 1U];
    std::partial_sum(schedule.core_first.begin(), schedule.core_first.end(), schedule.core_first.begin());
    schedule.core_lanes = std::move(order);
}

/// Longest chain of lanes' work through the network, and the completion of one inference when each core also does one thing at a time
/// (families in order, each starting when its producers are done everywhere).
void dependency_times(const Tasks& tasks, std::uint32_t core_count, ScheduleColumns& schedule) {
    std::vector<std::int64_t> path(tasks.families.size(), 0);
    std::vector<std::int64_t> finish(tasks.families.size(), 0);
    std::vector<std::int64_t> core_free(core_count, 0);
    for (std::size_t f = 0; f < tasks.families.size(); ++f) {
        const Family& family = tasks.families[f];
        std::int64_t path_start = 0;
        std::int64_t start = 0;
        for (const std::uint32_t tensor : tasks.inputs.subspan(family.first_input, family.input_count)) {
            const std::uint32_t producer = tasks.tensors[tensor].producer;
            if (producer == no_id) continue;
            path_start = std::max(path_start, path[producer]);
            start = std::max(start, finish[producer]);
        }
        std::int64_t longest_lane = 0;
        for (std::uint32_t l = family.first_lane; l < family.first_lane + family.lane_count; ++l) {
            const auto work = static_cast<std::int64_t>(tasks.lanes[l].work_ns);
            longest_lane = std::max(longest_lane, work);
            std::int64_t& free = core_free[schedule.lane_core[l]];
            free = std::max(free, start) + work;
            finish[f] = std::max(finish[f], free);
        }
        path[f] = path_start + longest_lane;
        schedule.critical_path_ns = std::max(schedule.critical_path_ns, static_cast<std::uint64_t>(path[f]));
        schedule.completion_ns = std::max(schedule.completion_ns, static_cast<std::uint64_t>(finish[f]));
    }
}

}  // namespace

void evaluate(const Tasks& tasks, const Target& target, const PimTiming& timing, ScheduleColumns& schedule) {
    const Rhythm rhythm{schedule.exchange, schedule.slots_per_round, schedule.family_level};
    const CoreLoads loads = measure_cores(tasks, target, timing, schedule.lane_core, rhythm);
    for (std::size_t c = 0; c < loads.crossbars.size(); ++c) {
        WEFT_CHECK(loads.crossbars[c] <= target.core.crossbar_count, "core {} holds {} crossbars of {}", c, loads.crossbars[c],
                   target.core.crossbar_count);
    }
    order_lanes(tasks, target.core_count, schedule);
    schedule.family_stage.clear();
    for (const std::uint32_t level : schedule.family_level) schedule.family_stage.push_back(level / schedule.slots_per_round);
    schedule.depth = 0;
    for (const std::uint32_t tensor : tasks.graph_outputs) {
        const std::uint32_t producer = tasks.tensors[tensor].producer;
        if (producer != no_id) schedule.depth = std::max(schedule.depth, output_round(rhythm, schedule.family_level[producer]));
    }
    schedule.core_work_ns.assign(loads.busy_ns.begin(), loads.busy_ns.end());
    schedule.core_crossbars = loads.crossbars;
    schedule.transfer_flits_ps = static_cast<std::uint64_t>(loads.transfer_flits_ps);
    schedule.critical_path_ns = 0;
    schedule.completion_ns = 0;
    dependency_times(tasks, target.core_count, schedule);
}

}  // namespace weft
