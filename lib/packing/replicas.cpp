#include "packing/replicas.h"

#include <algorithm>

#include "base/checked.h"
#include "dag/reservation.h"
#include "pim/placement.h"

namespace weft {

LaneRun lane_run(const Family& family, std::uint32_t part, std::uint32_t parts) {
    const std::uint64_t lanes = family.lane_count;
    const auto first = static_cast<std::uint32_t>(lanes * part / parts);
    const auto end = static_cast<std::uint32_t>(lanes * (part + 1U) / parts);
    return {family.first_lane + first, end - first};
}

PositionHull demanded_hull(const Tasks& tasks, LaneRun run, std::uint32_t input_slot) {
    PositionHull hull;
    for (const Lane& lane : tasks.lanes.subspan(run.first, run.count)) {
        for (const Demand& demand : tasks.demands.subspan(lane.first_demand, lane.demand_count)) {
            if (demand.input != input_slot || demand.position_count == 0) continue;
            const std::uint32_t end = demand.first_position + demand.position_count;
            const std::uint32_t hull_end = std::max(hull.first + hull.count, end);
            hull.first = hull.count == 0 ? demand.first_position : std::min(hull.first, demand.first_position);
            hull.count = hull_end - hull.first;
        }
    }
    return hull;
}

namespace {

/// The exchange of price for time among families of one level: all that would hold the level back get more cores together.
class ReplicaPlanner {
public:
    ReplicaPlanner(const Tasks& tasks, const Target& target, const PimTiming& timing)
        : tasks_(tasks),
          target_(target),
          timing_(timing),
          level_of_(dependency_levels(tasks)),
          replicas_(tasks.families.size(), 1),
          time_(tasks.families.size()),
          readers_(tasks.tensors.size(), 0) {
        for (const std::uint32_t tensor : tasks.inputs) ++readers_[tensor];
        work_before_.push_back(0);
        for (const Lane& lane : tasks.lanes) work_before_.push_back(checked_add(work_before_.back(), static_cast<std::int64_t>(lane.work_ns)));
        for (std::uint32_t f = 0; f < time_.size(); ++f) {
            if (level_of_[f] >= levels_.size()) levels_.resize(level_of_[f] + 1U);
            levels_[level_of_[f]].families.push_back(f);
        }
        measure_times();
        reserved_ = reserve();
    }

    std::optional<ReplicaPlan> run() {
        if (!reserved_) return std::nullopt;
        verified_ = replicas_;
        while (Level* level = best_step()) {
            for (const Change& change : level->changes) replicas_[change.family] = change.replicas;
            if (++unverified_ >= batch_ && !verify()) level->blocked = true;
            measure_times();
        }
        ReplicaPlan plan;
        plan.path_ns = measure_slack();
        plan.replicas = std::move(replicas_);
        plan.residences = std::move(reserved_->residences);
        return plan;
    }

private:
    struct Change {
        std::uint32_t family = 0;
        std::uint32_t replicas = 0;
        std::int64_t time_ns = 0;
    };

    struct Level {
        std::vector<std::uint32_t> families;
        std::vector<Change> changes;   // the next step
        std::int64_t gain_ns = 0;
        std::int64_t price = 1;
        bool blocked = false;          // a step found no room; later there will be no more of it
    };

    /// Nanoseconds of one core when `parts` cores share the family: the run in the middle, which has neighbours on both sides.
    [[nodiscard]] std::int64_t run_time(std::uint32_t f, std::uint32_t parts) const {
        const Family& family = tasks_.families[f];
        const LaneRun run = lane_run(family, parts / 2, parts);
        const CoreId here(0);
        const CoreId there(target_.core_count / 2);
        std::int64_t time = work_before_[run.first + run.count] - work_before_[run.first];
        // A rounded-up run decides, also where the one in the middle is shorter.
        time = multiply_divide(time, ceil_divide(family.lane_count, parts), std::max(1U, run.count));
        for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
            const TaskTensor& input = tasks_.tensors[tasks_.inputs[family.first_input + slot]];
            const PositionHull hull = end_to_end(run, slot);
            if (hull.count == 0) continue;
            const std::uint32_t elems = span_elems(input, {hull.first, hull.count});
            if (input.producer == no_id) {
                // The memory serves one core after the other; the last one waits for all.
                time += timing_.load_ns(here, elems) + (parts - 1) * timing_.memory_read_ns(elems);
                continue;
            }
            // A hull is cut into as many messages as producers share it.
            const std::uint64_t positions = std::uint64_t{input.rows} * input.columns;
            const std::uint32_t sources = replicas_[input.producer];
            const auto messages = static_cast<std::uint32_t>(ceil_divide<std::uint64_t>(std::uint64_t{hull.count} * sources, positions));
            time += messages * timing_.recv_ns(there, here, std::max(1U, elems / messages));
        }
        const TaskTensor& output = tasks_.tensors[family.output];
        const std::uint32_t made = std::max(1U, output.rows * output.columns / parts * output.channels);
        return time + std::int64_t{readers_[family.output]} * timing_.send_ns(here, there, made);
    }

    /// What the first and the last lane of a run demand, and all between: lanes are in the order of their positions.
    [[nodiscard]] PositionHull end_to_end(LaneRun run, std::uint32_t slot) const {
        const PositionHull first = demanded_hull(tasks_, {run.first, 1}, slot);
        const PositionHull last = demanded_hull(tasks_, {run.first + run.count - 1, 1}, slot);
        if (first.count == 0 || last.count == 0) return first.count == 0 ? last : first;
        const std::uint32_t from = std::min(first.first, last.first);
        return {from, std::max(first.first + first.count, last.first + last.count) - from};
    }

    /// slack_: time by which each family could be slower without lengthening the longest path. Returns the longest path.
    std::int64_t measure_slack() {
        std::vector<std::int64_t> before(time_.size(), 0);   // longest path up to the family's start
        slack_.assign(time_.size(), 0);                      // first: longest path from its end
        std::int64_t longest = 0;
        for (std::uint32_t f = 0; f < time_.size(); ++f) {
            for_producers(f, [&](std::uint32_t producer) { before[f] = std::max(before[f], before[producer] + time_[producer]); });
            longest = std::max(longest, before[f] + time_[f]);
        }
        for (auto f = static_cast<std::uint32_t>(time_.size()); f-- > 0;) {
            for_producers(f, [&](std::uint32_t producer) { slack_[producer] = std::max(slack_[producer], slack_[f] + time_[f]); });
            slack_[f] = longest - before[f] - time_[f] - slack_[f];
        }
        return longest;
    }

    template <class Visit>
    void for_producers(std::uint32_t f, Visit visit) const {
        const Family& family = tasks_.families[f];
        for (const std::uint32_t tensor : tasks_.inputs.subspan(family.first_input, family.input_count)) {
            if (tasks_.tensors[tensor].producer != no_id) visit(tasks_.tensors[tensor].producer);
        }
    }

    /// Next number of cores at which the largest run of lanes gets shorter, by a sixteenth where it is long: finer steps only take time
    /// to plan. The present number where there is none.
    [[nodiscard]] std::uint32_t next_count(std::uint32_t f, std::uint32_t count) const {
        const std::uint32_t lanes = tasks_.families[f].lane_count;
        const std::uint32_t most = std::min(lanes, target_.core_count);
        const std::uint32_t longest = ceil_divide(lanes, count);
        if (longest <= 1 || count >= most) return count;
        return std::min(most, std::max(count + 1, ceil_divide(lanes, longest - std::max(1U, longest / 16))));
    }

    /// The least number of cores with which `f` takes at most `limit_ns`, or at least less than now; the present one where there is none.
    [[nodiscard]] Change shorten(std::uint32_t f, std::int64_t limit_ns) const {
        Change change{f, replicas_[f], time_[f]};
        for (std::uint32_t count = next_count(f, change.replicas); change.time_ns > limit_ns;) {
            const std::int64_t time = run_time(f, count);
            if (time >= change.time_ns) break;   // no more lanes or cores, or more cores only add messages
            change = {f, count, time};
            const std::uint32_t next = next_count(f, count);
            if (next == count) break;
            count = next;
        }
        return change;
    }

    /// The longest families of the level go one step down, and those that would be in the way with them.
    void find_step(Level& level) const {
        level.changes.clear();
        level.gain_ns = 0;
        level.price = 0;
        std::uint32_t critical = no_id;
        for (const std::uint32_t f : level.families) {
            if (slack_[f] == 0 && (critical == no_id || time_[f] > time_[critical])) critical = f;
        }
        if (critical == no_id) return;
        const Change first = shorten(critical, time_[critical] - 1);
        std::int64_t gain = time_[critical] - first.time_ns;
        if (gain <= 0) return;
        for (const std::uint32_t f : level.families) {
            if (slack_[f] >= gain) continue;
            const Change change = f == critical ? first : shorten(f, time_[f] - (gain - slack_[f]));
            gain = std::min(gain, time_[f] - change.time_ns + slack_[f]);
            if (change.replicas == replicas_[f]) continue;
            level.changes.push_back(change);
            // Families without weights pay for the cores that they occupy.
            level.price += std::int64_t{change.replicas - replicas_[f]} * (tasks_.families[f].crossbars + 1);
        }
        level.gain_ns = gain;
    }

    /// Cores for all copies; families of one level do not share a core where that can be had.
    [[nodiscard]] std::optional<Reservations> reserve() const {
        std::vector<ReservationRequest> requests;
        for (std::uint32_t f = 0; f < replicas_.size(); ++f) {
            const std::uint32_t crossbars = tasks_.families[f].crossbars;
            requests.push_back({crossbars, crossbars == 0 ? 0 : replicas_[f], level_of_[f]});
        }
        return reserve_best_fit(requests, std::vector<std::uint32_t>(target_.core_count, target_.core.crossbar_count));
    }

    /// The level with the largest gain for the price; none where no step is left that helps and finds room.
    Level* best_step() {
        __extension__ using Wide = __int128;
        (void)measure_slack();
        Level* best = nullptr;
        for (Level& level : levels_) {
            if (level.blocked) continue;
            find_step(level);
            if (level.gain_ns <= 0) continue;
            if (best == nullptr || Wide{level.gain_ns} * best->price > Wide{best->gain_ns} * level.price) best = &level;
        }
        if (best != nullptr || unverified_ == 0) return best;
        (void)verify();   // may go back, and then there are steps again
        measure_times();
        return best_step();
    }

    /// Finds room for the present copies, or goes back to the last ones that found it. While there is much room, several steps are taken at
    /// once; after the first failure each is tried by itself. False: it was a single step that failed.
    bool verify() {
        unverified_ = 0;
        if (auto reserved = reserve()) {
            reserved_ = std::move(reserved);
            verified_ = replicas_;
            return true;
        }
        replicas_ = verified_;
        const bool single = batch_ == 1;
        batch_ = 1;
        return !single;
    }

    /// Consumers see another number of messages when their producers' cores change.
    void measure_times() {
        for (std::uint32_t f = 0; f < time_.size(); ++f) time_[f] = run_time(f, replicas_[f]);
    }

    const Tasks& tasks_;
    const Target& target_;
    const PimTiming& timing_;
    std::optional<Reservations> reserved_;   // of verified_
    std::vector<std::int64_t> work_before_;   // per lane and the end: sum of the work of all lanes before it
    std::vector<std::uint32_t> level_of_;
    std::vector<Level> levels_;
    std::vector<std::uint32_t> replicas_;
    std::vector<std::uint32_t> verified_;     // the last ones that found room; reserved_ is theirs
    std::uint32_t unverified_ = 0;            // steps since
    std::uint32_t batch_ = 16;
    std::vector<std::int64_t> time_;       // at the present number of cores
    std::vector<std::int64_t> slack_;
    std::vector<std::uint32_t> readers_;   // per tensor: input slots
};

}  // namespace

std::optional<ReplicaPlan> plan_replicas(const Tasks& tasks, const Target& target, const PimTiming& timing) {
    return ReplicaPlanner(tasks, target, timing).run();
}

}  // namespace weft
