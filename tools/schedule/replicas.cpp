#include "schedule/replicas.h"

#include <algorithm>

#include "base/checked.h"
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

std::uint64_t replica_crossbars(const Tasks& tasks, const std::vector<std::uint32_t>& replicas) {
    std::uint64_t sum = 0;
    for (std::size_t f = 0; f < replicas.size(); ++f) sum += std::uint64_t{replicas[f]} * tasks.families[f].crossbars;
    return sum;
}

namespace {

class ReplicaPlanner {
public:
    ReplicaPlanner(const Tasks& tasks, const Target& target, const PimTiming& timing, std::uint64_t budget)
        : tasks_(tasks),
          target_(target),
          timing_(timing),
          budget_(budget),
          replicas_(tasks.families.size(), 1),
          time_(tasks.families.size()),
          readers_(tasks.tensors.size(), 0),
          steps_(tasks.families.size()) {
        for (const std::uint32_t tensor : tasks.inputs) ++readers_[tensor];
        for (std::uint32_t f = 0; f < time_.size(); ++f) time_[f] = run_time(f, 1);
        spent_ = replica_crossbars(tasks, replicas_);
    }

    std::vector<std::uint32_t> run() {
        while (improve()) {
        }
        return std::move(replicas_);
    }

private:
    /// Nanoseconds of one core when `parts` cores share the family: the run in the middle, which has neighbours on both sides.
    [[nodiscard]] std::int64_t run_time(std::uint32_t f, std::uint32_t parts) const {
        const Family& family = tasks_.families[f];
        const LaneRun run = lane_run(family, parts / 2, parts);
        const CoreId here(0);
        const CoreId there(target_.core_count / 2);
        std::int64_t time = 0;
        for (const Lane& lane : tasks_.lanes.subspan(run.first, run.count)) time += static_cast<std::int64_t>(lane.work_ns);
        // A rounded-up run decides, also where the one in the middle is shorter.
        time = multiply_divide(time, ceil_divide(family.lane_count, parts), std::max(1U, run.count));
        for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
            const TaskTensor& input = tasks_.tensors[tasks_.inputs[family.first_input + slot]];
            const PositionHull hull = demanded_hull(tasks_, run, slot);
            if (hull.count == 0) continue;
            const std::uint32_t elems = span_elems(input, {hull.first, hull.count});
            if (input.producer == no_id) {
                time += timing_.load_ns(here, elems);
                continue;
            }
            // A hull that is cut into as many messages as producers share it.
            const std::uint64_t positions = std::uint64_t{input.rows} * input.columns;
            const std::uint32_t sources = replicas_[input.producer];
            const auto messages = static_cast<std::uint32_t>(ceil_divide<std::uint64_t>(std::uint64_t{hull.count} * sources, positions));
            time += messages * timing_.recv_ns(there, here, std::max(1U, elems / messages));
        }
        const TaskTensor& output = tasks_.tensors[family.output];
        const std::uint32_t made = std::max(1U, output.rows * output.columns / parts * output.channels);
        return time + std::int64_t{readers_[family.output]} * timing_.send_ns(here, there, made);
    }

    /// Longest path to the end of each family; returns the family where the longest of all ends.
    std::uint32_t measure_paths() {
        path_.assign(time_.size(), 0);
        before_.assign(time_.size(), no_id);
        std::uint32_t last = 0;
        for (std::uint32_t f = 0; f < time_.size(); ++f) {
            const Family& family = tasks_.families[f];
            for (const std::uint32_t tensor : tasks_.inputs.subspan(family.first_input, family.input_count)) {
                const std::uint32_t producer = tasks_.tensors[tensor].producer;
                if (producer == no_id || path_[producer] <= path_[f]) continue;
                path_[f] = path_[producer];
                before_[f] = producer;
            }
            path_[f] += time_[f];
            if (path_[f] > path_[last]) last = f;
        }
        return last;
    }

    /// Next number of cores worth trying: the largest run of lanes gets shorter.
    [[nodiscard]] std::uint32_t next_step(std::uint32_t f) const {
        const std::uint32_t lanes = tasks_.families[f].lane_count;
        const std::uint32_t most = std::min(lanes, target_.core_count);
        const std::uint32_t longest = ceil_divide(lanes, replicas_[f]);
        if (longest <= 1 || replicas_[f] >= most) return replicas_[f];
        return std::min(most, std::max(replicas_[f] + 1, ceil_divide(lanes, longest - 1)));
    }

    /// What the next step would give a family; kept until the family or one of its producers changes.
    struct Step {
        std::uint32_t replicas = 0;
        std::int64_t gain_ns = 0;
        bool known = false;
    };

    const Step& consider(std::uint32_t f) {
        Step& step = steps_[f];
        if (!step.known) {
            step.known = true;
            step.replicas = next_step(f);
            time_[f] = run_time(f, replicas_[f]);
            step.gain_ns = step.replicas == replicas_[f] ? 0 : time_[f] - run_time(f, step.replicas);
        }
        return step;
    }

    /// One family on the longest path gets more cores; false where none can or should.
    bool improve() {
        __extension__ using Wide = __int128;
        std::uint32_t best = no_id;
        std::int64_t best_price = 1;
        for (std::uint32_t f = measure_paths(); f != no_id; f = before_[f]) {
            const Step& step = consider(f);
            if (step.gain_ns <= 0) continue;   // no more lanes or cores, or more cores only add messages
            const std::uint32_t cores = step.replicas - replicas_[f];
            const std::uint64_t crossbars = std::uint64_t{cores} * tasks_.families[f].crossbars;
            if (spent_ + crossbars > budget_) continue;
            // Largest gain / price; families without weights pay for the cores that they occupy.
            const auto price = static_cast<std::int64_t>(crossbars + cores);
            if (best == no_id || Wide{step.gain_ns} * best_price > Wide{steps_[best].gain_ns} * price) {
                best = f;
                best_price = price;
            }
        }
        if (best == no_id) return false;
        spent_ += std::uint64_t{steps_[best].replicas - replicas_[best]} * tasks_.families[best].crossbars;
        replicas_[best] = steps_[best].replicas;
        time_[best] -= steps_[best].gain_ns;
        steps_[best].known = false;
        for (std::uint32_t f = 0; f < steps_.size(); ++f) {
            const Family& family = tasks_.families[f];
            for (const std::uint32_t tensor : tasks_.inputs.subspan(family.first_input, family.input_count)) {
                if (tasks_.tensors[tensor].producer == best) steps_[f].known = false;
            }
        }
        return true;
    }

    const Tasks& tasks_;
    const Target& target_;
    const PimTiming& timing_;
    std::uint64_t budget_ = 0;
    std::uint64_t spent_ = 0;
    std::vector<std::uint32_t> replicas_;
    std::vector<std::int64_t> time_;
    std::vector<std::uint32_t> readers_;   // per tensor: input slots
    std::vector<Step> steps_;
    std::vector<std::int64_t> path_;
    std::vector<std::uint32_t> before_;
};

}  // namespace

std::vector<std::uint32_t> plan_replicas(const Tasks& tasks, const Target& target, const PimTiming& timing, std::uint64_t crossbar_budget) {
    return ReplicaPlanner(tasks, target, timing, crossbar_budget).run();
}

}  // namespace weft
