#include "packing/refine.h"

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "packing/load_model.h"

namespace weft {
namespace {

/// Times and memory are compared in 4,096ths of their levels.
constexpr std::int64_t units = 4096;
/// A step that makes things worse by the excess of one core by some percent is accepted at first, none in the end.
constexpr std::int64_t hottest = 4000;

/// Spans of lanes that all trials may look at together, a second's worth: networks of a few layers with hundreds of thousands of rows get fewer trials.
constexpr std::uint64_t most_spans = 150'000'000;

/// Lanes [first, first + count) of one family on one core.
struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

class Refinement {
public:
    Refinement(const Tasks& tasks, const Target& target, const PimTiming& timing, LanePlacement placement, const Rhythm& rhythm, const RefineLimits& limits)
        : tasks_(tasks), limits_(limits), model_(tasks, target, timing, std::move(placement), rhythm, limits.constants), penalty_(model_.core_count(), 0) {
        for (std::uint32_t core = 0; core < model_.core_count(); ++core) level_ += model_.occupied_ns(core);
        // Somewhat below the mean, so that less work altogether counts too.
        level_ = std::max<std::int64_t>(1, level_ / model_.core_count() * 31 / 32);
        for (std::uint32_t core = 0; core < model_.core_count(); ++core) penalty_[core] = penalty_of(core);
    }

    LanePlacement run() {
        keep_best();
        const std::uint64_t trials = std::min(std::uint64_t{limits_.trials_per_core} * model_.core_count(), most_spans / model_.spans_per_move());
        for (std::uint64_t trial = 0; trial < trials; ++trial) {
            const std::uint64_t left = (trials - trial) * 1024 / trials;
            const auto threshold = static_cast<std::int64_t>(hottest * left / 1024 * left / 1024 * random_.below(1024) / 1024);
            if (propose() && !settle(threshold)) model_.undo();
        }
        return best_fits_ ? std::move(best_) : model_.placement();
    }

private:
    [[nodiscard]] std::int64_t penalty_of(std::uint32_t core) const {
        const std::int64_t busy = std::max<std::int64_t>(0, model_.occupied_ns(core) * units / level_ - units);
        const std::int64_t full = model_.used_elems(core) - limits_.core_elems;
        const std::int64_t over = full > 0 ? full * units / limits_.core_elems + units / 4 : 0;
        return busy * busy + 16 * over * over;
    }

    /// The first of some random cores in the order of `before`.
    template <class Before>
    [[nodiscard]] std::uint16_t pick(const Before& before) {
        constexpr int drawn = 4;
        auto best = static_cast<std::uint16_t>(random_.below(model_.core_count()));
        for (int i = 1; i < drawn; ++i) {
            const auto core = static_cast<std::uint16_t>(random_.below(model_.core_count()));
            if (before(core, best)) best = core;
        }
        return best;
    }

    /// Every fourth time the worst of all.
    [[nodiscard]] std::uint16_t pick_busy() {
        if (random_.below(4) == 0) return static_cast<std::uint16_t>(std::max_element(penalty_.begin(), penalty_.end()) - penalty_.begin());
        return pick([&](std::uint16_t a, std::uint16_t b) { return penalty_[a] > penalty_[b]; });
    }
    [[nodiscard]] std::uint16_t pick_idle() {
        return pick([&](std::uint16_t a, std::uint16_t b) { return model_.occupied_ns(a) < model_.occupied_ns(b); });
    }

    /// A run of lanes on the core, if it has any.
    [[nodiscard]] std::optional<Run> pick_run(std::uint16_t core) {
        resident_.clear();
        for (std::uint32_t f = 0; f < tasks_.families.size(); ++f) {
            if (model_.lanes_on(FamilyId(f), core) != 0) resident_.push_back(f);
        }
        if (resident_.empty()) return std::nullopt;
        const Family& family = tasks_.families[resident_[random_.below(static_cast<std::uint32_t>(resident_.size()))]];
        const LanePlacement& placement = model_.placement();
        std::uint32_t lane = family.first_lane + random_.below(family.lane_count);
        const std::uint32_t end = family.first_lane + family.lane_count;
        while (placement[lane] != core) lane = lane + 1 == end ? family.first_lane : lane + 1;
        Run run{lane, 1};
        while (run.first > family.first_lane && placement[run.first - 1] == core) --run.first, ++run.count;
        while (run.first + run.count < end && placement[run.first + run.count] == core) ++run.count;
        return run;
    }

    /// Some lanes of one end of a run, or all.
    [[nodiscard]] Run pick_end(Run run, bool front) {
        const std::uint32_t count = random_.below(2) == 0 ? 1 : 1 + random_.below(run.count);
        return {front ? run.first : run.first + run.count - count, count};
    }

    [[nodiscard]] bool has_room(std::uint16_t core) const { return model_.crossbars(core) <= limits_.core_crossbars; }

    /// Moves something in the model; false where there was nothing to move or no room for it, and nothing moved.
    bool propose() {
        const std::uint16_t busy = pick_busy();
        const auto run = pick_run(busy);
        if (!run) return false;
        const std::uint32_t kind = random_.below(8);
        if (kind < 4) return shift(*run);
        const std::uint16_t idle = pick_idle();
        if (idle == busy) return false;
        return kind < 6 ? relocate(*run, idle) : exchange(*run, busy, idle);
    }

    /// An end of the run goes to who has the lanes beside it.
    bool shift(Run run) {
        const bool front = random_.below(2) == 0;
        const std::uint32_t family = tasks_.lanes[run.first].family;
        const Family& row = tasks_.families[family];
        const std::uint32_t beside = front ? run.first - 1 : run.first + run.count;
        if (front ? run.first == row.first_lane : beside == row.first_lane + row.lane_count) return false;
        const Run moved = pick_end(run, front);
        model_.move(moved.first, moved.count, model_.placement()[beside]);
        return true;
    }

    bool relocate(Run run, std::uint16_t idle) {
        const Run moved = pick_end(run, random_.below(2) == 0);
        const auto other = pick_run(idle);
        model_.move(moved.first, moved.count, idle);
        if (has_room(idle)) return true;
        // Crossbars are the trouble: something else goes to a third core.
        if (const std::uint16_t third = pick_idle(); other && third != idle) {
            model_.move(other->first, other->count, third);
            if (has_room(idle) && has_room(third)) return true;
        }
        model_.undo();
        return false;
    }

    /// Whole runs change places.
    bool exchange(Run run, std::uint16_t busy, std::uint16_t idle) {
        const auto other = pick_run(idle);
        if (!other) return false;
        model_.move(run.first, run.count, idle);
        model_.move(other->first, other->count, busy);
        if (has_room(busy) && has_room(idle)) return true;
        model_.undo();
        return false;
    }

    /// Keeps what was moved where it makes nothing worse than by the threshold.
    bool settle(std::int64_t threshold) {
        model_.update();
        std::int64_t change = 0;
        for (const std::uint16_t core : model_.touched()) change += penalty_of(core) - penalty_[core];
        if (change > threshold) return false;
        for (const std::uint16_t core : model_.touched()) penalty_[core] = penalty_of(core);
        model_.commit();
        if (change < 0) keep_best();
        return true;
    }

    void keep_best() {
        std::int64_t busiest = 0;
        for (std::uint32_t core = 0; core < model_.core_count(); ++core) {
            busiest = std::max(busiest, model_.occupied_ns(core));
            if (best_fits_ && busiest >= best_busiest_) return;
            if (model_.used_elems(core) > limits_.core_elems) return;
        }
        best_ = model_.placement();
        best_busiest_ = busiest;
        best_fits_ = true;
    }

    const Tasks& tasks_;
    const RefineLimits limits_;
    LoadModel model_;
    std::int64_t level_ = 0;
    std::vector<std::int64_t> penalty_;     ///< per core
    std::vector<std::uint32_t> resident_;
    Random random_{0x726566696e65U};
    LanePlacement best_;
    std::int64_t best_busiest_ = 0;
    bool best_fits_ = false;
};

}  // namespace

LanePlacement refine_placement(const Tasks& tasks, const Target& target, const PimTiming& timing, LanePlacement placement, const Rhythm& rhythm,
                               const RefineLimits& limits) {
    if (target.core_count < 2) return placement;
    return Refinement(tasks, target, timing, std::move(placement), rhythm, limits).run();
}

}  // namespace weft
