// Speed of the static analysis: instructions collapsed and events executed per second, on given programs or on a random one.
//
//   bench_analyse                                      # 168 cores, random, about 1.2 million instructions
//   bench_analyse CHIP.target PROGRAM...               # .prog, simulator folder or JSON
#include <sys/resource.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "analyse/analyse.h"
#include "analyse/events.h"
#include "analyse/queue.h"
#include "analyse/recurrence.h"
#include "base/failure.h"
#include "pim/liveness.h"
#include "pim/random_program.h"
#include "pim/reader.h"

namespace {

using namespace weft;

/// What pimsim-nn executes per second of processor time on whole networks: AlexNet of another compiler, 100 rounds of 1.02 million instructions in
/// mode 0, took 556 s (recorded on a busy two-core machine; scripts/bench-stages --simulator measures it anew).
constexpr double simulator_instructions_per_second = 184'000;

/// Processor time, so that a busy machine does not count.
double seconds_of(const auto& body) {
    const std::clock_t start = std::clock();
    body();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

void measure(const Program& program, const Target& target, const std::string& name, double reading) {
    const PimCosts costs(target);
    QueueProgram queue;
    const double collapsing = seconds_of([&] { queue = collapse(program, costs, name); });
    if (queue.availability != Availability::Available) refuse("{}: {}", name, queue.reason);
    LivenessReport liveness;
    const double checking = seconds_of([&] { liveness = check_liveness(program, target); });
    SteadyState state;
    const double executing = seconds_of([&] { state = find_steady_state(queue, TieOrder::Forward, {}); });
    SteadyState reverse;
    const double executing_reverse = state.ties ? seconds_of([&] { reverse = find_steady_state(queue, TieOrder::Reverse, {}); }) : 0;
    Recurrence recurrence;
    const double solving = seconds_of([&] { recurrence = recurrence_of(event_graph(queue)); });
    double latency_seconds = 0;
    Picoseconds latency = 0;
    latency_seconds = seconds_of([&] { latency = single_pass_latency(queue, TieOrder::Forward); });
    std::uint64_t instructions = 0;
    for (const CoreAccount& core : queue.accounts) instructions += core.instructions;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double interval_ns = static_cast<double>(state.span) / static_cast<double>(state.rounds) / 1000;
    fmt::print("{}\n", name);
    fmt::print("  read                {:9.3f} s\n", reading);
    fmt::print("  collapse            {:9.3f} s   {} instructions a round, {} rows, {} events\n", collapsing, instructions, program.instructions.size(),
               queue.events.size());
    fmt::print("  liveness            {:9.3f} s   {}\n", checking, liveness.live ? "live" : "blocked");
    fmt::print("  one tie order       {:9.3f} s   {} events, {:.1f} million a second; interval {:.1f} ns, {}\n", executing, state.events,
               static_cast<double>(state.events) / executing / 1e6, interval_ns, state.exact ? "exact" : "average");
    fmt::print("  other tie order     {:9.3f} s   {} events\n", executing_reverse, reverse.events);
    fmt::print("  recurrence          {:9.3f} s   {} nodes, {} edges, {} passes; {:.1f} ns\n", solving, recurrence.nodes, recurrence.edges, recurrence.sweeps,
               recurrence.interval_ns());
    fmt::print("  latency             {:9.3f} s   {} ps\n", latency_seconds, latency);
    const double all = reading + collapsing + checking + executing + executing_reverse + solving + 2 * latency_seconds;
    const double simulated = 1e9 / interval_ns * static_cast<double>(instructions) / simulator_instructions_per_second;
    fmt::print("  altogether          {:9.3f} s   one second of the chip takes the public simulator some {:.0f} s at its recorded rate: {:.0f} times as long\n", all, simulated,
               simulated / all);
    fmt::print("  peak memory         {:9.1f} MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

void measure_file(const std::string& file, const Target& target) {
    ProgramColumns columns;
    if (is_simulator_program(file)) {
        const double reading = seconds_of([&] { columns = read_simulator_program(file); });
        measure(view(columns), target, file, reading);
    } else {
        std::unique_ptr<Artifact<Program>> program;
        const double reading = seconds_of([&] { program = std::make_unique<Artifact<Program>>(file); });
        measure(**program, target, file, reading);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc > 2) {
            const Artifact<Target> target(argv[1]);
            for (int file = 2; file < argc; ++file) measure_file(argv[file], *target);
            return 0;
        }
        test::RandomProgram random(7);
        const ProgramColumns program = test::columns_of(random.make(168, 400'000));
        const TargetColumns target = random.target(168);
        measure(view(program), view(target), "random program", 0);
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_analyse: error: {}\n", error.what());
        return 1;
    }
}
