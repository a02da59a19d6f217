#include "schedule/schedule.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "pim/memory_plan.h"
#include "pim/placement.h"
#include "schedule/evaluate.h"
#include "schedule/latency.h"
#include "schedule/mesh_placement.h"
#include "schedule/packing.h"
#include "schedule/workload.h"

namespace weft {
namespace {

/// How inferences overlap.
struct Pipelining {
    ExchangePolicy exchange = ExchangePolicy::Burst;
    std::vector<std::uint32_t> levels;
    std::uint32_t slots_per_round = 1;
    std::uint32_t stage_count = 1;

    [[nodiscard]] Rhythm rhythm() const { return {exchange, slots_per_round, levels}; }
};

std::uint32_t level_count(std::span<const std::uint32_t> levels) {
    return levels.empty() ? 1 : *std::max_element(levels.begin(), levels.end()) + 1;
}

/// Slots per round such that no family is more than the allowed rounds behind.
Pipelining burst_pipelining(const Tasks& tasks, const ScheduleOptions& options, bool input_round = true) {
    Pipelining result;
    result.levels = dependency_levels(tasks);
    const std::uint32_t levels = level_count(result.levels);
    std::uint32_t stages = options.stages == 0 ? levels : std::min(options.stages, levels);
    if (options.max_depth < stages - 1) stages = options.max_depth + 1;
    result.slots_per_round = ceil_divide(levels, stages);
    result.stage_count = ceil_divide(levels, result.slots_per_round);
    if (input_round && result.slots_per_round == 1 && options.max_depth >= levels) {
        // One level later throughout: network inputs then have a round to arrive in, and the loads of all cores can be spread over it.
        for (std::uint32_t& level : result.levels) ++level;
        ++result.stage_count;
    }
    return result;
}

/// The woven exchange takes two rounds per edge; none where the options do not allow that depth.
std::optional<Pipelining> woven_pipelining(const Tasks& tasks, const ScheduleOptions& options) {
    Pipelining result;
    result.exchange = ExchangePolicy::Woven;
    result.levels = dependency_levels(tasks, 1, 2);
    result.stage_count = level_count(result.levels);
    if (options.stages != 0 || options.max_depth < result.stage_count - 1) return std::nullopt;
    return result;
}

bool fits_local_memory(const Tasks& tasks, const Target& target, const ScheduleColumns& schedule) {
    const ActorPlan plan = plan_actors(tasks, schedule.lane_core, {schedule.exchange, schedule.slots_per_round, schedule.family_level});
    const MemoryPlan memory = plan_memory(tasks, plan, target.core_count);
    return std::all_of(memory.cores.begin(), memory.cores.end(), [&](const LocalMemory& core) {
        // Constants come on top when code is emitted; an eighth is kept for them.
        return core.used() <= static_cast<std::int64_t>(target.core.local_memory_bytes / 8 * 7);
    });
}

/// Packing sees memory by estimate only: where nothing is found, more and more of it is allowed, and what lower really needs decides.
template <class Pack>
LanePlacement pack_within_memory(const Tasks& tasks, Workload& workload, Pack pack) {
    const std::int64_t elems = workload.core_elems;
    for (const std::int64_t factor : {1, 2, 3, 1 << 20}) {
        workload.core_elems = elems * factor;
        auto packed = smallest_packing(tasks, workload, pack);
        workload.core_elems = elems;
        if (packed) return *packed;
    }
    refuse_packing(workload);
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
    Workload workload = measure_workload(tasks, target, timing);
    require_capacity(tasks, workload);
    std::vector<ScheduleColumns> candidates;
    const auto add = [&](const std::string& strategy, const Pipelining& pipelining, LanePlacement placement) {
        if (options.mode == ScheduleMode::Throughput) {
            placement = balance_bands(tasks, workload, target, timing, std::move(placement), pipelining.rhythm());
        }
        placement = place_cores(tasks, target, std::move(placement), pipelining.rhythm(), options.placement_moves_per_core);
        ScheduleColumns schedule;
        schedule.mode = options.mode;
        schedule.exchange = pipelining.exchange;
        schedule.strategy = strategy;
        schedule.lane_core = std::move(placement);
        schedule.family_level = pipelining.levels;
        schedule.slots_per_round = pipelining.slots_per_round;
        schedule.stage_count = pipelining.stage_count;
        schedule.tasks_hash_high = tasks_hash.high;
        schedule.tasks_hash_low = tasks_hash.low;
        evaluate(tasks, target, timing, schedule);
        const bool known = std::any_of(candidates.begin(), candidates.end(), [&](const ScheduleColumns& other) {
            return other.exchange == schedule.exchange && other.family_level == schedule.family_level &&
                   other.slots_per_round == schedule.slots_per_round && other.lane_core == schedule.lane_core;
        });
        if (!known) candidates.push_back(std::move(schedule));
    };
    if (options.mode == ScheduleMode::Latency) {
        ScheduleOptions one_at_a_time = options;
        one_at_a_time.max_depth = 0;
        LatencyPlacement placed = place_for_latency(tasks, target, timing, options.latency);
        add(placed.strategy, burst_pipelining(tasks, one_at_a_time), std::move(placed.placement));
        return candidates;
    }
    const Pipelining burst = burst_pipelining(tasks, options);
    const auto ordered = [](const auto&... arguments) {
        // Capacity can need more freedom than dependency order leaves.
        auto packed = pack_ordered(arguments...);
        return packed ? packed : pack_filling(arguments...);
    };
    const LanePlacement first = pack_within_memory(tasks, workload, ordered);
    add("ordered-packing", burst, first);
    const LanePlacement filled = pack_within_memory(tasks, workload, pack_filling);
    add("filling", burst, filled);
    if (const auto woven = woven_pipelining(tasks, options)) add("filling-woven", *woven, filled);
    // A candidate that does not fit is none. Where none does, inferences overlap less and less: fewer rounds need fewer delay buffers.
    const auto fits = [&](const ScheduleColumns& schedule) { return fits_local_memory(tasks, target, schedule); };
    ScheduleOptions shallower = options;
    shallower.stages = burst.stage_count;
    while (std::none_of(candidates.begin(), candidates.end(), fits)) {
        add("ordered-packing-shallow", burst_pipelining(tasks, shallower, false), first);
        if (shallower.stages == 1) break;
        shallower.stages = ceil_divide(shallower.stages, 2U);
    }
    // If nothing helps the first is kept, so that lower can say what is missing.
    const auto fitting = std::stable_partition(candidates.begin(), candidates.end(), fits);
    candidates.erase(fitting == candidates.begin() ? fitting + 1 : fitting, candidates.end());
    return candidates;
}

}  // namespace weft
