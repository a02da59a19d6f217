#include "analyse.h"

#include <algorithm>
#include <cmath>

#include "events.h"
#include "pim/liveness.h"
#include "reorder.h"

namespace weft {
namespace {

/// Passes that one core may need while another makes one.
constexpr unsigned rate_limit = 64;

std::uint64_t nanoseconds(Picoseconds time) { return (static_cast<std::uint64_t>(time) + 500) / 1000; }

double interval_of(const SteadyState& state) { return static_cast<double>(state.span) / static_cast<double>(state.rounds) / 1000.0; }

Analysis unavailable(Analysis analysis, Availability availability, std::string reason) {
    analysis.timing.availability = availability;
    analysis.timing.reason = std::move(reason);
    return analysis;
}

std::uint64_t crossbars_of(const Program& program, std::size_t core) {
    std::uint64_t sum = 0;
    for (std::uint32_t group = program.core_first_group[core]; group < program.core_first_group[core + 1]; ++group) sum += program.groups[group].crossbars;
    return sum;
}

/// Which core wants more crossbars than there are; empty where none does.
std::string crossbar_problem(const Program& program, const Target& target) {
    for (std::size_t core = 0; core + 1 < program.core_first_run.size(); ++core) {
        const std::uint64_t wanted = crossbars_of(program, core);
        if (wanted > target.core.crossbar_count) return fmt::format("core {} needs {} crossbars, the chip's cores have {}", core, wanted, target.core.crossbar_count);
    }
    return {};
}

/// Everything that one pass costs with nobody in the way, and the bounds that follow.
void account(Analysis& analysis, const Program& program, const QueueProgram& queue) {
    TimingColumns& timing = analysis.timing;
    Picoseconds local = 0;
    Picoseconds busy = 0;
    Picoseconds memory = 0;
    std::uint64_t cores = 0;
    Picoseconds busiest = 0;
    Picoseconds busiest_switch = 0;
    for (std::uint32_t core = 0; core < queue.accounts.size(); ++core) {
        const CoreAccount& one = queue.accounts[core];
        CoreTiming row;
        row.local_ns = nanoseconds(one.local);
        row.communication_ns = nanoseconds(one.communication);
        row.switch_ns = nanoseconds(one.switch_occupancy);
        row.instructions = one.instructions;
        row.messages = static_cast<std::uint32_t>(one.messages);
        row.crossbars = static_cast<std::uint32_t>(crossbars_of(program, core));
        timing.cores.push_back(row);
        cores += one.has_program ? 1 : 0;
        local += one.local;
        busy += one.local + one.communication;
        analysis.shares.communication += one.communication;
        for (std::size_t unit = 0; unit < local_unit_count; ++unit) analysis.shares.unit[unit] += one.unit[unit];
        memory += one.memory_service;
        if (one.local + one.communication > busiest) {
            busiest = one.local + one.communication;
            analysis.busiest_core = core;
        }
        if (one.switch_occupancy > busiest_switch) {
            busiest_switch = one.switch_occupancy;
            analysis.busiest_switch = core;
        }
        if (one.ends_with_scalar) {
            analysis.notes.push_back(fmt::format("core {}: the last instruction is scalar; the simulator's latency mode never finishes it", core));
        }
        if (one.computes_before_setbw) {
            analysis.notes.push_back(fmt::format("core {}: computes before its first setbw; its memory traffic costs nothing until then", core));
        }
        if (one.has_program && one.instructions == 1) {
            analysis.notes.push_back(fmt::format("core {}: a list of one instruction; the simulator counts one round only", core));
        }
    }
    timing.work_bound_ns = nanoseconds(busy / static_cast<Picoseconds>(std::max<std::uint64_t>(cores, 1)));
    timing.local_bound_ns = nanoseconds(local / static_cast<Picoseconds>(std::max<std::uint64_t>(cores, 1)));
    timing.busiest_core_ns = nanoseconds(busiest);
    timing.memory_bound_ns = nanoseconds(memory);
    timing.switch_bound_ns = nanoseconds(busiest_switch);
}

/// The lists once more with times: interval under both tie orders, waits. The forward run.
SteadyState execute(Analysis& analysis, const QueueProgram& queue, const QueueBudget& budget) {
    TimingColumns& timing = analysis.timing;
    const SteadyState forward = find_steady_state(queue, TieOrder::Forward, budget);
    // Where no two requests ever met at the memory, the orders are one.
    const SteadyState reverse = forward.ties ? find_steady_state(queue, TieOrder::Reverse, budget) : forward;
    timing.generations = std::max(forward.generations, reverse.generations);
    timing.events = forward.events + (forward.ties ? reverse.events : 0);
    timing.maximum_request_wait_ns = nanoseconds(std::max(forward.maximum_request_wait, reverse.maximum_request_wait));
    for (const SteadyState* state : {&forward, &reverse}) {
        if (state->availability != Availability::Available) {
            timing.availability = state->availability;
            timing.reason = state->reason;
            return forward;
        }
    }
    analysis.exact = forward.exact && reverse.exact;
    analysis.interval_ns = interval_of(forward);
    analysis.slowest_core = forward.slowest_core;
    timing.interval_ns = static_cast<std::uint64_t>(std::max(1LL, std::llround(interval_of(forward))));
    timing.alternative_interval_ns = static_cast<std::uint64_t>(std::max(1LL, std::llround(interval_of(reverse))));
    for (std::size_t core = 0; core < timing.cores.size(); ++core) {
        CoreTiming& row = timing.cores[core];
        const std::uint64_t busy = row.local_ns + row.communication_ns;
        if (queue.accounts[core].has_program && busy < timing.interval_ns) row.wait_ns = timing.interval_ns - busy;
        row.memory_wait_ns = static_cast<std::uint64_t>(std::llround(forward.memory_wait[core] / 1000.0));
    }
    if (!analysis.exact) {
        analysis.notes.push_back("the state did not recur within the budget: intervals are averages over the last half of the rounds");
    }
    return forward;
}

void find_recurrence(Analysis& analysis, const QueueProgram& queue) {
    EventGraph events = event_graph(queue);
    analysis.recurrence = recurrence_of(events);
    if (analysis.recurrence.unavailable.empty() && analysis.recurrence.numerator_ps > 0) {
        analysis.timing.recurrence_numerator_ps = static_cast<std::uint64_t>(analysis.recurrence.numerator_ps);
        analysis.timing.recurrence_denominator = static_cast<std::uint64_t>(analysis.recurrence.denominator);
    }
    if (events.instants.size() <= timing_graph_limit) analysis.small_graph = std::move(events);
}

/// Rounds to look at for accounting: as many as the steady state repeats after, but some.
constexpr std::uint32_t accounted_rounds = 8;
constexpr std::uint32_t most_accounted_rounds = 64;

void find_waits(Analysis& analysis, const QueueProgram& queue, const SteadyState& forward) {
    const std::uint32_t skipped = std::min(forward.generations, most_accounted_rounds);
    const auto period = static_cast<std::uint32_t>(std::min<std::uint64_t>(forward.rounds, most_accounted_rounds));
    const std::uint32_t rounds = (accounted_rounds + period - 1) / period * period;
    analysis.accounting = account_waits(queue, TieOrder::Forward, skipped, rounds);
}

/// What holds however much the cores overlap: each has one transfer unit, so that its transfers follow one another.
void find_overlapped_recurrence(Analysis& analysis, const Program& program, const PimCosts& costs, std::string_view file) {
    QueueModel transfers;
    transfers.issue = transfers.local_work = false;
    EventGraph events = event_graph(collapse(program, costs, file, transfers));
    events.exact = false;
    if (events.unavailable.empty()) events.remarks.emplace_back("transfers only: cores with a larger reorder buffer may overlap everything else with them");
    analysis.recurrence = recurrence_of(events);
    if (events.instants.size() <= timing_graph_limit) analysis.small_graph = std::move(events);
}

/// On cores that overlap instructions: every instruction of some rounds, under both tie orders.
void execute_reordered(Analysis& analysis, const Program& program, const Target& target, bool one_pass_ends, bool accounting) {
    TimingColumns& timing = analysis.timing;
    analysis.overlapping = true;
    const ReorderState forward = find_reorder_state(program, target, TieOrder::Forward, true);
    const ReorderState reverse = forward.run.ties ? find_reorder_state(program, target, TieOrder::Reverse, true) : forward;
    timing.generations = static_cast<std::uint32_t>(std::max(forward.rounds, reverse.rounds));
    timing.events = forward.run.instructions + (forward.run.ties ? reverse.run.instructions : 0);
    for (const ReorderState* state : {&forward, &reverse}) {
        if (state->availability == Availability::Available) continue;
        timing.availability = state->availability;
        timing.reason = state->reason;
        return;
    }
    timing.maximum_request_wait_ns = nanoseconds(std::max(forward.run.maximum_request_wait, reverse.run.maximum_request_wait));
    analysis.interval_ns = forward.interval_ps / 1000.0;
    analysis.slowest_core = forward.slowest_core;
    timing.interval_ns = static_cast<std::uint64_t>(std::max(1LL, std::llround(analysis.interval_ns)));
    timing.alternative_interval_ns = static_cast<std::uint64_t>(std::max(1LL, std::llround(reverse.interval_ps / 1000.0)));
    analysis.notes.push_back(fmt::format("a reorder buffer of {} entries: every instruction of {} rounds was executed, intervals are averages over the last of them",
                                         target.core.rob_entries, forward.rounds));
    if (forward.run.in_place_scalars != 0) {
        // Which values the simulator's registers then have is not modelled; without any hazard the addresses would not matter.
        const ReorderState free = find_reorder_state(program, target, TieOrder::Forward, false);
        const double least = free.availability == Availability::Available ? free.interval_ps / 1000.0 : 0;
        analysis.notes.push_back(fmt::format(
            "inexact: {} scalars a round write a register that they read, which the simulator repeats while they are stalled, so its addresses and with them its hazards "
            "differ; without any hazard the interval would be {:.3f} ns, {:.2f} % less",
            forward.run.in_place_scalars, least, 100 * (1 - least / analysis.interval_ns)));
    }
    if (accounting) {
        analysis.accounting = account_reordered(program, target, TieOrder::Forward, static_cast<std::uint32_t>(forward.rounds / 2), accounted_rounds, forward.core_rounds);
        analysis.notes.push_back("waits are those of the transfer units; other units may work meanwhile");
    }
    if (one_pass_ends) timing.latency_ns = nanoseconds(std::max(reorder_latency(program, target, TieOrder::Forward), reorder_latency(program, target, TieOrder::Reverse)));
}

void find_latency(Analysis& analysis, const QueueProgram& queue) {
    const Picoseconds forward = single_pass_latency(queue, TieOrder::Forward);
    analysis.timing.latency_ns = nanoseconds(std::max(forward, single_pass_latency(queue, TieOrder::Reverse)));
}

}  // namespace

Analysis analyse(const Program& program, const Target& target, Hash128 program_hash, const AnalyseOptions& options, std::string_view file) {
    Analysis analysis;
    TimingColumns& timing = analysis.timing;
    timing.availability = Availability::Available;
    timing.inferences_per_round = std::max(1U, program.inferences_per_round);
    timing.depth = program.depth;
    timing.program_hash_high = program_hash.high;
    timing.program_hash_low = program_hash.low;
    const PimCosts costs(target);
    if (std::string problem = crossbar_problem(program, target); !problem.empty()) {
        return unavailable(std::move(analysis), Availability::CrashesTarget, std::move(problem));
    }
    QueueProgram queue = collapse(program, costs, file, options.model);
    if (queue.availability != Availability::Available) return unavailable(std::move(analysis), queue.availability, queue.reason);
    account(analysis, program, queue);
    if (std::none_of(queue.accounts.begin(), queue.accounts.end(), [](const CoreAccount& core) { return core.has_program; })) {
        return unavailable(std::move(analysis), Availability::EmptyProgram, "no core has instructions");
    }
    const LivenessReport liveness = check_liveness(program, target, options.liveness_generations);
    if (!liveness.faults.empty()) return unavailable(std::move(analysis), Availability::CrashesTarget, liveness.text());
    if (!liveness.live && !check_liveness(program, target, options.liveness_generations, rate_limit).live) {
        return unavailable(std::move(analysis), Availability::Deadlock, liveness.text());
    }
    if (!liveness.live) analysis.notes.push_back("cores repeat at different rates; the interval is the slowest core's");
    if (target.core.rob_entries == 0) {
        return unavailable(std::move(analysis), Availability::CrashesTarget, "a reorder buffer without entries: no core ever starts an instruction");
    }
    if (target.core.rob_entries > 1) {
        if (!(options.model == QueueModel{})) {
            return unavailable(std::move(analysis), Availability::UnsupportedReorderBuffer, "effects can be left out for reorder buffers of one only");
        }
        analysis.unit = busiest_unit(program, costs);
        if (options.recurrence) find_overlapped_recurrence(analysis, program, costs, file);
        execute_reordered(analysis, program, target, liveness.live, options.accounting);
        analysis.queue = std::move(queue);
        return analysis;
    }
    if (options.recurrence) find_recurrence(analysis, queue);
    const SteadyState forward = execute(analysis, queue, options.budget);
    if (liveness.live || check_liveness(program, target, 1).live) {
        find_latency(analysis, queue);
    } else {
        analysis.notes.push_back("a single pass over every list does not end, so there is no latency");
    }
    if (options.accounting && timing.availability == Availability::Available) find_waits(analysis, queue, forward);
    analysis.queue = std::move(queue);
    return analysis;
}

}  // namespace weft
