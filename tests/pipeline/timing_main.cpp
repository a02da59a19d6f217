// pipeline_timing PROGRAM TARGET: weft-analyse and weft-simulate on one lowered program. Every round of every core must end at
// the same picosecond, under both orders of simultaneous requests, and the certified recurrence must not pass the interval.
//
// pipeline_timing --ranking TARGET PROGRAM...: candidates of one network. Of every two whose simulated intervals differ by more than twice the
// selection's margin, the predicted order must be right, and the selected one may not be slower than the first when both are simulated.
// Status 1 otherwise.
#include <algorithm>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "analyse/analyse.h"
#include "artifact/artifact.h"
#include "select/select.h"
#include "simulate/simulate.h"

namespace {

using namespace weft;

constexpr std::uint32_t rounds = 4;
constexpr std::uint64_t ranking_rounds = 60;
constexpr double clearly_apart = 1.042;

bool equal_rounds(const Program& program, const Target& target, const QueueProgram& queue, TieOrder ties) {
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

int check_one(const char* program_file, const Target& target) {
    const Artifact<Program> program(program_file);
    const Analysis analysis = analyse(*program, target, program.hash(), {}, program_file);
    if (analysis.timing.availability == Availability::EmptyProgram) return 0;   // all of it is left to the host
    if (analysis.timing.availability != Availability::Available) {
        fmt::print("no timing: {}\n", analysis.timing.reason);
        return 1;
    }
    for (const TieOrder ties : {TieOrder::Forward, TieOrder::Reverse}) {
        if (!equal_rounds(*program, target, analysis.queue, ties)) return 1;
    }
    const Recurrence& recurrence = analysis.recurrence;
    if (!recurrence.unavailable.empty() || (recurrence.sound && recurrence.interval_ns() > analysis.interval_ns * (1 + 1e-9))) {
        fmt::print("recurrence {} ns {} against an interval of {} ns\n", recurrence.interval_ns(), recurrence.unavailable, analysis.interval_ns);
        return 1;
    }
    fmt::print("analyse equals simulate over {} rounds; interval {} ns, recurrence {:.1f} % of it\n", rounds, analysis.timing.interval_ns,
               100 * recurrence.interval_ns() / analysis.interval_ns);
    return 0;
}

int check_ranking(const Target& target, std::span<char*> files) {
    std::vector<TimingColumns> analysed;
    std::vector<double> simulated;
    for (const char* file : files) {
        const Artifact<Program> program(file);
        analysed.push_back(analyse(*program, target, program.hash(), {}, file).timing);
        if (analysed.back().availability == Availability::EmptyProgram) return 0;
        SimulationOptions options;
        options.rounds = ranking_rounds;
        options.keep_looping = true;
        const SimulationResult result = simulate(*program, target, options, nullptr);
        simulated.push_back(static_cast<double>(steady_interval(result, options)) / std::max(1U, program->inferences_per_round));
    }
    const auto predicted = [&](std::size_t row) { return static_cast<double>(analysed[row].interval_ns) / analysed[row].inferences_per_round; };
    for (std::size_t a = 0; a < simulated.size(); ++a) {
        for (std::size_t b = 0; b < simulated.size(); ++b) {
            if (simulated[b] <= clearly_apart * simulated[a] || predicted(a) < predicted(b)) continue;
            fmt::print("ranking: {} is simulated at {} and {} at {} ps, but predicted at {} and {} ns\n", files[a], simulated[a], files[b], simulated[b], predicted(a), predicted(b));
            return 1;
        }
    }
    std::vector<Timing> timings;
    for (const TimingColumns& one : analysed) timings.push_back(view(one));
    const SelectionColumns selection = select_candidate(timings);
    if (simulated[selection.chosen] > simulated[0]) {
        fmt::print("ranking: candidate {} was selected at {} ps, but the original is simulated at {} ps\n", selection.chosen, simulated[selection.chosen], simulated[0]);
        return 1;
    }
    fmt::print("  ranking of {} candidates as simulated; {} selected, {:.3f} of the original's interval\n", simulated.size(), selection.chosen,
               simulated[selection.chosen] / simulated[0]);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    const bool ranking = argc > 1 && std::string_view(argv[1]) == "--ranking";
    if (argc < 3 || (ranking && argc < 4)) {
        fmt::print(stderr, "pipeline_timing PROGRAM TARGET\npipeline_timing --ranking TARGET PROGRAM...\n");
        return 2;
    }
    try {
        const Artifact<Target> target(argv[2]);
        return ranking ? check_ranking(*target, arguments.subspan(3)) : check_one(argv[1], *target);
    } catch (const std::exception& error) {
        fmt::print(stderr, "pipeline_timing: error: {}\n", error.what());
        return 1;
    }
}
