#include "packing/followers.h"

#include <algorithm>

#include "base/checked.h"
#include "base/id.h"

namespace weft {
namespace {

/// The lane of a family that makes a position of its tensor.
std::uint32_t lane_of(const Tasks& tasks, const Family& family, std::uint32_t position) {
    const auto lanes = tasks.lanes.subspan(family.first_lane, family.lane_count);
    const auto after = std::partition_point(lanes.begin(), lanes.end(),
                                            [&](const Lane& lane) { return lane.first_position + lane.position_count <= position; });
    return family.first_lane + static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(after - lanes.begin(), family.lane_count - 1));
}

}  // namespace

Followers find_followers(const Tasks& tasks, std::span<const std::int64_t> lane_ns, std::int64_t largest_ns) {
    std::vector<std::vector<std::uint32_t>> leaders(tasks.families.size());
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        const Family& family = tasks.families[f];
        if (family.crossbars > 0) continue;
        const auto lanes = lane_ns.subspan(family.first_lane, family.lane_count);
        if (!lanes.empty() && *std::max_element(lanes.begin(), lanes.end()) > largest_ns) continue;
        for (const std::uint32_t tensor : tasks.inputs.subspan(family.first_input, family.input_count)) {
            const std::uint32_t producer = tasks.tensors[tensor].producer;
            if (producer == no_id) continue;
            if (tasks.families[producer].crossbars > 0) leaders[f].push_back(producer);
            leaders[f].insert(leaders[f].end(), leaders[producer].begin(), leaders[producer].end());
        }
        std::sort(leaders[f].begin(), leaders[f].end());
        leaders[f].erase(std::unique(leaders[f].begin(), leaders[f].end()), leaders[f].end());
    }
    Followers followers;
    followers.first_leader.push_back(0);
    for (const auto& list : leaders) {
        followers.leaders.insert(followers.leaders.end(), list.begin(), list.end());
        followers.first_leader.push_back(narrow<std::uint32_t>(followers.leaders.size()));
    }
    return followers;
}

namespace {

/// Cores that make the middle of what each lane of a follower reads.
std::vector<std::vector<std::uint16_t>> candidate_cores(const Tasks& tasks, const Family& family,
                                                        std::span<const std::uint16_t> placement) {
    std::vector<std::vector<std::uint16_t>> candidates;
    for (const Lane& lane : tasks.lanes.subspan(family.first_lane, family.lane_count)) {
        auto& cores = candidates.emplace_back();
        for (const Demand& demand : tasks.demands.subspan(lane.first_demand, lane.demand_count)) {
            const std::uint32_t producer = tasks.tensors[tasks.inputs[family.first_input + demand.input]].producer;
            if (producer == no_id || demand.position_count == 0) continue;
            const std::uint32_t middle = demand.first_position + demand.position_count / 2;
            cores.push_back(placement[lane_of(tasks, tasks.families[producer], middle)]);
        }
        std::sort(cores.begin(), cores.end());
        cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
    }
    return candidates;
}

/// Chooses cores for the lanes of one family, in order.
class FamilyPlacer {
public:
    FamilyPlacer(const std::vector<CoreUse>& cores, std::int64_t level_ns) : cores_(cores), level_ns_(level_ns), left_(cores.size(), 0) {}

    std::uint32_t choose(const std::vector<std::uint16_t>& makers, std::int64_t ns, std::int64_t elems) {
        const std::uint32_t core = pick(makers, ns, elems);
        if (last_ != no_id && last_ != core) left_[last_] = 1;
        last_ = core;
        return core;
    }

private:
    /// A core that was left is not taken up again: its buffers span from its first to its last row.
    [[nodiscard]] bool has_room(std::uint32_t core, std::int64_t ns, std::int64_t elems) const {
        return left_[core] == 0 && cores_[core].free_elems >= elems && cores_[core].busy_ns + ns <= level_ns_;
    }

    [[nodiscard]] std::uint32_t pick(const std::vector<std::uint16_t>& makers, std::int64_t ns, std::int64_t elems) const {
        // Staying on the last core keeps neighbouring rows together.
        if (last_ != no_id && has_room(last_, ns, elems) && std::find(makers.begin(), makers.end(), last_) != makers.end()) return last_;
        std::uint32_t best = no_id;
        for (const std::uint16_t core : makers) {
            if (has_room(core, ns, elems) && (best == no_id || cores_[core].busy_ns < cores_[best].busy_ns)) best = core;
        }
        if (best != no_id) return best;
        if (last_ != no_id && has_room(last_, ns, elems)) return last_;
        return least_busy(elems);
    }

    /// The least busy core that has the memory and was not left; where none has, the one with most.
    [[nodiscard]] std::uint32_t least_busy(std::int64_t elems) const {
        std::uint32_t best = no_id;
        std::uint32_t largest = 0;
        for (std::uint32_t c = 0; c < cores_.size(); ++c) {
            if (cores_[c].free_elems > cores_[largest].free_elems) largest = c;
            if (left_[c] != 0 || cores_[c].free_elems < elems) continue;
            if (best == no_id || cores_[c].busy_ns < cores_[best].busy_ns) best = c;
        }
        if (best != no_id) return best;
        return last_ != no_id && cores_[last_].free_elems >= elems ? last_ : largest;
    }

    const std::vector<CoreUse>& cores_;
    std::int64_t level_ns_;
    std::vector<char> left_;
    std::uint32_t last_ = no_id;
};

}  // namespace

void place_followers(const Tasks& tasks, const Followers& followers, std::span<const std::int64_t> lane_ns,
                     std::span<const std::int64_t> lane_elems, std::int64_t level_ns, std::vector<std::uint16_t>& placement,
                     std::vector<CoreUse>& cores) {
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {   // topological: producers are placed already
        if (!followers.follows(f)) continue;
        const Family& family = tasks.families[f];
        const auto candidates = candidate_cores(tasks, family, placement);
        FamilyPlacer placer(cores, level_ns);
        for (std::uint32_t i = 0; i < family.lane_count; ++i) {
            const std::uint32_t lane = family.first_lane + i;
            const std::uint32_t core = placer.choose(candidates[i], lane_ns[lane], lane_elems[lane]);
            placement[lane] = narrow<std::uint16_t>(core);
            cores[core].busy_ns += lane_ns[lane];
            cores[core].free_elems -= lane_elems[lane];
        }
    }
}

}  // namespace weft
