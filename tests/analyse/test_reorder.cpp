// Reorder buffers above one: the static model against weft-simulate, round by round.
#include <doctest/doctest.h>

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
