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

/// What the mean of two adjacent windows of two rounds says as soon as they agree within one percent; 0 where they never do.
double two_windows(const std::vector<Picoseconds>& ends) {
    for (std::size_t round = 4; round < ends.size(); ++round) {
        const Picoseconds late = ends[round] - ends[round - 2];
        const Picoseconds early = ends[round - 2] - ends[round - 4];
        if (std::abs(late - early) * 100 <= late) return static_cast<double>(late + early) / 4;
    }
    return 0;
}

/// Two cores that share the memory and nothing else: a long computation with one load, and a short loop of loads. Where their lengths
/// do not divide each other, the load meets another phase of the loop in every round, and all comes round only after many.
TestProgram beating_pair(std::int32_t work, std::int32_t service) {
    TestProgram program(2);
    program[0].push_back({{setbw(), sized(Opcode::Vvadd, work), sized(Opcode::Ld, 16)}, 1});
    program[1].push_back({{setbw(), sized(Opcode::Ld, service), sized(Opcode::Vvadd, 16)}, 1});
    return program;
}

TEST_CASE("a limit cycle that fools two windows does not fool the search") {
    unsigned fooled = 0;
    std::uint64_t longest = 0;
    for (std::int32_t work = 64; work <= 1024; work += 32) {
        for (const std::int32_t service : {1024, 1600, 2448}) {
            CAPTURE(work);
            CAPTURE(service);
            const TargetColumns target = example_target(2);
            const QueueProgram queue = collapsed(beating_pair(work, service), target);
            const SteadyState state = find_steady_state(queue, TieOrder::Forward, {});
            REQUIRE(state.exact);
            const auto ends = round_ends(queue, TieOrder::Forward, 3000);
            const auto& slow = ends[state.slowest_core];
            // Both go on for ever in truth; here the faster one stops, so look only as far as it ran.
            const Picoseconds all_run = std::min(ends[0].back(), ends[1].back());
            const auto last = static_cast<std::size_t>(std::upper_bound(slow.begin(), slow.end(), all_run) - slow.begin()) - 1;
            const std::size_t period = state.rounds;
            REQUIRE(last > 3 * period + 50);
            // The truth, over whole limit cycles of a long run.
            REQUIRE(slow[last] - slow[last - period] == state.span);
            REQUIRE(slow[last - period] - slow[last - 2 * period] == state.span);
            const double truth = static_cast<double>(state.span) / static_cast<double>(state.rounds);
            const double naive = two_windows(slow);
            fooled += naive != 0 && std::abs(naive - truth) > 0.01 * truth ? 1 : 0;
            longest = std::max(longest, state.rounds);
        }
    }
    CHECK(fooled > 0);
    CHECK(longest > 4);
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
