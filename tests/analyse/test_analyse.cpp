#include "analyse/analyse.h"

#include <doctest/doctest.h>

#include "analyse/report.h"
#include "analyse/table.h"
#include "pim/liveness.h"
#include "pim/random_program.h"

using namespace weft;
using namespace weft::test;

namespace {

Analysis analysis_of(const TestProgram& program, const TargetColumns& target) {
    const ProgramColumns columns = columns_of(program);
    const Analysis result = analyse(view(columns), view(target), {1, 2}, {}, "test");
    validate(view(result.timing), "test");
    return result;
}

Analysis analysis_of(const TestProgram& program) { return analysis_of(program, example_target(static_cast<std::uint32_t>(program.size()))); }

}  // namespace

TEST_CASE("one core: the interval is the sum of its instructions") {
    const Analysis analysis = analysis_of({{{{setbw(), mvmul(), sized(Opcode::Vvadd, 64)}, 1}, {{sized(Opcode::Lmv, 64), sldi(1, 0)}, 1000}, {{mvmul()}, 1}}});
    const std::uint64_t expected = 1 + 5189 + 21 + 1000 * (4 + 1) + 5189;
    CHECK(analysis.timing.interval_ns == expected);
    CHECK(analysis.timing.alternative_interval_ns == expected);
    CHECK(analysis.timing.latency_ns == 3 + expected - 1);
    CHECK(analysis.timing.work_bound_ns == expected);
    CHECK(analysis.timing.local_bound_ns == expected);
    CHECK(analysis.timing.cores[0].instructions == 3 + 2000 + 1);
    CHECK(analysis.timing.cores[0].wait_ns == 0);
    CHECK(analysis.timing.program_hash_low == 2);
    CHECK(analysis.exact);
}

TEST_CASE("a pair: own communication counts as work, waiting does not") {
    // 1000 bytes: 26 for the sender; 4 + 16 + 500 + 16 + 2 for the receiver, which finds the request waiting.
    const Analysis analysis = analysis_of({{{{setbw(), message(Opcode::Send, 1, 1000), sized(Opcode::Vvadd, 64)}, 1}},
                                           {{{setbw(), message(Opcode::Recv, 0, 1000), sized(Opcode::Vvadd, 64)}, 1}}});
    CHECK(analysis.timing.cores[0].communication_ns == 26);
    CHECK(analysis.timing.cores[1].communication_ns == 538);
    CHECK(analysis.timing.cores[0].local_ns == 22);
    CHECK(analysis.timing.cores[0].switch_ns == 4 + 1 + 500);
    CHECK(analysis.timing.cores[1].switch_ns == 4);
    CHECK(analysis.timing.cores[0].messages == 1);
    CHECK(analysis.timing.work_bound_ns == (22 + 26 + 22 + 538) / 2);
    CHECK(analysis.timing.local_bound_ns == 22);
    CHECK(analysis.timing.interval_ns == 560);
    CHECK(analysis.timing.cores[0].wait_ns == 560 - 48);
}

TEST_CASE("the memory serves one request at a time") {
    TestProgram program;
    for (int core = 0; core < 4; ++core) program.push_back({{{setbw(), sized(Opcode::Ld, 16384)}, 1}});
    const Analysis analysis = analysis_of(program);
    CHECK(analysis.timing.memory_bound_ns == 4 * 1024);
    CHECK(analysis.timing.interval_ns == 4 * 1024);
    CHECK(analysis.timing.maximum_request_wait_ns == 3 * 1024);
    CHECK(analysis.timing.cores[0].memory_wait_ns > 0);
}

TEST_CASE("bit widths: none before the first setbw, and those of the end at the next pass") {
    // Without setbw a vvadd moves no bytes: computation only.
    const TestProgram late = {{{{sized(Opcode::Vvadd, 64), setbw(), sized(Opcode::Lmv, 64)}, 1}}};
    const Analysis analysis = analysis_of(late);
    CHECK(analysis.timing.latency_ns == 3 + (16 + 2) + 1 + 4 - 1);
    CHECK(analysis.timing.interval_ns == 21 + 1 + 4);
    CHECK(analysis.notes.front().find("before its first setbw") != std::string::npos);
    // A loop whose first repetition sees other widths than the rest.
    const Analysis loop = analysis_of({{{{setbw(8, 8)}, 1}, {{sized(Opcode::Vvadd, 64), setbw(16, 16), sized(Opcode::Vvadd, 64)}, 3}}});
    const std::uint64_t narrow = 21;
    const std::uint64_t wide = 2 + 2 + 16 + 2 + 2;
    CHECK(loop.timing.interval_ns == 1 + narrow + 3 * (1 + wide) + 2 * wide);
}

TEST_CASE("what cannot be timed says why") {
    const auto availability = [](const TestProgram& program) { return analysis_of(program).timing.availability; };
    CHECK(availability({{}, {}}) == Availability::EmptyProgram);
    CHECK(availability({{{{row(Opcode::Nop), mvmul()}, 1}}}) == Availability::CrashesTarget);
    CHECK(availability({{{{setbw(), mvmul(1)}, 1}}}) == Availability::CrashesTarget);
    CHECK(availability({{{{setbw(), sized(Opcode::Vsoftmax, 8)}, 1}}}) == Availability::UnsupportedInstruction);
    CHECK(availability({{{{setbw(), sized(Opcode::Ld, -1)}, 1}}}) == Availability::UnsupportedInstruction);
    CHECK(availability({{{{sync(1, 0)}, 1}}, {}}) == Availability::CrashesTarget);
    CHECK(availability({{{{sync(0, 32)}, 1}}}) == Availability::CrashesTarget);
    CHECK(availability({{{{message(Opcode::Recv, 1, 8)}, 1}}, {}}) == Availability::Deadlock);
    CHECK(availability({{{{message(Opcode::Send, 1, 8)}, 1}}, {{{message(Opcode::Send, 0, 8)}, 1}}}) == Availability::Deadlock);
    Instruction huge = sized(Opcode::Vvadd, 2'000'000'000);
    CHECK(availability({{{{setbw(), huge}, 4'000'000'000U}}}) == Availability::Overflow);
    const Analysis deadlock = analysis_of({{{{message(Opcode::Send, 0, 8)}, 1}}});
    CHECK(deadlock.timing.reason.find("core 0") != std::string::npos);
    CHECK(table(deadlock, 0).find("deadlock") != std::string::npos);
}

TEST_CASE("a small file that names too much work is refused, not scanned") {
    ProgramColumns program = columns_of({{{std::vector<Instruction>(1000, sldi(1, 0)), 1}}});
    program.runs.assign(200'000, program.runs.front());
    program.core_first_run[1] = 200'000;
    const TargetColumns target = example_target(1);
    CHECK(analyse(view(program), view(target), {}, {}, "test").timing.availability == Availability::EventLimit);
    CHECK_THROWS_AS((void)check_liveness(view(program), view(target)), Failure);
}

TEST_CASE("more crossbars than a core has are refused") {
    ProgramColumns program = columns_of({{{{setbw(), mvmul()}, 1}}, {{{setbw(), mvmul()}, 1}}});
    const TargetColumns target = example_target(2);
    REQUIRE(analyse(view(program), view(target), {}, {}, "test").timing.availability == Availability::Available);
    program.groups.back().crossbars = target.core.crossbar_count + 1;
    const Analysis analysis = analyse(view(program), view(target), {}, {}, "test");
    CHECK(analysis.timing.availability == Availability::CrashesTarget);
    CHECK(analysis.timing.reason.find("core 1 needs") != std::string::npos);
}

TEST_CASE("more cores than the chip has is bad input") {
    const ProgramColumns program = columns_of({{{{setbw(), mvmul()}, 1}}, {}});
    const TargetColumns target = example_target(1);
    CHECK_THROWS_AS((void)analyse(view(program), view(target), {}, {}, "test"), Failure);
}

TEST_CASE("budgets end the search, with an average or without an answer") {
    // The producer drifts away from its consumer, so the state never recurs.
    const TestProgram program = {{{{setbw(), sync(1, 0), sized(Opcode::Vvadd, 64)}, 1}}, {{{setbw(), wait(0, 1), sized(Opcode::Vvadd, 512)}, 1}}};
    const ProgramColumns columns = columns_of(program);
    const TargetColumns target = example_target(2);
    AnalyseOptions options;
    options.budget = {64, 1000, 100'000};
    const Analysis average = analyse(view(columns), view(target), {}, options, "test");
    CHECK(average.timing.availability == Availability::Available);
    CHECK_FALSE(average.exact);
    CHECK(average.timing.interval_ns == 1 + 3 + (8 + 8 + 128 + 8 + 2));
    options.budget = {64, 1000, 10};
    const Analysis none = analyse(view(columns), view(target), {}, options, "test");
    CHECK(none.timing.availability == Availability::EventLimit);
}

TEST_CASE("the report holds what the table shows") {
    const Analysis analysis = analysis_of({{{{setbw(), mvmul()}, 1}}});
    const auto json = json_report(analysis);
    CHECK(json["interval_ns"] == 5190);
    CHECK(json["cores"].size() == 1);
    CHECK(table(analysis, 3).find("5190 ns") != std::string::npos);
}
