#include "schedule/schedule.h"

#include <algorithm>

#include "base/checked.h"
#include "pim/placement.h"
#include "schedule/evaluate.h"
#include "schedule/mesh_placement.h"
#include "schedule/packing.h"
#include "schedule/workload.h"

namespace weft {
namespace {

/// How inferences overlap: slots per round such that no family is more than the allowed rounds behind.
struct Pipelining {
    std::vector<std::uint32_t> levels;
    std::uint32_t slots_per_round = 1;
    std::uint32_t stage_count = 1;
};

Pipelining choose_pipelining(const Tasks& tasks, const ScheduleOptions& options) {
    Pipelining result;
    result.levels = dependency_levels(tasks);
    std::uint32_t level_count = 1;
    for (const std::uint32_t level : result.levels) level_count = std::max(level_count, level + 1);
    std::uint32_t stages = options.stages == 0 ? level_count : std::min(options.stages, level_count);
    if (options.max_depth < stages - 1) stages = options.max_depth + 1;
    result.slots_per_round = ceil_divide(level_count, stages);
    result.stage_count = ceil_divide(level_count, result.slots_per_round);
    return result;
}

void check_work(const Tasks& tasks, const Target& target) {
    if (target.family != TargetFamily::Pim) refuse("the target is not of the pim family");
    if (tasks.lanes.empty()) refuse("there is nothing to place: the whole network runs on the host");
    if (target.core_count > 0xfffeU) refuse("the target has {} cores, at most 65,534 are supported", target.core_count);
}

}  // namespace

std::vector<ScheduleColumns> make_schedules(const Tasks& tasks, const Target& target, const ScheduleOptions& options,
                                            Hash128 tasks_hash) {
    check_work(tasks, target);
    const PimTiming timing(target);
    const Workload workload = measure_workload(tasks, target, timing);
    require_capacity(tasks, workload);
    const Pipelining pipelining = choose_pipelining(tasks, options);
    const auto finish = [&](const std::string& strategy, LanePlacement placement) {
        placement = balance_bands(tasks, target, timing, std::move(placement), pipelining.levels, pipelining.slots_per_round);
        placement = place_cores(tasks, target, std::move(placement), pipelining.levels, pipelining.slots_per_round,
                                options.placement_moves_per_core);
        ScheduleColumns schedule;
        schedule.mode = options.mode;
        schedule.strategy = strategy;
        schedule.lane_core = std::move(placement);
        schedule.family_level = pipelining.levels;
        schedule.slots_per_round = pipelining.slots_per_round;
        schedule.stage_count = pipelining.stage_count;
        schedule.tasks_hash_high = tasks_hash.high;
        schedule.tasks_hash_low = tasks_hash.low;
        evaluate(tasks, target, timing, schedule);
        return schedule;
    };
    std::vector<ScheduleColumns> candidates;
    candidates.push_back(finish("ordered-packing", smallest_packing(tasks, workload, [&](const auto&... arguments) {
                                    // Capacity can need more freedom than dependency order leaves.
                                    auto packed = pack_ordered(arguments...);
                                    return packed ? packed : pack_filling(arguments...);
                                })));
    ScheduleColumns filled = finish("filling", smallest_packing(tasks, workload, pack_filling));
    if (filled.lane_core != candidates.front().lane_core) candidates.push_back(std::move(filled));
    return candidates;
}

}  // namespace weft
