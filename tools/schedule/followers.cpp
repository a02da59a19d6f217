#include "schedule/followers.h"

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

}  // namespace

namespace {

/// Chooses cores for the lanes of one family, in order.
class FamilyPlacer {
public:
    FamilyPlacer(const std::vector<std::vector<std::uint16_t>>& candidates, const std::vector<CoreUse>& cores)
        : candidates_(candidates), cores_(cores), taken_(cores.size(), 0) {
        std::vector<std::uint16_t> all;
        for (const auto& some : candidates) all.insert(all.end(), some.begin(), some.end());
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        quota_ = ceil_divide<std::uint64_t>(candidates.size(), std::max<std::size_t>(1, all.size()));
    }

    /// Run on where the last lane went until the quota is full, then go to the least busy core that has none yet; a core that was left is
    /// not taken up again unless there is no other, because a core's buffers span from its first to its last row.
    std::uint32_t choose(std::size_t lane, std::int64_t elems) {
        std::uint32_t fresh = no_id;
        std::uint32_t used = no_id;
        bool stays = false;
        for (const std::uint16_t core : candidates_[lane]) {
            if (cores_[core].free_elems < elems) continue;
            if (core == last_) stays = true;
            std::uint32_t& best = taken_[core] == 0 ? fresh : used;
            if (best == no_id || std::pair(taken_[core], cores_[core].busy_ns) < std::pair(taken_[best], cores_[best].busy_ns)) best = core;
        }
        if (stays && (taken_[last_] < quota_ || fresh == no_id)) {
            fresh = last_;
        } else if (fresh == no_id) {
            fresh = used != no_id ? used : most_memory(elems);
        }
        ++taken_[fresh];
        last_ = fresh;
        return fresh;
    }

private:
    /// The core of the last lane while it has room, then the one with most.
    [[nodiscard]] std::uint32_t most_memory(std::int64_t elems) const {
        if (last_ != no_id && cores_[last_].free_elems >= elems) return last_;
        const auto most = std::max_element(cores_.begin(), cores_.end(), [](const CoreUse& a, const CoreUse& b) {
            return std::pair(a.free_elems, -a.busy_ns) < std::pair(b.free_elems, -b.busy_ns);
        });
        return narrow<std::uint32_t>(most - cores_.begin());
    }

    const std::vector<std::vector<std::uint16_t>>& candidates_;
    const std::vector<CoreUse>& cores_;
    std::vector<std::uint32_t> taken_;
    std::uint64_t quota_ = 1;
    std::uint32_t last_ = no_id;
};

}  // namespace

void place_followers(const Tasks& tasks, const Followers& followers, std::span<const std::int64_t> lane_ns,
                     std::span<const std::int64_t> lane_elems, std::vector<std::uint16_t>& placement, std::vector<CoreUse>& cores) {
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {   // topological: producers are placed already
        if (!followers.follows(f)) continue;
        const Family& family = tasks.families[f];
        const auto candidates = candidate_cores(tasks, family, placement);
        FamilyPlacer placer(candidates, cores);
        for (std::uint32_t i = 0; i < family.lane_count; ++i) {
            const std::uint32_t lane = family.first_lane + i;
            const std::uint32_t core = placer.choose(i, lane_elems[lane]);
            placement[lane] = narrow<std::uint16_t>(core);
            cores[core].busy_ns += lane_ns[lane];
            cores[core].free_elems -= lane_elems[lane];
        }
    }
}

}  // namespace weft
