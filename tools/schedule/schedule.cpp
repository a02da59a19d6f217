#include "schedule/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "packing/load_model.h"
#include "packing/packing.h"
#include "packing/refine.h"
#include "packing/workload.h"
#include "pim/placement.h"
#include "schedule/evaluate.h"
#include "packing/latency.h"
#include "schedule/mesh_placement.h"

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
    if (options.stages != 0 || options.max_depth < result.stage_count) return std::nullopt;
    return result;
}

void check_work(const Tasks& tasks, const Target& target) {
    if (target.family != TargetFamily::Pim) refuse("the target is not of the pim family");
    if (tasks.lanes.empty()) refuse("there is nothing to place: the whole network runs on the host");
    if (target.core_count > 0xfffeU) refuse("the target has {} cores, at most 65,534 are supported", target.core_count);
}

/// Lanes on the cores of the mesh, and whether their buffers fit local memory.
struct Placed {
    LanePlacement lane_core;
    bool fits = false;
    bool recovered = false;     ///< by fit_weights, where no packing by time succeeded
};

/// The candidates of one run, distinct by content.
class CandidateList {
public:
    CandidateList(const Tasks& tasks, const Target& target, const ScheduleOptions& options, Hash128 tasks_hash)
        : tasks_(tasks), target_(target), options_(options), tasks_hash_(tasks_hash), timing_(target),
          workload_(measure_workload(tasks, target, timing_)), constants_(constant_elems(tasks, timing_)) {
        require_capacity(tasks, workload_);
    }

    [[nodiscard]] const PimTiming& timing() const { return timing_; }
    [[nodiscard]] std::span<const std::int64_t> constants() const { return constants_; }
    [[nodiscard]] bool fits_local_memory(const LanePlacement& placement, const Rhythm& rhythm) const {
        return LoadModel(tasks_, target_, timing_, placement, rhythm, constants_).fits(usable_elems(target_));
    }
    [[nodiscard]] bool is_full() const { return candidates_.size() >= options_.most_candidates; }
    [[nodiscard]] const Workload& workload() const { return workload_; }
    [[nodiscard]] bool any_fits() const { return std::find(fits_.begin(), fits_.end(), char{1}) != fits_.end(); }

    [[nodiscard]] Placed place(LanePlacement placement, const Rhythm& rhythm) const {
        const bool fits = fits_local_memory(placement, rhythm);
        return {on_mesh(std::move(placement), rhythm), fits};
    }

    /// As `place`; where memory is short, with lanes moved to where it is not.
    [[nodiscard]] Placed place_within_memory(LanePlacement placement, const Rhythm& rhythm) const {
        if (!fits_local_memory(placement, rhythm)) placement = refine(std::move(placement), rhythm, options_.refinement_trials_per_core);
        return place(std::move(placement), rhythm);
    }

    /// Pack, refine and place. Packing sees memory by estimate only, so what buffers may take is lowered until the schedule really fits.
    /// A doubled buffer counts twice. Nothing where it does not even pack.
    template <class Pack>
    [[nodiscard]] std::optional<Placed> try_pack(const Rhythm& rhythm, Pack packer) {
        const std::int64_t halves = rhythm.exchange == ExchangePolicy::Woven ? 2 : 1;
        std::optional<LanePlacement> first;
        for (const std::int64_t twelfths : {10, 8, 6, 4, 3}) {
            workload_.core_elems = static_cast<std::int64_t>(target_.core.local_memory_bytes) * twelfths / 12 / halves;
            auto packed = smallest_packing(tasks_, workload_, packer);
            if (!packed) break;
            // Another order may have packed the same.
            const auto known = std::find_if(refined_.begin(), refined_.end(), [&](const Refined& other) {
                return other.exchange == rhythm.exchange && other.slots_per_round == rhythm.slots_per_round && other.packed == packed->placement;
            });
            if (known != refined_.end()) return known->placed;
            LanePlacement refined = refine(packed->placement, rhythm, options_.refinement_trials_per_core / 2);
            if (fits_local_memory(refined, rhythm)) {
                // Again where the cores stand: what distances make of the messages differs from core to core.
                const Placed placed{refine_well(on_mesh(std::move(refined), rhythm), rhythm), true};
                refined_.push_back({rhythm.exchange, rhythm.slots_per_round, std::move(packed->placement), placed});
                return placed;
            }
            if (!first) first = std::move(refined);
        }
        if (!first) return std::nullopt;
        return place(std::move(*first), rhythm);
    }

    /// As try_pack; what does not pack by the estimates is packed without regard to memory and, where that fails, to time.
    template <class Pack>
    [[nodiscard]] Placed pack(const Rhythm& rhythm, Pack packer) {
        if (auto placed = try_pack(rhythm, packer)) return std::move(*placed);
        workload_.core_elems = std::numeric_limits<std::int64_t>::max() / 4;
        auto packed = smallest_packing(tasks_, workload_, packer);
        Recovery recovery;
        std::optional<LanePlacement> found = packed ? std::move(packed->placement) : pack_whole_families(tasks_, workload_, recovery);
        if (!found) refuse_packing(workload_, recovery);
        Placed placed = place(refine(std::move(*found), rhythm, options_.refinement_trials_per_core), rhythm);
        placed.recovered = !packed;
        return placed;
    }

    void add(const std::string& strategy, const Pipelining& pipelining, Placed placed) {
        ScheduleColumns schedule;
        schedule.mode = options_.mode;
        schedule.exchange = pipelining.exchange;
        schedule.strategy = placed.recovered ? strategy + "-recovered" : strategy;
        schedule.lane_core = std::move(placed.lane_core);
        schedule.family_level = pipelining.levels;
        schedule.slots_per_round = pipelining.slots_per_round;
        schedule.stage_count = pipelining.stage_count;
        schedule.tasks_hash_high = tasks_hash_.high;
        schedule.tasks_hash_low = tasks_hash_.low;
        const bool known = std::any_of(candidates_.begin(), candidates_.end(), [&](const ScheduleColumns& other) {
            return other.exchange == schedule.exchange && other.family_level == schedule.family_level &&
                   other.slots_per_round == schedule.slots_per_round && other.lane_core == schedule.lane_core;
        });
        if (known) return;
        evaluate(tasks_, target_, timing_, schedule);
        candidates_.push_back(std::move(schedule));
        fits_.push_back(placed.fits ? 1 : 0);
    }

    /// Those that fit; if none does the first, so that lower can say what is missing.
    [[nodiscard]] std::vector<ScheduleColumns> take() {
        std::vector<ScheduleColumns> kept;
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            if (fits_[i] != 0 || (i == 0 && !any_fits())) kept.push_back(std::move(candidates_[i]));
        }
        return kept;
    }

private:
    [[nodiscard]] LanePlacement refine(LanePlacement placement, const Rhythm& rhythm, std::uint32_t trials_per_core) const {
        const RefineLimits limits{workload_.core_crossbars, usable_elems(target_), constants_, trials_per_core};
        return refine_placement(tasks_, target_, timing_, std::move(placement), rhythm, limits);
    }

    /// With more patience where the busiest core stays more than a twentieth above the mean: where memory is short many moves are in vain.
    [[nodiscard]] LanePlacement refine_well(LanePlacement placement, const Rhythm& rhythm) const {
        constexpr std::uint32_t patience = 4;
        placement = refine(std::move(placement), rhythm, options_.refinement_trials_per_core);
        const CoreLoads loads = measure_cores(tasks_, target_, timing_, placement, rhythm);
        const std::int64_t sum_ns = std::accumulate(loads.occupied_ns.begin(), loads.occupied_ns.end(), std::int64_t{0});
        const std::int64_t mean_ns = sum_ns / std::ssize(loads.occupied_ns);
        if (*std::max_element(loads.occupied_ns.begin(), loads.occupied_ns.end()) <= mean_ns + mean_ns / 20) return placement;
        return refine(std::move(placement), rhythm, patience * options_.refinement_trials_per_core);
    }

    /// Cores that talk much become neighbours; what each of them does stays.
    [[nodiscard]] LanePlacement on_mesh(LanePlacement placement, const Rhythm& rhythm) const {
        return place_cores(tasks_, target_, std::move(placement), rhythm, options_.placement_moves_per_core);
    }

    struct Refined {
        ExchangePolicy exchange = ExchangePolicy::Burst;
        std::uint32_t slots_per_round = 1;
        LanePlacement packed;
        Placed placed;
    };

    const Tasks& tasks_;
    const Target& target_;
    const ScheduleOptions& options_;
    Hash128 tasks_hash_;
    PimTiming timing_;
    Workload workload_;
    std::vector<std::int64_t> constants_;   // per family
    std::vector<Refined> refined_;
    std::vector<ScheduleColumns> candidates_;
    std::vector<char> fits_;
};

/// Stages of consecutive families on cores of their own, for several numbers of stages: the four partitions of the shortest bottleneck, with less
/// to carry from stage to stage where that is equal.
void add_partitions(CandidateList& list, const Tasks& tasks, const Target& target, const Pipelining& pipelining) {
    constexpr std::size_t most = 4;
    const FamilyGroups groups = family_groups(tasks, list.workload());
    std::vector<Partition> partitions;
    for (const std::uint32_t stages : {2U, 3U, 4U, 6U, 8U, 12U, 16U}) {
        // The first is the fastest; the others trade time for less to carry.
        const auto found = partition_groups(groups.groups, {target.core_count, target.core.crossbar_count, stages});
        partitions.insert(partitions.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(found.size(), 2)));
    }
    std::stable_sort(partitions.begin(), partitions.end(), [](const Partition& a, const Partition& b) {
        return std::pair(a.bottleneck_ns, a.cut_elems) < std::pair(b.bottleneck_ns, b.cut_elems);
    });
    if (partitions.size() > most) partitions.resize(most);
    const char* suffix = pipelining.exchange == ExchangePolicy::Woven ? "-woven" : "";
    for (const Partition& partition : partitions) {
        if (list.is_full()) return;
        const auto pack = [&](const Tasks& all, const Workload& workload, std::int64_t limit_ns) {
            return pack_partition(all, workload, groups.families, partition, limit_ns);
        };
        if (auto placed = list.try_pack(pipelining.rhythm(), pack)) {
            list.add(fmt::format("partition-{}{}", partition.stage_end.size(), suffix), pipelining, std::move(*placed));
        }
    }
}

/// Capacity can need more freedom than dependency order leaves.
std::optional<LanePlacement> pack_ordered_or_filling(const Tasks& tasks, const Workload& workload, std::int64_t limit_ns) {
    auto packed = pack_ordered(tasks, workload, limit_ns);
    return packed ? packed : pack_filling(tasks, workload, limit_ns);
}

}  // namespace

std::vector<ScheduleColumns> make_schedules(const Tasks& tasks, const Target& target, const ScheduleOptions& options,
                                            Hash128 tasks_hash) {
    check_work(tasks, target);
    CandidateList list(tasks, target, options, tasks_hash);
    if (options.mode == ScheduleMode::Latency) {
        ScheduleOptions one_at_a_time = options;
        one_at_a_time.max_depth = 0;
        const Pipelining pipelining = burst_pipelining(tasks, one_at_a_time);
        LatencyPlacement placed = place_for_latency(tasks, target, list.timing(), options.latency, list.constants());
        list.add(placed.strategy, pipelining, list.place_within_memory(std::move(placed.placement), pipelining.rhythm()));
        return list.take();
    }
    const Pipelining burst = burst_pipelining(tasks, options);
    Pipelining sided = burst;
    if (burst.slots_per_round == 1) sided.exchange = ExchangePolicy::Sided;
    const auto add = [&](const char* strategy, const Pipelining& pipelining, const auto& packer) {
        if (!list.is_full()) list.add(strategy, pipelining, list.pack(pipelining.rhythm(), packer));
    };
    // The first candidate is kept unless another is better by more than the margin of weft-select: it is the one that is most often best.
    const auto woven = woven_pipelining(tasks, options);
    if (woven) add("filling-woven", *woven, pack_filling);
    const bool weaves = woven && list.any_fits();
    add("ordered-or-filling", sided, pack_ordered_or_filling);
    add("filling", sided, pack_filling);
    // Messages among the computation help where cores wait for each other, not where the global memory is what they wait for. Sided and burst have the same
    // buffers and the same messages, so one placement serves both.
    if (!list.is_full()) list.add("ordered-or-filling-burst", burst, list.pack(sided.rhythm(), pack_ordered_or_filling));
    if (options.most_candidates > usual_candidates) {
        if (weaves) add("ordered-woven", *woven, pack_ordered_or_filling);
        add_partitions(list, tasks, target, weaves ? *woven : sided);
    }
    // Where none fits, inferences overlap less and less: fewer rounds need fewer delay buffers.
    ScheduleOptions shallower = options;
    for (shallower.stages = burst.stage_count; !list.any_fits(); shallower.stages = ceil_divide(shallower.stages, 2U)) {
        const Pipelining shallow = burst_pipelining(tasks, shallower, false);
        list.add("shallow", shallow, list.pack(shallow.rhythm(), pack_ordered_or_filling));
        if (shallower.stages == 1) break;
    }
    return list.take();
}

}  // namespace weft
