#include <doctest/doctest.h>

#include "program_maker.h"
#include "simulate/outcome.h"

using namespace weft;
using namespace weft::test;

namespace {

std::vector<std::uint32_t> stuck_cores(const SimulationResult& result) {
    std::vector<std::uint32_t> cores;
    for (const auto& core : result.stuck) cores.push_back(core.core);
    return cores;
}

}  // namespace

TEST_CASE("two cores that both send first") {
    ProgramMaker maker;
    maker.core({setbw(), send(1, 64), recv(1, 64)});
    maker.core({setbw(), sldi(1, 5), send(0, 64), recv(0, 64)});
    maker.core({setbw(), make(Opcode::Lldi, 1, 0, 0, 0, 64)});   // not part of it
    const auto result = run_once(maker, example_chip(3));
    CHECK(stuck_cores(result) == std::vector<std::uint32_t>{0, 1});
    CHECK(result.stuck[0].op == Opcode::Send);
    CHECK(result.stuck[0].position == 1);
    CHECK(result.stuck[1].position == 2);
    CHECK(result.stuck[0].waits_for.find("core 1 to receive") != std::string::npos);
    const std::string text = deadlock_text(result);
    CHECK(text.find("core 1: round 0, instruction 2 (send) waits for core 0 to receive 64 bytes") != std::string::npos);
}

TEST_CASE("both receive first; a receive without a send; a send to oneself") {
    ProgramMaker both;
    both.core({setbw(), recv(1, 64), send(1, 64)});
    both.core({setbw(), recv(0, 64), send(0, 64)});
    CHECK(stuck_cores(run_once(both, example_chip(2))) == std::vector<std::uint32_t>{0, 1});

    ProgramMaker alone;
    alone.core({setbw(), make(Opcode::Lldi, 1, 0, 0, 0, 64)});
    alone.core({setbw(), recv(0, 64)});
    const auto missing = run_once(alone, example_chip(2));
    CHECK(stuck_cores(missing) == std::vector<std::uint32_t>{1});
    CHECK(missing.stuck[0].waits_for.find("core 0 to send") != std::string::npos);

    ProgramMaker self;
    self.core({setbw(), send(0, 64), recv(0, 64)});
    CHECK(stuck_cores(run_once(self, example_chip(1))) == std::vector<std::uint32_t>{0});
}

TEST_CASE("a send to a core without a program") {
    ProgramMaker maker;
    maker.core({setbw(), send(1, 64)});
    maker.core({});
    CHECK(stuck_cores(run_once(maker, example_chip(2))) == std::vector<std::uint32_t>{0});
}

TEST_CASE("a wait for more tokens than come") {
    ProgramMaker maker;
    maker.core({setbw(), sync(1, 4), make(Opcode::Lldi, 1, 0, 0, 0, 64)});
    maker.core({setbw(), wait(4, 2)});
    const auto result = run_once(maker, example_chip(2));
    CHECK(stuck_cores(result) == std::vector<std::uint32_t>{1});
    CHECK(result.stuck[0].waits_for == "event register 4 to reach 2 (it is 1)");
}

TEST_CASE("a program that runs dry in a later round") {
    // Core 1 needs two messages a round, core 0 sends one: the first round of core 1 never ends.
    ProgramMaker maker;
    maker.core({setbw(), sync(1, 0), make(Opcode::Lldi, 1, 0, 0, 0, 64)});
    maker.core({setbw(), wait(0, 2), send(0, 8)});
    maker.columns.instructions[2] = make(Opcode::Lldi, 1, 0, 0, 0, 64);
    SimulationOptions options;
    options.rounds = 3;
    const auto result = simulate(maker.program(), view(example_chip(2)), options, nullptr);
    CHECK(stuck_cores(result) == std::vector<std::uint32_t>{1});
    // Three tokens: the first round's wait takes two, then core 0 never receives what core 1 sends.
    CHECK(result.stuck[0].round == 0);
    CHECK(result.stuck[0].op == Opcode::Send);
}

TEST_CASE("cores that loop for ever do not hide a deadlock of others") {
    ProgramMaker maker;
    maker.core({setbw(), recv(1, 64)});
    maker.core({setbw(), recv(0, 64)});
    maker.core({setbw(), make(Opcode::Ld, 1, 2, 0, 0, 64)});
    SimulationOptions options;
    options.rounds = 5;
    options.keep_looping = true;
    CHECK(stuck_cores(simulate(maker.program(), view(example_chip(3)), options, nullptr)) == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("the end of the simulated time is no deadlock") {
    ProgramMaker maker;
    maker.core({setbw(), send(1, 64), make(Opcode::Lldi, 1, 0, 0, 0, 64000)});
    maker.core({setbw(), recv(0, 64)});
    SimulationOptions options;
    options.rounds = 0;
    for (const Picoseconds limit : {3'000, 20'000, 500'000, 5'000'000, 5'000'500}) {
        CAPTURE(limit);
        options.limit = limit;
        CHECK(simulate(maker.program(), view(example_chip(2)), options, nullptr).stuck.empty());
    }
}
