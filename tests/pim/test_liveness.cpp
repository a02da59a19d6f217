#include "pim/liveness.h"

#include <doctest/doctest.h>

#include <set>

#include "random_program.h"

using namespace weft;
using namespace weft::test;

namespace {

/// The rules themselves: lists written out, any core that can act acts, until nobody can.
std::set<std::size_t> stuck_by_brute_force(const TestProgram& program, unsigned generations) {
    std::vector<std::vector<Instruction>> lists(program.size());
    for (std::size_t core = 0; core < program.size(); ++core) {
        for (unsigned generation = 0; generation < generations; ++generation) {
            for (const TestRun& run : program[core]) {
                for (std::uint32_t trip = 0; trip < run.trip_count; ++trip) lists[core].insert(lists[core].end(), run.body.begin(), run.body.end());
            }
        }
    }
    std::vector<std::size_t> at(program.size(), 0);
    std::vector<std::array<std::int64_t, 32>> tokens(program.size(), std::array<std::int64_t, 32>{});
    const auto heads = [&](std::size_t core, Opcode op, std::size_t other) {
        return at[core] < lists[core].size() && static_cast<Opcode>(lists[core][at[core]].op) == op &&
               static_cast<std::size_t>(lists[core][at[core]].immediate) == other;
    };
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t core = 0; core < program.size(); ++core) {
            if (at[core] == lists[core].size()) continue;
            const Instruction& now = lists[core][at[core]];
            const auto other = static_cast<std::size_t>(now.immediate);
            const auto event_register = static_cast<std::size_t>(now.length);
            switch (static_cast<Opcode>(now.op)) {
                case Opcode::Send:
                    if (core == other || !heads(other, Opcode::Recv, core)) continue;
                    ++at[other];
                    break;
                case Opcode::Recv: continue;  // the sender moves both
                case Opcode::Sync: ++tokens[other][event_register]; break;
                case Opcode::Wait:
                    if (now.offset_value > 0 && tokens[core][event_register] < now.offset_value) continue;
                    tokens[core][event_register] -= now.offset_value;
                    break;
                default: break;
            }
            ++at[core];
            moved = true;
        }
    }
    std::set<std::size_t> stuck;
    for (std::size_t core = 0; core < program.size(); ++core) {
        if (at[core] < lists[core].size()) stuck.insert(core);
    }
    return stuck;
}

LivenessReport check(const TestProgram& program, unsigned generations = 3) {
    const ProgramColumns columns = columns_of(program);
    const TargetColumns target = example_target(static_cast<std::uint32_t>(program.size()));
    return check_liveness(view(columns), view(target), generations);
}

void check_same_verdict(const TestProgram& program, unsigned generations) {
    const auto expected = stuck_by_brute_force(program, generations);
    const LivenessReport report = check(program, generations);
    REQUIRE(report.faults.empty());
    std::set<std::size_t> found;
    for (const BlockedCore& row : report.blocked) found.insert(row.core.index());
    REQUIRE(found == expected);
    REQUIRE(report.live == expected.empty());
    REQUIRE(report.cycle.empty() == expected.empty());
    for (std::size_t step = 0; report.cycle.size() > 1 && step < report.cycle.size(); ++step) {
        const BlockedCore& row = report.blocked[report.cycle[step]];
        const CoreId next = report.blocked[report.cycle[(step + 1) % report.cycle.size()]].core;
        REQUIRE(std::find(row.waits_for.begin(), row.waits_for.end(), next) != row.waits_for.end());
    }
}

}  // namespace

TEST_CASE("two cores that send first block each other") {
    const TestProgram program = {{{{setbw(), message(Opcode::Send, 1, 8), message(Opcode::Recv, 1, 8)}, 1}},
                                 {{{setbw(), message(Opcode::Send, 0, 8), message(Opcode::Recv, 0, 8)}, 1}}};
    const LivenessReport report = check(program);
    CHECK_FALSE(report.live);
    REQUIRE(report.cycle.size() == 2);
    CHECK(report.blocked[0].op == Opcode::Send);
    CHECK(report.blocked[0].position == 1);
    CHECK(report.blocked[1].peer == CoreId(0));
    CHECK(report.text().find("shortest blocked cycle has 2") != std::string::npos);
}

TEST_CASE("the shortest of several cycles is named") {
    // 0 -> 1 -> 2 -> 0 by messages, and 2 <-> 3 by tokens that never come; core 2 waits first.
    const TestProgram program = {{{{message(Opcode::Send, 1, 8)}, 1}},
                                 {{{message(Opcode::Send, 2, 8), message(Opcode::Recv, 0, 8)}, 1}},
                                 {{{wait(5), sync(3, 6), message(Opcode::Recv, 1, 8)}, 1}},
                                 {{{wait(6), sync(2, 5)}, 1}}};
    const LivenessReport report = check(program);
    REQUIRE(report.blocked.size() == 4);
    REQUIRE(report.cycle.size() == 2);
    CHECK(report.blocked[report.cycle[0]].core == CoreId(2));
    CHECK(report.blocked[report.cycle[1]].core == CoreId(3));
}

TEST_CASE("send to oneself, to an idle core, and a partner that has finished") {
    LivenessReport report = check({{{{message(Opcode::Send, 0, 8)}, 1}}});
    CHECK(report.cycle.size() == 1);
    CHECK(report.text().find("shortest blocked cycle has 1") != std::string::npos);
    report = check({{{{message(Opcode::Send, 1, 8)}, 1}}, {}});
    REQUIRE(report.faults.size() == 1);
    CHECK_FALSE(report.live);
    CHECK(report.text().find("no program") != std::string::npos);
    report = check({{{{message(Opcode::Send, 1, 8)}, 1}}, {{{sized(Opcode::Lmv, 8)}, 1}}});
    REQUIRE(report.blocked.size() == 1);
    CHECK(report.text().find("nothing left to do") != std::string::npos);
    report = check({{{{sync(0, 32)}, 1}}});
    CHECK(report.faults.size() == 1);
    report = check({{{{message(Opcode::Recv, 7, 8)}, 1}}});
    CHECK(report.faults.size() == 1);
}

TEST_CASE("credits posted at the start of a pass live, a credit awaited before it can come does not") {
    const TestProgram early = {{{{wait(1), sized(Opcode::St, 64), sync(1, 0)}, 1}}, {{{sync(0, 1), wait(0), sized(Opcode::Ld, 64)}, 1}}};
    CHECK(check(early, 5).live);
    const TestProgram late = {{{{wait(1), sized(Opcode::St, 64), sync(1, 0)}, 1}}, {{{wait(0), sized(Opcode::Ld, 64), sync(0, 1)}, 1}}};
    CHECK_FALSE(check(late, 1).live);
}

TEST_CASE("loops: a message that only the third trip lacks") {
    const TestProgram program = {{{{message(Opcode::Send, 1, 8)}, 3}}, {{{message(Opcode::Recv, 0, 8)}, 2}, {{wait(0), message(Opcode::Recv, 0, 8)}, 1}}};
    const LivenessReport report = check(program);
    REQUIRE(report.blocked.size() == 2);
    CHECK(report.blocked[0].position == 2);
    CHECK(report.blocked[1].position == 2);
    CHECK(report.blocked[1].wanted == 1);
}

TEST_CASE("random legal programs are live, and so says brute force") {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        RandomProgram random(seed);
        const TestProgram program = random.make(1 + random.below(16), 5 + random.below(60));
        CAPTURE(seed);
        REQUIRE(check(program).live);
        check_same_verdict(program, 3);
    }
}

TEST_CASE("mutants: the same cores block as by brute force") {
    unsigned blocked = 0;
    unsigned live = 0;
    for (std::uint64_t seed = 0; seed < 6000; ++seed) {
        RandomProgram random(seed ^ 0x5eedULL);
        TestProgram program = random.make(2 + random.below(6), 4 + random.below(30));
        if (!mutate(program, random)) continue;
        CAPTURE(seed);
        const unsigned generations = 1 + random.below(4);
        check_same_verdict(program, generations);
        (check(program, generations).live ? live : blocked) += 1;
    }
    CHECK(blocked > 1000);
    CHECK(live > 500);
}
