#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "artifact/target.h"
#include "artifact/timing.h"
#include "accounting.h"
#include "queue.h"

namespace weft {

/// What was executed of a program on a chip with any reorder buffer.
struct ReorderRun {
    std::vector<std::vector<Picoseconds>> round_ends;   ///< [core][round]: its last instruction has left the buffer
    std::uint64_t instructions = 0;
    std::uint64_t in_place_scalars = 0;                 ///< a round; the simulator repeats these while they are stalled
    Picoseconds maximum_request_wait = 0;               ///< in the global memory's queue
    bool ties = false;
};

/// The first `rounds` rounds of every core, instruction by instruction, on cores that overlap what their reorder buffers allow:
/// dispatch in order, hazards by address, units that work side by side, one port of the local memory. Everything else as in
/// QueueMachine. The program must be live and possible (collapse() and check_liveness() say so); the buffer must have an entry.
/// Without `hazards` no instruction waits for an address.
/// Method: each core runs in its own time up to its next transfer (reorder_core.h); rendezvous, tokens and requests are settled in an order of
/// time that nothing later can change. Time linear in instructions executed, memory in the program.
[[nodiscard]] ReorderRun run_reordered(const Program& program, const Target& target, TieOrder ties, std::uint64_t rounds, bool hazards = true);

/// Waits of the cores' transfers in `rounds` rounds beyond the first `skipped`: what each took longer than alone, and for whom. Other units may work
/// meanwhile, so the waits are no loss as such. Every core is executed for half as many rounds again, and for at least `executed` of its own, so that the last
/// rounds are no quieter than the first.
[[nodiscard]] Accounting account_reordered(const Program& program, const Target& target, TieOrder ties, std::uint32_t skipped, std::uint32_t rounds,
                                           std::vector<std::uint64_t> executed = {});

/// Interval on a chip with a larger reorder buffer: a mean over the last rounds, once windows of many lengths agree.
struct ReorderState {
    Availability availability = Availability::Available;
    std::string reason;
    double interval_ps = 0;
    std::uint32_t slowest_core = 0;
    std::uint64_t rounds = 0;                   ///< of the slowest cores; quicker ones were executed for as long
    std::vector<std::uint64_t> core_rounds;     ///< by core
    ReorderRun run;
};

/// `instruction_limit`: instructions to execute at most, for all attempts together.
[[nodiscard]] ReorderState find_reorder_state(const Program& program, const Target& target, TieOrder ties, bool hazards, std::uint64_t instruction_limit = 100'000'000);

/// Largest instant at which a core has finished its only round.
[[nodiscard]] Picoseconds reorder_latency(const Program& program, const Target& target, TieOrder ties);

}  // namespace weft
