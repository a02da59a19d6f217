#include "queue.h"

#include <algorithm>

#include "base/failure.h"
#include "machine.h"
#include "steady.h"

namespace weft {
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
using Wide = __int128;
#pragma GCC diagnostic pop

/// span / rounds, compared without rounding.
struct Interval {
    Picoseconds span = 0;
    std::uint64_t rounds = 1;
    std::uint32_t core = 0;
    [[nodiscard]] bool longer_than(const Interval& other) const { return Wide{span} * other.rounds > Wide{other.span} * rounds; }
};

/// How the search for one group of coupled cores ended.
struct GroupResult {
    bool done = false;
    bool exact = false;
    Availability availability = Availability::Available;
    Interval interval;
};

class SteadySearch {
public:
    SteadySearch(const QueueProgram& program, TieOrder ties, const QueueBudget& budget)
        : program_(program), budget_(budget), groups_(coupled_groups(program)), results_(groups_.size()), machine_(program, ties),
          group_of_(program.lists.size(), QueueMachine::none), ends_(program.lists.size()) {
        for (std::uint32_t group = 0; group < groups_.size(); ++group) {
            watches_.emplace_back(program, groups_[group]);
            for (const std::uint32_t core : groups_[group].cores) group_of_[core] = group;
        }
        // No sum of times may pass 63 bits, whatever happens.
        const Picoseconds generations = picoseconds_limit / std::max<Picoseconds>(program.serial_time, 1);
        generation_limit_ = static_cast<std::uint32_t>(std::min<Picoseconds>(generations, 1U << 20U));
        state_.memory_wait.assign(program.lists.size(), 0.0);
    }

    SteadyState run() {
        std::size_t open = groups_.size();
        while (open > 0) {
            const std::uint32_t core = machine_.take_entry();
            WEFT_CHECK(core != QueueMachine::exhausted, "a live program came to a stop");
            if (core == QueueMachine::none) continue;
            const std::uint32_t group = group_of_[core];
            // A core without communication, or of a group whose answer is known, need not go on.
            if (group == QueueMachine::none || results_[group].done) continue;
            if (machine_.cores()[core].generation > 0) ends_[core].push_back(machine_.cores()[core].ready);
            if (core == groups_[group].cores.front()) look_at(group);
            if (results_[group].done) {
                --open;
                continue;
            }
            machine_.start_round(core);
        }
        summarise();
        return std::move(state_);
    }

private:
    void look_at(std::uint32_t group) {
        GroupResult& result = results_[group];
        if (watches_[group].observe(machine_)) {
            result.done = result.exact = true;
            take_exact(group);
            return;
        }
        std::uint32_t least = ~0U;
        std::uint32_t most = 0;
        for (const std::uint32_t core : groups_[group].cores) {
            least = std::min(least, machine_.cores()[core].generation);
            most = std::max(most, machine_.cores()[core].generation);
        }
        const std::uint64_t events = machine_.events();
        const bool early = events >= budget_.events && least >= budget_.early_generations && least % 8 == 0;
        if (early && take_average(group, precision_after(least))) {
            result.done = true;
            return;
        }
        if (most < generation_limit_ && events < budget_.event_limit && (least < budget_.generations || events < budget_.events)) return;
        result.done = true;
        if (!take_average(group, 100)) {
            result.availability = events >= budget_.event_limit ? Availability::EventLimit : Availability::GenerationLimit;
        }
    }

    /// The longer the windows are, the less their difference says about the mean.
    [[nodiscard]] Picoseconds precision_after(std::uint32_t generations) const {
        return generations < budget_.early_generations * 3 / 2 ? 500 : 250;
    }

    void take_exact(std::uint32_t group) {
        const RecurrenceWatch& watch = watches_[group];
        const auto& cores = groups_[group].cores;
        for (std::size_t i = 0; i < cores.size(); ++i) {
            const std::uint64_t rounds = watch.rounds(i);
            const Interval interval{watch.span(), rounds, cores[i]};
            if (i == 0 || interval.longer_than(results_[group].interval)) results_[group].interval = interval;
            state_.memory_wait[cores[i]] = static_cast<double>(watch.memory_wait(i)) / static_cast<double>(std::max<std::uint64_t>(rounds, 1));
        }
    }

    /// The mean over the last half of the slowest core's rounds, if windows of many lengths agree on it.
    bool take_average(std::uint32_t group, Picoseconds precision) {
        GroupResult& result = results_[group];
        bool first = true;
        for (const std::uint32_t core : groups_[group].cores) {
            const auto& ends = ends_[core];
            const std::uint32_t generations = machine_.cores()[core].generation;
            state_.memory_wait[core] = static_cast<double>(machine_.cores()[core].memory_wait) / std::max(1U, generations);
            if (ends.size() < 8) return false;
            const std::size_t half = ends.size() / 2;
            const Interval interval{ends.back() - ends[half], ends.size() - 1 - half, core};
            if (first || interval.longer_than(result.interval)) result.interval = interval;
            first = false;
        }
        return windows_agree(ends_[result.interval.core], precision);
    }

    /// One part in `precision` between the last two windows, for every window length from an eighth of the rounds up to a
    /// half. A limit cycle would have to divide all these lengths to hide.
    static bool windows_agree(const std::vector<Picoseconds>& ends, Picoseconds precision) {
        const std::size_t last = ends.size() - 1;
        for (std::size_t length = std::max<std::size_t>(last / 8, 1); length <= last / 2; ++length) {
            const Picoseconds late = ends[last] - ends[last - length];
            const Picoseconds early = ends[last - length] - ends[last - 2 * length];
            if (Wide{std::abs(late - early)} * precision > late) return false;
        }
        return true;
    }

    void summarise() {
        Interval slowest;
        for (std::uint32_t group = 0; group < groups_.size(); ++group) {
            const GroupResult& result = results_[group];
            state_.exact = state_.exact && result.exact;
            if (result.interval.longer_than(slowest)) slowest = result.interval;
            if (result.availability != Availability::Available && state_.availability == Availability::Available) {
                state_.availability = result.availability;
                state_.reason = fmt::format("rounds of core {} and the cores coupled to it did not settle in {} events", groups_[group].cores.front(),
                                            machine_.events());
            }
        }
        for (std::uint32_t core = 0; core < program_.lists.size(); ++core) {
            state_.generations = std::max(state_.generations, machine_.cores()[core].generation);
            const CoreAccount& account = program_.accounts[core];
            const Interval alone{account.local, 1, core};
            if (account.has_program && group_of_[core] == QueueMachine::none && alone.longer_than(slowest)) slowest = alone;
        }
        state_.span = slowest.span;
        state_.rounds = slowest.rounds;
        state_.slowest_core = slowest.core;
        state_.maximum_request_wait = machine_.maximum_request_wait();
        state_.events = machine_.events();
        state_.ties = machine_.ties();
    }

    const QueueProgram& program_;
    const QueueBudget& budget_;
    std::vector<CoupledGroup> groups_;
    std::vector<GroupResult> results_;
    std::vector<RecurrenceWatch> watches_;
    QueueMachine machine_;
    std::vector<std::uint32_t> group_of_;
    std::vector<std::vector<Picoseconds>> ends_;   // of every round, by core
    std::uint32_t generation_limit_ = 0;
    SteadyState state_;
};

}  // namespace

SteadyState find_steady_state(const QueueProgram& program, TieOrder ties, const QueueBudget& budget) {
    return SteadySearch(program, ties, budget).run();
}

std::vector<std::vector<Picoseconds>> round_ends(const QueueProgram& program, TieOrder ties, std::uint32_t rounds) {
    QueueMachine machine(program, ties);
    std::vector<std::vector<Picoseconds>> result(program.lists.size());
    for (std::uint32_t core = machine.take_entry(); core != QueueMachine::exhausted; core = machine.take_entry()) {
        if (core == QueueMachine::none) continue;
        const QueueMachine::Core& state = machine.cores()[core];
        if (state.generation > 0) result[core].push_back(state.ready);
        if (state.generation < rounds) machine.start_round(core);
    }
    return result;
}

Picoseconds single_pass_latency(const QueueProgram& program, TieOrder ties) {
    Picoseconds latest = 0;
    for (const auto& ends : round_ends(program, ties, 1)) {
        // The next instruction would start one clock after the last one retires.
        if (!ends.empty()) latest = std::max(latest, ends.front() - (program.model.issue ? program.period : 0));
    }
    return latest;
}

}  // namespace weft
