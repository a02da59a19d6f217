#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "artifact/target.h"
#include "simulate/chip_times.h"

namespace weft {

class ValueMachine;

/// Who goes first where the simulator's own order of events of one instant is an accident of its event heap. Only requests that
/// reach the global memory at the same instant depend on it: they are served by core number, ascending or descending.
enum class Ties { forward, reverse };

struct SimulationOptions {
    /// Rounds of every core's list, one after the other without a barrier; 1 is the simulator's latency mode. 0: until `limit`.
    std::uint64_t rounds = 1;
    /// Cores that have finished their rounds keep on looping until all have, as on the chip, so that the last rounds are no
    /// quieter than the others. They stop at 4 * rounds + 16, so that a deadlock of some is not hidden by the others for ever.
    bool keep_looping = false;
    /// Stop at this instant (0: run to the end). With rounds 0 this is the simulator's throughput mode.
    Picoseconds limit = 0;
    Ties ties = Ties::forward;
    bool record_trace = false;
};

/// One instruction that went through a reorder buffer.
struct RetiredInstruction {
    std::uint32_t core = 0;
    Opcode op = Opcode::Nop;
    Picoseconds pushed = 0;    // its unit started (mvmul: entered the matrix unit's register)
    Picoseconds retired = 0;
};

struct CoreResult {
    /// Rounds as the simulator counts them: a round counts when its last instruction is fetched.
    std::uint64_t rounds_fetched = 0;
    /// Instant at which the last instruction of each whole round had retired.
    std::vector<Picoseconds> round_ends;
    /// Sums of (retired - pushed + period) over all rounds run, by kind, and one period per scalar.
    Picoseconds local = 0;
    Picoseconds communication = 0;
    std::uint64_t instructions = 0;
    std::uint64_t messages = 0;
    Picoseconds switch_busy = 0;
};

/// One core that can never go on.
struct StuckCore {
    std::uint32_t core = 0;
    std::uint64_t round = 0;
    std::uint64_t position = 0;   // in the unrolled list
    std::size_t row = 0;          // of the program's instructions
    Opcode op = Opcode::Nop;
    std::string waits_for;
};

struct SimulationResult {
    std::vector<CoreResult> cores;
    std::vector<RetiredInstruction> trace;   // by core, in retirement order
    std::vector<StuckCore> stuck;            // empty unless the program deadlocked
    Picoseconds end = 0;                     // instant of the last event
    std::uint64_t events = 0;
    Picoseconds memory_busy = 0;
};

/// Run `program` on `target` event by event: written straight from docs/pim-timing.md. `values`, where given, computes the
/// data alongside (reorder buffer of one only). The program must have passed check_program().
/// Throws Failure where values are impossible (addresses outside local memory, sizes of a send and its receive that differ).
[[nodiscard]] SimulationResult simulate(const Program& program, const Target& target, const SimulationOptions& options, ValueMachine* values);

/// Interval between rounds in steady state: over the second half of the rounds asked for (or run until the limit), the largest
/// of all cores; 0 below 2 rounds.
[[nodiscard]] Picoseconds steady_interval(const SimulationResult& result, const SimulationOptions& options);
/// Largest instant at which a core has finished its first round.
[[nodiscard]] Picoseconds first_round_latency(const SimulationResult& result);

}  // namespace weft
