// Steady states: exact periods against long runs, loops against their written-out form, and cycles that fool two windows.
#include <doctest/doctest.h>

#include "analyse/analyse.h"
#include "pim/random_program.h"

using namespace weft;
using namespace weft::test;

namespace {

TestProgram written_out(const TestProgram& program) {
    TestProgram result(program.size());
    for (std::size_t core = 0; core < program.size(); ++core) {
        for (const TestRun& run : program[core]) {
            for (std::uint32_t trip = 0; trip < run.trip_count; ++trip) result[core].push_back({run.body, 1});
        }
    }
    return result;
}

QueueProgram collapsed(const TestProgram& program, const TargetColumns& target) {
    const ProgramColumns columns = columns_of(program);
    return collapse(view(columns), PimCosts(view(target)), "test");
}

/// `rate` small rounds of the consumer for one of the producer, which waits for all of them.
TestProgram rate_pair(std::int32_t rate) {
    TestProgram program(2);
    program[0].push_back({{setbw()}, 1});
    program[0].push_back({{sync(1, 0)}, static_cast<std::uint32_t>(rate)});
    program[0].push_back({{sized(Opcode::Vvadd, 4096), wait(1, rate), sized(Opcode::Vvadd, 16)}, 1});
    program[1].push_back({{setbw(), wait(0, 1), sized(Opcode::Vvadd, 512), sync(0, 1), sized(Opcode::Vvadd, 16)}, 1});
    return program;
}

}  // namespace

TEST_CASE("loops take as long as their written-out form") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed);
        const std::uint32_t cores = 1 + random.below(9);
        const TestProgram program = random.make(cores, 5 + random.below(50));
        const TargetColumns target = random.target(cores);
        const QueueProgram looped = collapsed(program, target);
        const QueueProgram flat = collapsed(written_out(program), target);
        REQUIRE(round_ends(looped, TieOrder::Forward, 5) == round_ends(flat, TieOrder::Forward, 5));
        for (std::size_t core = 0; core < cores; ++core) {
            REQUIRE(looped.accounts[core].local == flat.accounts[core].local);
            REQUIRE(looped.accounts[core].communication == flat.accounts[core].communication);
            REQUIRE(looped.accounts[core].instructions == flat.accounts[core].instructions);
        }
    }
}

TEST_CASE("an exact period is the one that a long run settles into") {
    unsigned exact = 0;
    for (std::uint64_t seed = 1000; seed < 1150; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed);
        const std::uint32_t cores = 1 + random.below(8);
        const QueueProgram program = collapsed(random.make(cores, 5 + random.below(40)), random.target(cores));
        for (const TieOrder ties : {TieOrder::Forward, TieOrder::Reverse}) {
            const SteadyState state = find_steady_state(program, ties, {64, 20'000, 10'000'000});
            REQUIRE(state.availability == Availability::Available);
            const auto ends = round_ends(program, ties, 600);
            // Cores that repeat faster stop earlier, and what follows lacks their requests.
            Picoseconds all_run = ends[state.slowest_core].back();
            for (const auto& core : ends) all_run = std::min(all_run, core.back());
            const auto& slow = ends[state.slowest_core];
            const auto late = static_cast<std::size_t>(std::upper_bound(slow.begin(), slow.end(), all_run) - slow.begin());
            if (!state.exact || late < state.rounds + 100) continue;
            ++exact;
            REQUIRE(slow[late - 1] - slow[late - 1 - state.rounds] == state.span);
        }
    }
    CHECK(exact > 150);
}

TEST_CASE("cycles longer than two windows are not mistaken for a steady state") {
    for (const std::int32_t rate : {2, 3, 5, 7, 11}) {
        CAPTURE(rate);
        const TestProgram program = rate_pair(rate);
        const TargetColumns target = example_target(2);
        const QueueProgram queue = collapsed(program, target);
        const SteadyState state = find_steady_state(queue, TieOrder::Forward, {});
        REQUIRE(state.exact);
        REQUIRE(state.availability == Availability::Available);
        CHECK(state.slowest_core == 0);
        CHECK(state.rounds == 1);
        const ProgramColumns columns = columns_of(program);
        const Analysis analysis = analyse(view(columns), view(target), {}, {}, "rates");
        CHECK(analysis.timing.availability == Availability::Available);
        CHECK(analysis.timing.latency_ns == 0);
        CHECK_FALSE(analysis.notes.empty());
    }
}
