#include "packing/relief.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace weft {
namespace {

/// Steps, each of which takes some milliseconds per try; the first few bring most.
constexpr int most_steps = 64;
constexpr std::size_t tries_per_step = 6;

/// A run of lanes that goes to another core.
struct Move {
    std::uint32_t first_lane = 0;
    std::uint32_t lane_count = 0;
    std::uint16_t target = 0;
    std::int64_t gain_ns = 0;       ///< what it takes off the core, or fills of the other's lack, whichever is less
};

/// Lanes [first, end) of one family on one core.
struct LaneRun {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    std::uint32_t family = 0;
};

class Relief {
public:
    Relief(const Tasks& tasks, const Workload& workload, const Target& target, const PimTiming& timing, LanePlacement placement, const Rhythm& rhythm,
           const MemoryLimit& limit)
        : tasks_(tasks), workload_(workload), target_(target), timing_(timing), rhythm_(rhythm), limit_(limit), placement_(std::move(placement)),
          loads_(measure(placement_)) {}

    LanePlacement busiest() {
        for (int step = 0; step < most_steps && relieve_busiest(); ++step) {}
        return std::move(placement_);
    }

    std::optional<LanePlacement> memory() {
        used_ = limit_.used_elems(placement_);
        for (int step = 0; step < most_steps; ++step) {
            const auto fullest = static_cast<std::uint16_t>(std::max_element(used_.begin(), used_.end()) - used_.begin());
            if (used_[fullest] <= limit_.core_elems) return std::move(placement_);
            if (!relieve_fullest(fullest)) return std::nullopt;
        }
        return std::nullopt;
    }

private:
    [[nodiscard]] CoreLoads measure(const LanePlacement& placement) const { return measure_cores(tasks_, target_, timing_, placement, rhythm_); }
    [[nodiscard]] std::int64_t mean() const {
        return std::accumulate(loads_.occupied_ns.begin(), loads_.occupied_ns.end(), std::int64_t{0}) / std::ssize(loads_.occupied_ns);
    }

    bool relieve_busiest() {
        const auto& busy = loads_.occupied_ns;
        const auto busiest = static_cast<std::uint16_t>(std::max_element(busy.begin(), busy.end()) - busy.begin());
        std::vector<Move> moves = moves_from(busiest);
        std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.gain_ns > b.gain_ns; });
        if (moves.size() > tries_per_step) moves.resize(tries_per_step);
        for (const Move& move : moves) {
            LanePlacement moved = apply(move);
            CoreLoads loads = measure(moved);
            // Others may be as busy: it is enough that this one and the target no longer are.
            if (std::max(loads.occupied_ns[busiest], loads.occupied_ns[move.target]) >= busy[busiest]) continue;
            if (*std::max_element(loads.occupied_ns.begin(), loads.occupied_ns.end()) > busy[busiest]) continue;
            const auto used = limit_.used_elems(moved);
            if (*std::max_element(used.begin(), used.end()) > limit_.core_elems) continue;
            placement_ = std::move(moved);
            loads_ = std::move(loads);
            return true;
        }
        return false;
    }

    /// Runs that hold most come first; a whole one, or half of it, to the cores with most memory left.
    bool relieve_fullest(std::uint16_t fullest) {
        const std::int64_t busiest = *std::max_element(loads_.occupied_ns.begin(), loads_.occupied_ns.end());
        std::vector<LaneRun> runs = runs_on(fullest);
        const auto held = [&](const LaneRun& run) {
            return std::accumulate(workload_.lane_elems.begin() + run.first, workload_.lane_elems.begin() + run.end, std::int64_t{0});
        };
        std::stable_sort(runs.begin(), runs.end(), [&](const LaneRun& a, const LaneRun& b) { return held(a) > held(b); });
        std::size_t tries = 0;
        for (const LaneRun& run : runs) {
            for (const std::uint16_t target : roomy_targets(run.family, fullest)) {
                for (const std::uint32_t count : {run.end - run.first, (run.end - run.first + 1) / 2}) {
                    if (tries++ == 4 * tries_per_step) return false;
                    const Move move{run.end - count, count, target, 0};
                    LanePlacement moved = apply(move);
                    const auto used = limit_.used_elems(moved);
                    if (used[fullest] >= used_[fullest] || used[target] > std::max(limit_.core_elems, used_[target])) continue;
                    CoreLoads loads = measure(moved);
                    if (*std::max_element(loads.occupied_ns.begin(), loads.occupied_ns.end()) > busiest) continue;
                    placement_ = std::move(moved);
                    loads_ = std::move(loads);
                    used_ = used;
                    return true;
                }
            }
        }
        return false;
    }

    [[nodiscard]] LanePlacement apply(const Move& move) const {
        LanePlacement moved = placement_;
        std::fill_n(moved.begin() + move.first_lane, move.lane_count, move.target);
        return moved;
    }

    [[nodiscard]] std::vector<LaneRun> runs_on(std::uint16_t core) const {
        std::vector<LaneRun> runs;
        const auto lanes = static_cast<std::uint32_t>(placement_.size());
        for (std::uint32_t first = 0, end = 0; first < lanes; first = end) {
            const std::uint32_t family = tasks_.lanes[first].family;
            end = first + 1;
            while (end < lanes && placement_[end] == placement_[first] && tasks_.lanes[end].family == family) ++end;
            if (placement_[first] == core) runs.push_back({first, end, family});
        }
        return runs;
    }

    /// Both ends of every run of lanes on `core`, each to the owner of the lanes beside it and to the cores that lack most.
    [[nodiscard]] std::vector<Move> moves_from(std::uint16_t core) const {
        std::vector<Move> moves;
        const std::int64_t level = mean();
        const std::int64_t excess = loads_.occupied_ns[core] - level;
        for (const LaneRun& run : runs_on(core)) {
            for (const std::uint16_t target : idle_targets(run.family, core)) {
                const std::int64_t wanted = std::min(excess, level - loads_.occupied_ns[target]);
                const bool from_front = run.first > 0 && placement_[run.first - 1] == target;
                moves.push_back(cut(run, from_front, wanted, target));
            }
        }
        return moves;
    }

    /// As many lanes from one end of a run as do not take more than `wanted`, but at least one.
    [[nodiscard]] Move cut(const LaneRun& run, bool from_front, std::int64_t wanted, std::uint16_t target) const {
        std::uint32_t count = 0;
        std::int64_t moved = 0;
        while (count < run.end - run.first) {
            const std::int64_t next = workload_.lane_ns[from_front ? run.first + count : run.end - 1 - count];
            if (count > 0 && moved + next > wanted) break;
            moved += next;
            ++count;
        }
        return {from_front ? run.first : run.end - count, count, target, std::min(moved, wanted)};
    }

    struct Candidate {
        bool strange = false;           ///< has not the family's weights
        std::int64_t key = 0;
        std::uint16_t core = 0;
        auto operator<=>(const Candidate&) const = default;
    };

    /// Cores that can take lanes of the family and are less busy than the mean.
    template <class Key>
    [[nodiscard]] std::vector<Candidate> candidates(std::uint32_t family, std::uint16_t core, const Key& key) const {
        const std::int64_t level = mean();
        std::vector<char> resident(workload_.core_count, 0);
        const Family& row = tasks_.families[family];
        for (std::uint32_t l = row.first_lane; l < row.first_lane + row.lane_count; ++l) resident[placement_[l]] = 1;
        std::vector<Candidate> found;
        for (std::uint32_t c = 0; c < workload_.core_count; ++c) {
            if (c == core || loads_.occupied_ns[c] >= level) continue;
            if (resident[c] == 0 && loads_.crossbars[c] + row.crossbars > workload_.core_crossbars) continue;
            found.push_back({resident[c] == 0 && row.crossbars > 0, key(c), static_cast<std::uint16_t>(c)});
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    /// Those that have the weights, then those with most time left; and the emptiest of all, because those may be nearly full.
    [[nodiscard]] std::vector<std::uint16_t> idle_targets(std::uint32_t family, std::uint16_t core) const {
        constexpr std::size_t most = 3;
        const auto found = candidates(family, core, [&](std::uint32_t c) { return loads_.occupied_ns[c]; });
        std::vector<std::uint16_t> cores;
        for (std::size_t i = 0; i < std::min(most, found.size()); ++i) cores.push_back(found[i].core);
        const auto emptiest = std::min_element(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
        if (emptiest != found.end() && std::find(cores.begin(), cores.end(), emptiest->core) == cores.end()) cores.push_back(emptiest->core);
        return cores;
    }

    [[nodiscard]] std::vector<std::uint16_t> roomy_targets(std::uint32_t family, std::uint16_t core) const {
        constexpr std::size_t most = 3;
        auto found = candidates(family, core, [&](std::uint32_t c) { return used_[c]; });
        std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
        std::vector<std::uint16_t> cores;
        for (std::size_t i = 0; i < std::min(most, found.size()); ++i) cores.push_back(found[i].core);
        return cores;
    }

    const Tasks& tasks_;
    const Workload& workload_;
    const Target& target_;
    const PimTiming& timing_;
    const Rhythm& rhythm_;
    const MemoryLimit& limit_;
    LanePlacement placement_;
    CoreLoads loads_;
    std::vector<std::int64_t> used_;
};

}  // namespace

std::optional<LanePlacement> relieve_memory(const Tasks& tasks, const Workload& workload, const Target& target, const PimTiming& timing,
                                            LanePlacement placement, const Rhythm& rhythm, const MemoryLimit& limit) {
    return Relief(tasks, workload, target, timing, std::move(placement), rhythm, limit).memory();
}

LanePlacement relieve_busiest(const Tasks& tasks, const Workload& workload, const Target& target, const PimTiming& timing, LanePlacement placement,
                              const Rhythm& rhythm, const MemoryLimit& limit) {
    return Relief(tasks, workload, target, timing, std::move(placement), rhythm, limit).busiest();
}

}  // namespace weft
