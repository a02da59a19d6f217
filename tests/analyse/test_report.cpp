// Reports: the JSON follows its schema, waits add up to rounds, the timeline is what happened.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "analyse/accounting.h"
#include "analyse/report.h"
#include "analyse/table.h"
#include "analyse/timeline.h"
#include "artifact/file.h"
#include "json_schema.h"
#include "pim/random_program.h"

using namespace weft;
using namespace weft::test;

namespace {

Analysis analysis_of(const TestProgram& program, const TargetColumns& target, AnalyseOptions options = {}) {
    options.accounting = true;
    options.budget = {64, 5'000, 1'000'000};
    const ProgramColumns columns = columns_of(program);
    return analyse(view(columns), view(target), {1, 2}, options, "test");
}

}  // namespace

TEST_CASE("the JSON follows its schema") {
    const auto schema = nlohmann::json::parse(read_text(WEFT_SOURCE "/schemas/analysis.schema.json"));
    unsigned graphs = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed);
        const std::uint32_t cores = 1 + random.below(8);
        const TestProgram program = random.make(cores, 5 + random.below(60));
        const nlohmann::json report = json_report(analysis_of(program, random.target(cores)));
        CHECK(schema_problem(report, schema, schema) == "");
        graphs += report.contains("timing_graph") ? 1 : 0;
        // What the cores spend their time on is all of it, up to the rounding of each core to nanoseconds.
        double busy_ns = 0;
        for (const auto& core : report["cores"]) busy_ns += core["local_ns"].get<double>() + core["communication_ns"].get<double>();
        double spent_ns = 0;
        for (const auto& [what, time_ns] : report["work"].items()) spent_ns += time_ns.get<double>();
        CHECK(std::abs(busy_ns - spent_ns) <= cores);
    }
    CHECK(graphs > 10);
    CHECK(graphs < 60);
    const nlohmann::json blocked = json_report(analysis_of({{{{setbw(), message(Opcode::Send, 0, 8)}, 1}}}, example_target(1)));
    CHECK(schema_problem(blocked, schema, schema) == "");
    nlohmann::json damaged = blocked;
    damaged["cores"][0]["wait_ns"] = "long";
    CHECK(schema_problem(damaged, schema, schema) != "");
    damaged = blocked;
    damaged["surprise"] = 1;
    CHECK(schema_problem(damaged, schema, schema) != "");
}

TEST_CASE("work and waits of a core add up to its round") {
    unsigned compared = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed);
        const std::uint32_t cores = 1 + random.below(10);
        const TestProgram program = random.make(cores, 5 + random.below(60));
        const TargetColumns target = example_target(cores);
        const ProgramColumns columns = columns_of(program);
        const QueueProgram queue = collapse(view(columns), PimCosts(view(target)), "test");
        const Accounting accounting = account_waits(queue, TieOrder::Forward, 3, 7);
        for (std::uint32_t core = 0; core < cores; ++core) {
            const CoreWaits& waits = accounting.cores[core];
            if (queue.accounts[core].events == 0) continue;
            REQUIRE(waits.rounds == 7);
            const double alone = static_cast<double>(queue.accounts[core].local + queue.accounts[core].communication);
            REQUIRE(waits.round == doctest::Approx(alone + waits.partner + waits.own_queue + waits.memory + waits.tokens));
            double blamed = 0;
            for (const PeerWait& peer : waits.peers) blamed += peer.wait;
            REQUIRE(blamed <= waits.partner + waits.tokens + 1e-3);
            ++compared;
        }
    }
    CHECK(compared > 500);
}

TEST_CASE("who waits for whom") {
    // Core 1 computes ten times as long as core 0.
    TestProgram program(2);
    program[0].push_back({{setbw(), message(Opcode::Send, 1, 64), sized(Opcode::Vvadd, 64)}, 1});
    program[1].push_back({{setbw(), message(Opcode::Recv, 0, 64), sized(Opcode::Vvadd, 4096)}, 1});
    const Analysis analysis = analysis_of(program, example_target(2));
    const CoreWaits& first = analysis.accounting.cores[0];
    REQUIRE(first.peers.size() == 1);
    CHECK(first.peers[0].core == 1);
    CHECK(first.partner > 0.8 * first.round);
    CHECK(table(analysis, 2).find("core 1 (") != std::string::npos);
    CHECK(bounds_of(analysis)[0].nanoseconds <= analysis.interval_ns + 0.5);
    CHECK(analysis.recurrence.exact);
    CHECK(analysis.recurrence.interval_ns() == doctest::Approx(analysis.interval_ns));
    const Analysis memory = analysis_of(TestProgram(4, {{{setbw(), sized(Opcode::Ld, 16384)}, 1}}), example_target(4));
    CHECK(memory.accounting.memory.busy_share > 0.9);
    CHECK(memory.accounting.cores[3].memory > 0.5 * memory.accounting.cores[3].round);
    CHECK(table(memory, 4).find("memory (100 %)") != std::string::npos);
    CHECK(std::string(bounds_of(memory)[0].name) == "global memory service");
}

TEST_CASE("the timeline is well-formed and each row's slices follow one another") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed);
        const std::uint32_t cores = 1 + random.below(6);
        const ProgramColumns columns = columns_of(random.make(cores, 5 + random.below(40)));
        const TargetColumns target = random.target(cores);
        const QueueProgram queue = collapse(view(columns), PimCosts(view(target)), "test");
        const auto json = nlohmann::json::parse(timeline_json(queue, TieOrder::Forward, 3));
        const auto ends = round_ends(queue, TieOrder::Forward, 3);
        std::map<std::pair<int, int>, double> busy;
        std::size_t slices = 0;
        for (const auto& event : json["traceEvents"]) {
            if (event["ph"] != "X") continue;
            ++slices;
            double& until = busy[{event["pid"], event["tid"]}];
            CHECK(event["ts"].get<double>() >= until - 1e-5);
            until = event["ts"].get<double>() + event["dur"].get<double>();
        }
        CHECK(slices > 3 * cores);
        for (std::uint32_t core = 0; core < cores; ++core) CHECK(busy[{1, static_cast<int>(core)}] == doctest::Approx(static_cast<double>(ends[core].back()) / 1e6));
        CHECK_THROWS_AS((void)timeline_json(queue, TieOrder::Forward, 1000, 1), Failure);
    }
}
