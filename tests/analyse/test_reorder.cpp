// Reorder buffers above one: the static model against weft-simulate, round by round.
#include <doctest/doctest.h>

#include "analyse/analyse.h"
#include "analyse/reorder.h"
#include "pim/random_program.h"
#include "simulate/simulate.h"

using namespace weft;
using namespace weft::test;

namespace {

/// More array groups, and registers that change: hazards of all kinds between neighbouring instructions.
TestProgram with_addresses(TestProgram program, RandomProgram& random) {
    for (auto& core : program) {
        for (TestRun& run : core) {
            std::vector<Instruction> body;
            for (Instruction one : run.body) {
                if (one.op > static_cast<std::uint8_t>(Opcode::Setbw)) {
                    one.rd = static_cast<std::uint8_t>(2 + 2 * random.below(3));
                    one.rs1 = static_cast<std::uint8_t>(2 + 2 * random.below(3));
                    if (static_cast<Opcode>(one.op) == Opcode::Mvmul) one.length = static_cast<std::int32_t>(random.below(3));
                    if (static_cast<Opcode>(one.op) == Opcode::Lmv) one.immediate = static_cast<std::int32_t>(random.below(100));
                    if (random.below(3) == 0) {
                        Instruction address = sldi(static_cast<std::uint8_t>(2 + 2 * random.below(3)), static_cast<std::int32_t>(random.below(3000)));
                        address.step = static_cast<std::int32_t>(random.below(200));
                        body.push_back(address);
                    }
                    if (random.below(6) == 0) body.push_back(mvmul(static_cast<std::int32_t>(random.below(3))));
                }
                body.push_back(one);
            }
            run.body = body;
        }
    }
    return program;
}

ProgramColumns with_groups(const TestProgram& program) {
    ProgramColumns columns = columns_of(program);
    columns.groups.clear();
    columns.core_first_group.assign(1, 0);
    for (std::size_t core = 0; core < program.size(); ++core) {
        for (std::uint32_t group = 0; group < 3; ++group) columns.groups.push_back({1 + group, 128, 128, 0, 0});
        columns.core_first_group.push_back(static_cast<std::uint32_t>(columns.groups.size()));
    }
    return columns;
}

}  // namespace

TEST_CASE("random programs on chips with reorder buffers of 1 to 16") {
    unsigned overlapped = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed ^ 0x0b0eULL);
        const std::uint32_t cores = 1 + random.below(8);
        const TestProgram made = with_addresses(random.make(cores, 5 + random.below(cores * 8)), random);
        TargetColumns target = seed % 2 == 0 ? example_target(cores) : random.target(cores);
        const std::uint32_t entries[] = {1, 2, 3, 4, 8, 16};
        target.core.rob_entries = entries[random.below(6)];
        const ProgramColumns program = with_groups(made);
        const std::uint64_t rounds = 1 + random.below(4);
        for (const TieOrder ties : {TieOrder::Forward, TieOrder::Reverse}) {
            SimulationOptions options;
            options.rounds = rounds;
            options.ties = ties == TieOrder::Forward ? Ties::forward : Ties::reverse;
            const SimulationResult simulated = simulate(view(program), view(target), options, nullptr);
            REQUIRE(simulated.stuck.empty());
            const ReorderRun run = run_reordered(view(program), view(target), ties, rounds);
            for (std::uint32_t core = 0; core < cores; ++core) {
                CAPTURE(core);
                REQUIRE(run.round_ends[core] == simulated.cores[core].round_ends);
            }
        }
        const ReorderRun without = run_reordered(view(program), view(target), TieOrder::Forward, rounds, false);
        overlapped += without.round_ends != run_reordered(view(program), view(target), TieOrder::Forward, rounds).round_ends ? 1 : 0;
    }
    CHECK(overlapped > 300);   // the hazards decided something
}

TEST_CASE("waits of transfers are those of the queue model where the buffer has one entry") {
    unsigned compared = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed ^ 0x77a1ULL);
        const std::uint32_t cores = 2 + random.below(8);
        const ProgramColumns program = with_groups(random.make(cores, 5 + random.below(cores * 8)));
        const TargetColumns target = seed % 2 == 0 ? example_target(cores) : random.target(cores);
        const QueueProgram queue = collapse(view(program), PimCosts(view(target)), "program");
        const Accounting expected = account_waits(queue, TieOrder::Forward, 3, 5);
        const Accounting found = account_reordered(view(program), view(target), TieOrder::Forward, 3, 5);
        for (std::uint32_t core = 0; core < cores; ++core) {
            CAPTURE(core);
            const CoreWaits& one = expected.cores[core];
            const CoreWaits& other = found.cores[core];
            if (one.rounds == 0) continue;
            // The queue model goes on until all cores are done; here a core that ends early leaves the others to themselves.
            if (one.round != other.round || one.memory != other.memory) continue;
            CHECK(one.own_queue == other.own_queue);
            CHECK(one.partner == other.partner);
            CHECK(one.tokens == other.tokens);
            CHECK(one.memory == other.memory);
            REQUIRE(one.peers.size() == other.peers.size());
            for (std::size_t peer = 0; peer < one.peers.size(); ++peer) CHECK(one.peers[peer].core == other.peers[peer].core);
            compared += one.partner + one.tokens + one.memory > 0 ? 1 : 0;
        }
    }
    CHECK(compared > 300);
}

TEST_CASE("bounds of cores that overlap hold, and sometimes bind") {
    unsigned tight = 0;
    unsigned with_cycle = 0;
    unsigned unsettled = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed ^ 0xb0dULL);
        const std::uint32_t cores = 1 + random.below(8);
        const ProgramColumns program = with_groups(with_addresses(random.make(cores, 5 + random.below(cores * 8)), random));
        TargetColumns target = seed % 2 == 0 ? example_target(cores) : random.target(cores);
        target.core.rob_entries = 2 + random.below(15);
        AnalyseOptions options;
        options.accounting = true;
        const Analysis analysis = analyse(view(program), view(target), {}, options, "program");
        if (analysis.timing.availability != Availability::Available) {
            ++unsettled;
            continue;
        }
        REQUIRE(analysis.overlapping);
        // The interval is the mean of an even number of rounds, whose ends may be off by one repetition of a longer period.
        const double interval = analysis.interval_ns * 1.02 + 1;
        CHECK(analysis.recurrence.interval_ns() <= interval);
        CHECK(static_cast<double>(analysis.unit.time) / 1000.0 <= interval);
        with_cycle += analysis.recurrence.numerator_ps > 0 ? 1 : 0;
        tight += std::max(analysis.recurrence.interval_ns(), static_cast<double>(analysis.unit.time) / 1000.0) > 0.9 * analysis.interval_ns ? 1 : 0;
    }
    CHECK(unsettled == 0);   // cores of very different rates among them
    CHECK(with_cycle > 150);
    CHECK(tight > 10);
}
