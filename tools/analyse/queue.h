#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "events.h"

namespace weft {

/// Who is served first among requests that reach the global memory at the same instant: the lower core (forward) or the
/// higher one. The only order that can matter: everything else at one instant commutes.
enum class TieOrder : std::uint8_t { Forward, Reverse };

/// How long to look for an exact period before settling for an average. An average needs windows of many lengths to agree:
/// within one part in 500 from `early_generations` on, in 250 half as many later, within one hundredth at the end.
struct QueueBudget {
    std::uint32_t generations = 64;          ///< at least these, of every core
    std::uint64_t events = 1'000'000;        ///< and at least these events
    std::uint64_t event_limit = 60'000'000;  ///< never more
    std::uint32_t early_generations = 16;
};

/// Steady state of a program whose cores repeat their lists for ever.
struct SteadyState {
    Availability availability = Availability::Available;
    std::string reason;
    bool exact = true;               ///< the whole state recurred; else an average over the last half of the rounds
    Picoseconds span = 0;            ///< `span` / `rounds` is the interval of the slowest core
    std::uint64_t rounds = 1;
    std::uint32_t slowest_core = 0;
    std::vector<double> memory_wait;  ///< by core: picoseconds a round in the memory's queue
    Picoseconds maximum_request_wait = 0;   ///< from the start on
    std::uint32_t generations = 0;   ///< most rounds that any core was executed for
    std::uint64_t events = 0;
    bool ties = false;               ///< requests met at the memory, so that the tie order may matter
};

/// Execute `program` in time: each core's events in its order; send and recv as a rendezvous; one outgoing FIFO per core; the
/// global memory serving requests in the order of their arrival. Nothing is copied from round to round; the state is one
/// position and two times per core, the tokens under way, and when the memory is free.
///
/// The program must be live (check_liveness) and available. Stops when the state of every group of coupled cores has recurred
/// (exact), or at the budget.
[[nodiscard]] SteadyState find_steady_state(const QueueProgram& program, TieOrder ties, const QueueBudget& budget);

/// Ends of the first `rounds` passes of every core, [core][round] (the earliest start of whatever would follow); none for cores without
/// a program. A core stops after its last pass. Picoseconds from the start of the chip.
[[nodiscard]] std::vector<std::vector<Picoseconds>> round_ends(const QueueProgram& program, TieOrder ties, std::uint32_t rounds);

/// Every core executes its list once: when the last of them retires its last instruction.
[[nodiscard]] Picoseconds single_pass_latency(const QueueProgram& program, TieOrder ties);

}  // namespace weft
