// Single rules of the timing, each with the figures that docs/pim-timing.md gives for the simulator's example chip.
#include <doctest/doctest.h>

#include "program_maker.h"

using namespace weft;
using namespace weft::test;

namespace {

/// Retired minus pushed of the trace's last row, in ns.
Picoseconds last_duration(const ProgramMaker& maker, const TargetColumns& chip) {
    const auto trace = run_once(maker, chip).trace;
    return (trace.back().retired - trace.back().pushed) / 1000;
}

ProgramMaker one_instruction(const Instruction& instruction) {
    ProgramMaker maker;
    maker.columns.groups.push_back({1, 0, 0, 0, 0});
    maker.core({setbw(), instruction});
    return maker;
}

}  // namespace

TEST_CASE("an instruction with nobody in its way starts three periods after its number") {
    ProgramMaker maker;
    maker.core({setbw(), sldi(1, 0), make(Opcode::Lldi, 1, 0, 0, 0, 64)});
    const auto trace = run_once(maker, example_chip(1)).trace;
    REQUIRE(trace.size() == 1);
    CHECK(trace[0].pushed == (2 + 3) * 1000);
}

TEST_CASE("durations on the example chip") {
    const TargetColumns chip = example_chip(2);
    CHECK(last_duration(one_instruction(make(Opcode::Vvadd, 1, 2, 3, 0, 64)), chip) == 20);
    CHECK(last_duration(one_instruction(make(Opcode::Mvmul, 1, 2, 0, 8, 0)), chip) == 5188);
    CHECK(last_duration(one_instruction(make(Opcode::Lldi, 1, 0, 0, 0, 64)), chip) == 3);     // one period: an edge late
    CHECK(last_duration(one_instruction(make(Opcode::Lmv, 1, 2, 0, 0, 0)), chip) == 2);       // nothing to do: visible at the next edge
    CHECK(last_duration(one_instruction(make(Opcode::Ld, 1, 2, 0, 0, 64)), chip) == 22);
    CHECK(last_duration(one_instruction(make(Opcode::St, 2, 1, 0, 0, 1024)), chip) == 2002);
    CHECK(last_duration(one_instruction(sync(0, 3)), chip) == 3);
    CHECK(last_duration(one_instruction(wait(3, 0)), chip) == 2);
    // vvdmul writes all its length though it has one result; vrelu reads one operand.
    CHECK(last_duration(one_instruction(make(Opcode::Vvdmul, 1, 2, 3, 0, 256)), chip) == 4 + 4 + 64 + 4 + 1);
    CHECK(last_duration(one_instruction(make(Opcode::Vrelu, 1, 2, 0, 0, 256)), chip) == 4 + 64 + 4 + 1);
}

TEST_CASE("without setbw memory traffic is free") {
    ProgramMaker maker;
    maker.core({make(Opcode::Vvadd, 1, 2, 3, 0, 64)});
    CHECK(last_duration(maker, example_chip(1)) == 16 + 1);
}

TEST_CASE("scalars take one period each, none of it hidden") {
    const auto duration = [](int scalars) {
        ProgramMaker maker;
        std::vector<Instruction> list{setbw(), make(Opcode::Lldi, 1, 0, 0, 0, 256)};
        for (int at = 0; at < scalars; ++at) list.push_back(sldi(2, at));
        list.push_back(make(Opcode::Lldi, 1, 0, 0, 0, 256));
        maker.core(list);
        return first_round_latency(run_once(maker, example_chip(1)));
    };
    CHECK(duration(5) - duration(0) == 5000);
}

TEST_CASE("registers of a repeated run step, and only there") {
    ProgramMaker maker;
    maker.run({setbw()});
    maker.run({sldi(1, 100, 7), make(Opcode::Lldi, 1, 0, 0, 0, 64)}, 3);
    maker.close_core();
    CHECK(run_once(maker, example_chip(1)).cores[0].instructions == 7);
}

TEST_CASE("a message: sender and receiver both at time t, nothing queued") {
    ProgramMaker maker;
    maker.core({setbw(), send(1, 128)});
    maker.core({setbw(), recv(0, 128)});
    const auto trace = run_once(maker, example_chip(2)).trace;
    REQUIRE(trace.size() == 2);
    // 2 L + read, and 2 L + read + flits * L + write, each + 1 to retire; nothing lasts exactly one period.
    CHECK(trace[0].retired - trace[0].pushed == (2 * 4 + 2 + 1) * 1000);
    CHECK(trace[1].retired - trace[1].pushed == (2 * 4 + 2 + 16 * 4 + 2 + 1) * 1000);
}

TEST_CASE("what a core sends queues behind its own data") {
    ProgramMaker maker;
    maker.core({setbw(), send(1, 1024), make(Opcode::Ld, 1, 2, 0, 0, 64)});
    maker.core({setbw(), recv(0, 1024)});
    const auto trace = run_once(maker, example_chip(2)).trace;
    REQUIRE(trace.size() == 3);
    const Picoseconds pushed_data = trace[0].retired - 1000;
    const Picoseconds request = pushed_data + 128 * 4000;                // the switch is busy until then
    CHECK(trace[1].retired == request + (15 + 4 + 1) * 1000 + 2000);     // final write of one period: an edge late
}

TEST_CASE("requests that reach the global memory together are served by core number, or the other way round") {
    ProgramMaker maker;
    for (int core = 0; core < 3; ++core) maker.core({setbw(), make(Opcode::Ld, 1, 2, 0, 0, 1600)});
    const auto forward = run_once(maker, example_chip(3), Ties::forward);
    const auto reverse = run_once(maker, example_chip(3), Ties::reverse);
    for (int core = 0; core < 3; ++core) {
        const auto at = static_cast<std::size_t>(core);
        CHECK(forward.cores[at].round_ends[0] - forward.cores[0].round_ends[0] == core * 100'000);
        CHECK(reverse.cores[2 - at].round_ends[0] == forward.cores[at].round_ends[0]);
    }
}

TEST_CASE("tokens count and accumulate") {
    ProgramMaker maker;
    maker.core({setbw(), sync(1, 5), sync(1, 5), sync(1, 5), make(Opcode::Lldi, 1, 0, 0, 0, 64)});
    maker.core({setbw(), make(Opcode::Lldi, 1, 0, 0, 0, 4096), wait(5, 2), wait(5, 1)});
    const auto result = run_once(maker, example_chip(2));
    CHECK(result.stuck.empty());
    const auto& trace = result.trace;
    CHECK(trace[5].retired - trace[5].pushed == 2000);   // both waits find their tokens there
    CHECK(trace[6].retired - trace[6].pushed == 2000);
}

TEST_CASE("a core of a larger reorder buffer overlaps what does not conflict") {
    TargetColumns chip = example_chip(1);
    ProgramMaker maker;
    maker.columns.groups = {{1, 0, 0, 0, 0}, {1, 0, 0, 0, 0}};
    maker.core({setbw(), sldi(1, 0), sldi(2, 4096), sldi(3, 8192), make(Opcode::Mvmul, 2, 1, 0, 8, 0), make(Opcode::Mvmul, 3, 1, 0, 8, 1)});
    const Picoseconds serial = first_round_latency(run_once(maker, chip));
    chip.core.rob_entries = 4;
    const Picoseconds overlapped = first_round_latency(run_once(maker, chip));
    CHECK(serial > 10'000'000);
    CHECK(overlapped < 5'300'000);
    // One group: the second waits for the first.
    maker.columns.instructions.back().length = 0;
    CHECK(first_round_latency(run_once(maker, chip)) > 10'000'000);
}

TEST_CASE("the same program gives the same result every time") {
    ProgramMaker maker;
    for (int core = 0; core < 4; ++core) maker.core({setbw(), make(Opcode::Ld, 1, 2, 0, 0, 64), send((core + 1) % 4, 64), recv((core + 3) % 4, 64)});
    maker.columns.instructions[2] = recv(3, 64);   // core 0 receives first, so the ring can turn
    maker.columns.instructions[3] = send(1, 64);
    const auto first = run_once(maker, example_chip(4));
    const auto second = run_once(maker, example_chip(4));
    CHECK(first.stuck.empty());
    REQUIRE(first.trace.size() == second.trace.size());
    for (std::size_t at = 0; at < first.trace.size(); ++at) CHECK(first.trace[at].retired == second.trace[at].retired);
    CHECK(first.events == second.events);
}

TEST_CASE("cores that are ahead keep looping until all have finished their rounds") {
    ProgramMaker maker;
    maker.core({setbw(), make(Opcode::Ld, 1, 2, 0, 0, 64)});
    maker.core({setbw(), make(Opcode::Ld, 1, 2, 0, 0, 64), make(Opcode::Lldi, 1, 0, 0, 0, 6400)});
    SimulationOptions options;
    options.rounds = 6;
    const auto exact = simulate(maker.program(), view(example_chip(2)), options, nullptr);
    CHECK(exact.cores[0].round_ends.size() == 6);
    CHECK(exact.cores[1].round_ends.size() == 6);
    options.keep_looping = true;
    const auto looping = simulate(maker.program(), view(example_chip(2)), options, nullptr);
    CHECK(looping.stuck.empty());
    CHECK(looping.cores[0].round_ends.size() > 20);
    CHECK(looping.cores[1].round_ends.size() == 6);
}
