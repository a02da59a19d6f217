#include "packing/packing.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/checked.h"

namespace weft {
namespace {

constexpr std::uint16_t unplaced = 0xffffU;

struct CoreRoom {
    std::int64_t time_ns = 0;
    std::int64_t crossbars = 0;
    std::int64_t elems = 0;
    std::uint32_t last_family = no_id;   ///< resident already: no more crossbars, no new band
};

struct CoreRange {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
};

/// Place all followers where the other lanes are.
void follow(const Tasks& tasks, const Workload& workload, std::int64_t level_ns, LanePlacement& placement) {
    std::vector<CoreUse> cores(workload.core_count, {0, workload.core_elems});
    std::vector<std::uint32_t> resident(workload.core_count, no_id);
    for (std::size_t l = 0; l < placement.size(); ++l) {
        const std::uint32_t family = tasks.lanes[l].family;
        if (workload.followers.follows(family)) continue;
        CoreUse& core = cores[placement[l]];
        core.busy_ns += workload.lane_ns[l];
        core.free_elems -= workload.lane_elems[l];
        if (resident[placement[l]] != family) core.free_elems -= workload.families[family].band_elems;
        resident[placement[l]] = family;
    }
    place_followers(tasks, workload.followers, workload.lane_ns, workload.lane_elems, level_ns, placement, cores);
}

class Packer {
public:
    Packer(const Tasks& tasks, const Workload& workload, std::int64_t limit_ns)
        : tasks_(tasks),
          workload_(workload),
          limit_ns_(limit_ns),
          charge_(tasks.families.size(), 0),
          rooms_(workload.core_count, {limit_ns, workload.core_crossbars, workload.core_elems, no_id}),
          placement_(tasks.lanes.size(), unplaced) {
        for (std::size_t l = 0; l < tasks.lanes.size(); ++l) charge_[tasks.lanes[l].family] += workload.charge_ns[l];
    }

    [[nodiscard]] std::int64_t charge(std::uint32_t family) const { return charge_[family]; }

    /// As many lanes of the family from `lane` on as fit the core; the next lane.
    std::uint32_t place(std::uint32_t family, std::uint32_t lane, std::uint32_t core) {
        const FamilyLoad& load = workload_.families[family];
        CoreRoom& room = rooms_[core];
        const std::uint32_t end = tasks_.families[family].first_lane + tasks_.families[family].lane_count;
        const bool resident = room.last_family == family;
        if (!resident && room.crossbars < load.crossbars) return lane;
        std::int64_t time = room.time_ns - (resident ? 0 : load.band_ns);
        std::int64_t elems = room.elems - (resident ? 0 : load.band_elems);
        // A core without anything takes one lane whatever its size: whether it fits is checked on the whole schedule.
        const bool empty = room.last_family == no_id;
        const std::uint32_t first = lane;
        while (lane < end && workload_.charge_ns[lane] <= time &&
               (workload_.lane_elems[lane] <= elems || (empty && lane == first))) {
            time -= workload_.charge_ns[lane];
            elems -= workload_.lane_elems[lane];
            placement_[lane++] = narrow<std::uint16_t>(core);
        }
        if (lane == first) return lane;
        room.time_ns = time;
        room.elems = elems;
        if (!resident) room.crossbars -= load.crossbars;
        room.last_family = family;
        return lane;
    }

    /// The core for the family's lanes from `lane` on, or none that has the crossbars and the memory. A family that needs one core goes
    /// where most crossbars are left: crossbars that are used up leave time that nobody can use. One that is spread over several goes
    /// where most time is left and, as far as that is equal, where fewest crossbars are.
    [[nodiscard]] std::uint32_t best_core(std::uint32_t family, std::uint32_t lane, bool spread, CoreRange cores) const {
        const FamilyLoad& load = workload_.families[family];
        std::uint32_t best = no_id;
        std::pair<std::int64_t, std::int64_t> best_key;
        for (std::uint32_t c = cores.first; c < cores.end; ++c) {
            const CoreRoom& room = rooms_[c];
            if (room.crossbars < load.crossbars) continue;
            const std::int64_t needed = workload_.lane_elems[lane] + (room.last_family == family ? 0 : load.band_elems);
            if (room.elems < needed && room.last_family != no_id) continue;
            if (!spread && room.time_ns < load.band_ns + charge_[family]) continue;
            const std::pair key = spread ? std::pair(room.time_ns * time_steps / limit_ns_, -room.crossbars) : std::pair(room.crossbars, room.time_ns);
            if (best == no_id || key > best_key) {
                best = c;
                best_key = key;
            }
        }
        return best;
    }

    [[nodiscard]] std::uint32_t lanes_end(std::uint32_t family) const {
        return tasks_.families[family].first_lane + tasks_.families[family].lane_count;
    }
    /// The placement, followers added.
    [[nodiscard]] LanePlacement take() {
        follow(tasks_, workload_, limit_ns_, placement_);
        return std::move(placement_);
    }

private:
    static constexpr std::int64_t time_steps = 16;

    const Tasks& tasks_;
    const Workload& workload_;
    std::int64_t limit_ns_;
    std::vector<std::int64_t> charge_;   ///< per family: all lanes
    std::vector<CoreRoom> rooms_;
    LanePlacement placement_;
};

/// True for a family without weights that reads an input of the chip.
bool loads(const Tasks& tasks, std::uint32_t family) {
    const Family& row = tasks.families[family];
    const auto inputs = tasks.inputs.subspan(row.first_input, row.input_count);
    return row.crossbars == 0 && std::any_of(inputs.begin(), inputs.end(), [&](std::uint32_t tensor) { return tasks.tensors[tensor].producer == no_id; });
}

}  // namespace

void refuse_packing(const Workload& workload, const Recovery& recovery) {
    std::uint64_t crossbars = 0;
    for (const FamilyLoad& load : workload.families) crossbars += load.crossbars;
    refuse(
        "no placement was found: the weights need {} crossbars in pieces, the target has {} cores x {}; {}. Use a larger chip or a smaller network",
        crossbars, workload.core_count, workload.core_crossbars,
        recovery.exhausted ? "no way to fit the pieces exists" : fmt::format("{} checks of a core for a piece are no proof that none exists", recovery.checks));
}

std::optional<LanePlacement> pack_ordered(const Tasks& tasks, const Workload& workload, std::int64_t limit_ns) {
    Packer packer(tasks, workload, limit_ns);
    std::uint32_t core = 0;
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        if (workload.followers.follows(f)) continue;
        std::uint32_t lane = tasks.families[f].first_lane;
        const std::uint32_t end = packer.lanes_end(f);
        while (lane < end && core < workload.core_count) {
            lane = packer.place(f, lane, core);
            if (lane < end) ++core;
        }
        // The dependency tail: cores are used up, the rest goes where there is room.
        for (std::uint32_t c = 0; c < workload.core_count && lane < end; ++c) lane = packer.place(f, lane, c);
        if (lane < end) return std::nullopt;
    }
    return packer.take();
}

namespace {

/// `families` in the order in which they fill cores.
void sort_for_filling(const Tasks& tasks, const Workload& workload, const Packer& packer, std::int64_t limit_ns, std::vector<std::uint32_t>& families) {
    std::stable_sort(families.begin(), families.end(), [&](std::uint32_t a, std::uint32_t b) {
        // What loads comes first: several cores that load meet at the memory. Then what fits one core whole and meets empty cores; what is
        // spread anyway then fills the time that is left.
        const bool spread_a = packer.charge(a) > limit_ns;
        const bool spread_b = packer.charge(b) > limit_ns;
        const std::uint32_t crossbars_a = workload.families[a].crossbars;
        const std::uint32_t crossbars_b = workload.families[b].crossbars;
        const bool loads_a = loads(tasks, a);
        const bool loads_b = loads(tasks, b);
        return std::tuple(loads_b, spread_a, crossbars_b, packer.charge(b)) < std::tuple(loads_a, spread_b, crossbars_a, packer.charge(a));
    });
}

/// False where a family does not fit the cores.
bool fill(const Tasks& tasks, const Workload& workload, std::vector<std::uint32_t> families, CoreRange cores, std::int64_t limit_ns, Packer& packer) {
    sort_for_filling(tasks, workload, packer, limit_ns, families);
    for (const std::uint32_t f : families) {
        if (workload.followers.follows(f)) continue;
        std::uint32_t lane = tasks.families[f].first_lane;
        while (lane < packer.lanes_end(f)) {
            const bool whole = lane == tasks.families[f].first_lane && packer.charge(f) <= limit_ns;
            std::uint32_t core = whole ? packer.best_core(f, lane, false, cores) : no_id;
            if (core == no_id) core = packer.best_core(f, lane, true, cores);
            if (core == no_id) return false;
            const std::uint32_t next = packer.place(f, lane, core);
            if (next == lane) return false;   // the core with most time left has too little
            lane = next;
        }
    }
    return true;
}

}  // namespace

std::optional<LanePlacement> pack_filling(const Tasks& tasks, const Workload& workload, std::int64_t limit_ns) {
    Packer packer(tasks, workload, limit_ns);
    std::vector<std::uint32_t> families(tasks.families.size());
    std::iota(families.begin(), families.end(), 0U);
    if (!fill(tasks, workload, std::move(families), {0, workload.core_count}, limit_ns, packer)) return std::nullopt;
    return packer.take();
}

std::optional<LanePlacement> pack_partition(const Tasks& tasks, const Workload& workload, std::span<const std::uint32_t> families,
                                            const Partition& partition, std::int64_t limit_ns) {
    Packer packer(tasks, workload, limit_ns);
    std::uint32_t group = 0;
    std::uint32_t core = 0;
    for (std::size_t stage = 0; stage < partition.stage_end.size(); ++stage) {
        const auto own = families.subspan(group, partition.stage_end[stage] - group);
        const CoreRange cores{core, core + partition.stage_cores[stage]};
        if (!fill(tasks, workload, {own.begin(), own.end()}, cores, limit_ns, packer)) return std::nullopt;
        group = partition.stage_end[stage];
        core = cores.end;
    }
    return packer.take();
}

std::optional<LanePlacement> pack_whole_families(const Tasks& tasks, const Workload& workload, Recovery& recovery) {
    std::vector<std::uint32_t> families;
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        if (workload.followers.follows(f)) continue;
        families.push_back(f);
        sizes.push_back(workload.families[f].crossbars);
    }
    recovery = fit_weights(sizes, workload.core_count, workload.core_crossbars);
    if (recovery.core_of.empty()) return std::nullopt;
    LanePlacement placement(tasks.lanes.size(), unplaced);
    for (std::size_t i = 0; i < families.size(); ++i) {
        const Family& family = tasks.families[families[i]];
        std::fill_n(placement.begin() + family.first_lane, family.lane_count, recovery.core_of[i]);
    }
    follow(tasks, workload, std::max<std::int64_t>(1, workload.total_ns / workload.core_count), placement);
    return placement;
}

}  // namespace weft
