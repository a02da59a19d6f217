#include "packing/relief.h"

#include <algorithm>
#include <numeric>
#include <tuple>

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

class Relief {
public:
    Relief(const Tasks& tasks, const Workload& workload, const Target& target, const PimTiming& timing, const Rhythm& rhythm,
           const std::function<bool(const LanePlacement&)>& fits)
        : tasks_(tasks), workload_(workload), target_(target), timing_(timing), rhythm_(rhythm), fits_(fits) {}

    LanePlacement run(LanePlacement placement) {
        placement_ = std::move(placement);
        loads_ = measure(placement_);
        for (int step = 0; step < most_steps && relieve(); ++step) {}
        return std::move(placement_);
    }

private:
    [[nodiscard]] CoreLoads measure(const LanePlacement& placement) const { return measure_cores(tasks_, target_, timing_, placement, rhythm_); }

    bool relieve() {
        const auto& busy = loads_.busy_ns;
        const auto busiest = static_cast<std::uint16_t>(std::max_element(busy.begin(), busy.end()) - busy.begin());
        const std::int64_t mean = std::accumulate(busy.begin(), busy.end(), std::int64_t{0}) / std::ssize(busy);
        std::vector<Move> moves = moves_from(busiest, mean);
        std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.gain_ns > b.gain_ns; });
        if (moves.size() > tries_per_step) moves.resize(tries_per_step);
        for (const Move& move : moves) {
            LanePlacement moved = placement_;
            std::fill_n(moved.begin() + move.first_lane, move.lane_count, move.target);
            CoreLoads loads = measure(moved);
            // Others may be as busy: it is enough that this one and the target no longer are.
            if (std::max(loads.busy_ns[busiest], loads.busy_ns[move.target]) >= busy[busiest]) continue;
            if (*std::max_element(loads.busy_ns.begin(), loads.busy_ns.end()) > busy[busiest]) continue;
            if (!fits_(moved)) continue;
            placement_ = std::move(moved);
            loads_ = std::move(loads);
            return true;
        }
        return false;
    }

    /// Both ends of every run of lanes on `core`, each to the owner of the lanes beside it and to the cores that lack most.
    [[nodiscard]] std::vector<Move> moves_from(std::uint16_t core, std::int64_t mean) const {
        std::vector<Move> moves;
        const std::int64_t excess = loads_.busy_ns[core] - mean;
        const auto lanes = static_cast<std::uint32_t>(placement_.size());
        for (std::uint32_t first = 0; first < lanes;) {
            std::uint32_t end = first + 1;
            const std::uint32_t family = tasks_.lanes[first].family;
            while (end < lanes && placement_[end] == placement_[first] && tasks_.lanes[end].family == family) ++end;
            if (placement_[first] == core) {
                for (const std::uint16_t target : targets(family, core, mean)) {
                    const std::int64_t wanted = std::min(excess, mean - loads_.busy_ns[target]);
                    const bool from_front = first > 0 && placement_[first - 1] == target;
                    moves.push_back(cut(first, end, from_front, wanted, target));
                }
            }
            first = end;
        }
        return moves;
    }

    /// As many lanes from one end of [first, end) as do not take more than `wanted`, but at least one.
    [[nodiscard]] Move cut(std::uint32_t first, std::uint32_t end, bool from_front, std::int64_t wanted, std::uint16_t target) const {
        std::uint32_t count = 0;
        std::int64_t moved = 0;
        while (count < end - first) {
            const std::int64_t next = workload_.lane_ns[from_front ? first + count : end - 1 - count];
            if (count > 0 && moved + next > wanted) break;
            moved += next;
            ++count;
        }
        return {from_front ? first : end - count, count, target, std::min(moved, wanted)};
    }

    /// Cores below the mean that can take lanes of the family: those that have its weights, then those with most time left.
    [[nodiscard]] std::vector<std::uint16_t> targets(std::uint32_t family, std::uint16_t core, std::int64_t mean) const {
        constexpr std::size_t most = 3;
        std::vector<char> resident(workload_.core_count, 0);
        const Family& row = tasks_.families[family];
        for (std::uint32_t l = row.first_lane; l < row.first_lane + row.lane_count; ++l) resident[placement_[l]] = 1;
        std::vector<std::tuple<bool, std::int64_t, std::uint16_t>> found;
        for (std::uint32_t c = 0; c < workload_.core_count; ++c) {
            if (c == core || loads_.busy_ns[c] >= mean) continue;
            if (resident[c] == 0 && loads_.crossbars[c] + row.crossbars > workload_.core_crossbars) continue;
            found.emplace_back(resident[c] == 0 && row.crossbars > 0, loads_.busy_ns[c], static_cast<std::uint16_t>(c));
        }
        std::sort(found.begin(), found.end());
        std::vector<std::uint16_t> cores;
        for (const auto& [strange, busy, c] : found) {
            if (cores.size() < most) cores.push_back(c);
        }
        // The emptiest core as well: those that have the weights may be nearly full.
        const auto emptiest = std::min_element(found.begin(), found.end(), [](const auto& a, const auto& b) { return std::get<1>(a) < std::get<1>(b); });
        if (emptiest != found.end() && std::find(cores.begin(), cores.end(), std::get<2>(*emptiest)) == cores.end()) cores.push_back(std::get<2>(*emptiest));
        return cores;
    }

    const Tasks& tasks_;
    const Workload& workload_;
    const Target& target_;
    const PimTiming& timing_;
    const Rhythm& rhythm_;
    const std::function<bool(const LanePlacement&)>& fits_;
    LanePlacement placement_;
    CoreLoads loads_;
};

}  // namespace

LanePlacement relieve_busiest(const Tasks& tasks, const Workload& workload, const Target& target, const PimTiming& timing, LanePlacement placement,
                              const Rhythm& rhythm, const std::function<bool(const LanePlacement&)>& fits) {
    return Relief(tasks, workload, target, timing, rhythm, fits).run(std::move(placement));
}

}  // namespace weft
