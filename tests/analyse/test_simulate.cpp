// weft-analyse and weft-simulate share no timing code; they must agree to the picosecond, ties forced either way, and on who
// blocks whom.
#include <doctest/doctest.h>

#include "analyse/events.h"
#include "analyse/queue.h"
#include "pim/liveness.h"
#include "pim/random_program.h"
#include "simulate/simulate.h"

using namespace weft;
using namespace weft::test;

namespace {

SimulationResult simulated(const ProgramColumns& program, const TargetColumns& target, std::uint64_t rounds, Ties ties) {
    SimulationOptions options;
    options.rounds = rounds;
    options.ties = ties;
    return simulate(view(program), view(target), options, nullptr);
}

void check_equal_rounds(const ProgramColumns& program, const TargetColumns& target, std::uint32_t rounds) {
    const QueueProgram queue = collapse(view(program), PimCosts(view(target)), "test");
    REQUIRE(queue.availability == Availability::Available);
    for (const TieOrder ties : {TieOrder::Forward, TieOrder::Reverse}) {
        const auto ends = round_ends(queue, ties, rounds);
        const SimulationResult result = simulated(program, target, rounds, ties == TieOrder::Forward ? Ties::forward : Ties::reverse);
        REQUIRE(result.stuck.empty());
        REQUIRE(result.cores.size() == ends.size());
        for (std::size_t core = 0; core < ends.size(); ++core) {
            CAPTURE(core);
            REQUIRE(result.cores[core].round_ends.size() == ends[core].size());
            // A pass ends when its last instruction retires; what would follow starts one clock later.
            for (std::size_t round = 0; round < ends[core].size(); ++round) REQUIRE(result.cores[core].round_ends[round] == ends[core][round] - queue.period);
        }
    }
}

}  // namespace

TEST_CASE("ten thousand random legal programs: every round of every core ends at the same picosecond") {
    for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed ^ 0xa11ceULL);
        const std::uint32_t cores = 1 + random.below(seed % 50 == 0 ? 64 : 16);
        const ProgramColumns program = columns_of(random.make(cores, 5 + random.below(cores * 8)));
        check_equal_rounds(program, random.target(cores), 1 + random.below(6));
    }
}

TEST_CASE("mutants: simulate stops at the cores that the checker names") {
    unsigned blocked = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed ^ 0xbadULL);
        const std::uint32_t cores = 2 + random.below(7);
        TestProgram mutant = random.make(cores, 4 + random.below(40));
        if (!mutate(mutant, random)) continue;
        const ProgramColumns program = columns_of(mutant);
        const TargetColumns target = example_target(cores);
        const unsigned generations = 1 + random.below(3);
        const LivenessReport report = check_liveness(view(program), view(target), generations);
        const SimulationResult result = simulated(program, target, generations, Ties::forward);
        REQUIRE(result.stuck.size() == report.blocked.size());
        for (std::size_t row = 0; row < result.stuck.size(); ++row) {
            REQUIRE(result.stuck[row].core == report.blocked[row].core.value);
            REQUIRE(result.stuck[row].op == report.blocked[row].op);
            REQUIRE(result.stuck[row].row == report.blocked[row].instruction);
            REQUIRE(result.stuck[row].round == report.blocked[row].generation);
            REQUIRE(result.stuck[row].position == report.blocked[row].position);
        }
        blocked += report.live ? 0 : 1;
        if (report.live) check_equal_rounds(program, target, generations);
    }
    CHECK(blocked > 500);
}
