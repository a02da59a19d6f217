// pipeline_timing PROGRAM TARGET [ROUNDS]: weft-analyse and weft-simulate on one lowered program. Every round of every core must end at
// the same picosecond, under both orders of simultaneous requests, and the certified recurrence must not pass the interval. Status 1 otherwise.
#include <cstdlib>
#include <exception>

#include "analyse/analyse.h"
#include "artifact/artifact.h"
#include "simulate/simulate.h"

namespace {

using namespace weft;

bool equal_rounds(const Program& program, const Target& target, const QueueProgram& queue, TieOrder ties, std::uint32_t rounds) {
    const auto ends = round_ends(queue, ties, rounds);
    SimulationOptions options;
    options.rounds = rounds;
    options.ties = ties == TieOrder::Forward ? Ties::forward : Ties::reverse;
    const SimulationResult result = simulate(program, target, options, nullptr);
    for (std::size_t core = 0; core < ends.size(); ++core) {
        for (std::size_t round = 0; round < ends[core].size(); ++round) {
            // A pass ends when its last instruction retires; what would follow starts one clock later.
            const Picoseconds analysed = ends[core][round] - queue.period;
            const Picoseconds simulated = round < result.cores[core].round_ends.size() ? result.cores[core].round_ends[round] : -1;
            if (analysed == simulated) continue;
            fmt::print("core {} round {}: analyse says {} ps, simulate {} ps\n", core, round, analysed, simulated);
            return false;
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        fmt::print(stderr, "pipeline_timing PROGRAM TARGET [ROUNDS]\n");
        return 2;
    }
    try {
        const Artifact<Program> program(argv[1]);
        const Artifact<Target> target(argv[2]);
        const auto rounds = static_cast<std::uint32_t>(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 4);
        const Analysis analysis = analyse(*program, *target, program.hash(), {}, argv[1]);
        if (analysis.timing.availability == Availability::EmptyProgram) return 0;   // all of it is left to the host
        if (analysis.timing.availability != Availability::Available) {
            fmt::print("no timing: {}\n", analysis.timing.reason);
            return 1;
        }
        for (const TieOrder ties : {TieOrder::Forward, TieOrder::Reverse}) {
            if (!equal_rounds(*program, *target, analysis.queue, ties, rounds)) return 1;
        }
        const Recurrence& recurrence = analysis.recurrence;
        if (!recurrence.unavailable.empty() || (recurrence.sound && recurrence.interval_ns() > analysis.interval_ns * (1 + 1e-9))) {
            fmt::print("recurrence {} ns {} against an interval of {} ns\n", recurrence.interval_ns(), recurrence.unavailable, analysis.interval_ns);
            return 1;
        }
        fmt::print("analyse equals simulate over {} rounds; interval {} ns, recurrence {:.1f} % of it\n", rounds, analysis.timing.interval_ns,
                   100 * recurrence.interval_ns() / analysis.interval_ns);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "pipeline_timing: error: {}\n", error.what());
        return 1;
    }
}
