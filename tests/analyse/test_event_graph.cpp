// The recurrence of whole programs: the interval of the queue execution where nothing but cores, messages and tokens decides, a lower bound
// of it otherwise.
#include "analyse/event_graph.h"

#include <doctest/doctest.h>

#include "analyse/check_cycle_ratio.h"
#include "analyse/queue.h"
#include "pim/random_program.h"

using namespace weft;
using namespace weft::test;

namespace {

void drop_requests(TestProgram& program) {
    for (auto& core : program) {
        for (TestRun& run : core) {
            for (Instruction& one : run.body) {
                const auto op = static_cast<Opcode>(one.op);
                if (op == Opcode::Ld || op == Opcode::St) one = sized(Opcode::Lmv, one.length);
            }
        }
    }
}

struct Outcome {
    EventGraph events;
    CycleRatio ratio;
    SteadyState state;
    [[nodiscard]] std::int64_t predicted() const { return static_cast<std::int64_t>(ratio.numerator) * static_cast<std::int64_t>(state.rounds); }
    [[nodiscard]] std::int64_t executed() const { return static_cast<std::int64_t>(state.span) * ratio.denominator; }
};

Outcome outcome_of(const TestProgram& program, const TargetColumns& target, QueueModel model = {}) {
    const ProgramColumns columns = columns_of(program);
    const QueueProgram queue = collapse(view(columns), PimCosts(view(target)), "test", model);
    REQUIRE(queue.availability == Availability::Available);
    Outcome result{event_graph(queue), {}, find_steady_state(queue, TieOrder::Forward, {64, 4'000, 1'000'000})};
    REQUIRE(result.events.unavailable.empty());
    result.ratio = maximum_cycle_ratio(result.events.graph);
    REQUIRE(result.ratio.status == RatioStatus::Found);
    REQUIRE(cycle_ratio_problem(result.events.graph, result.ratio).empty());
    return result;
}

}  // namespace

TEST_CASE("without the global memory the recurrence is the interval") {
    unsigned compared = 0;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed);
        const std::uint32_t cores = 1 + random.below(12);
        TestProgram program = random.make(cores, 5 + random.below(cores * 6));
        drop_requests(program);
        const Outcome outcome = outcome_of(program, example_target(cores, 1000 * (1 + random.below(20))));
        if (!outcome.events.exact || !outcome.state.exact) continue;
        ++compared;
        REQUIRE(outcome.predicted() == outcome.executed());
    }
    CHECK(compared > 200);
}

TEST_CASE("a lower bound always, whatever the clocks and requests") {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed ^ 0x5eedULL);
        const std::uint32_t cores = 1 + random.below(12);
        const TestProgram program = random.make(cores, 5 + random.below(cores * 6));
        const Outcome outcome = outcome_of(program, random.target(cores));
        if (!outcome.events.sound || !outcome.state.exact) continue;
        REQUIRE(outcome.predicted() <= outcome.executed());
    }
}

TEST_CASE("what is left out takes no time") {
    unsigned shorter = 0;
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        CAPTURE(seed);
        RandomProgram random(seed);
        const std::uint32_t cores = 2 + random.below(6);
        const TestProgram program = random.make(cores, 5 + random.below(40));
        const TargetColumns target = example_target(cores);
        const Outcome whole = outcome_of(program, target);
        for (const QueueModel model : {QueueModel{false, true, true}, QueueModel{true, false, true}, QueueModel{true, true, false}, QueueModel{false, false, false}}) {
            const Outcome less = outcome_of(program, target, model);
            REQUIRE(less.ratio.numerator * whole.ratio.denominator <= whole.ratio.numerator * less.ratio.denominator);
            if (!less.state.exact || !whole.state.exact) continue;
            // Without the memory's queue nothing but the graph is left.
            if (!model.memory_controller && less.events.exact) REQUIRE(less.predicted() == less.executed());
            shorter += static_cast<std::int64_t>(less.state.span) * static_cast<std::int64_t>(whole.state.rounds) <
                               static_cast<std::int64_t>(whole.state.span) * static_cast<std::int64_t>(less.state.rounds)
                           ? 1
                           : 0;
        }
    }
    CHECK(shorter > 150);
}

TEST_CASE("cores of different rates have no common round") {
    TestProgram program(2);
    program[0].push_back({{setbw()}, 1});
    program[0].push_back({{sync(1, 0)}, 3});
    program[0].push_back({{wait(1, 3), sized(Opcode::Vvadd, 16)}, 1});
    program[1].push_back({{setbw(), wait(0, 1), sync(0, 1), sized(Opcode::Vvadd, 16)}, 1});
    const ProgramColumns columns = columns_of(program);
    const TargetColumns target = example_target(2);
    const QueueProgram queue = collapse(view(columns), PimCosts(view(target)), "test");
    CHECK(event_graph(queue).unavailable.find("rates") != std::string::npos);
    CHECK(event_graph(queue, 2).unavailable.find("more than 2") != std::string::npos);
}
