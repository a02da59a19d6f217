// The diagnostic of schedules before lowering.
#include <doctest/doctest.h>

#include "analyse/check_cycle_ratio.h"
#include "analyse/plan_graph.h"
#include "artifact/file.h"
#include "base/random.h"
#include "json_schema.h"
#include "pim/example_target.h"
#include "pim/placement.h"

using namespace weft;
using namespace weft::test;

namespace {

constexpr std::uint32_t positions = 30;

/// input -> f0 -> f1 -> ...; each tensor 6 x 5 positions of 64 channels, each family in `lanes` lanes of `work_ns`.
TasksColumns chain(std::uint32_t families, std::uint32_t lanes, std::uint64_t work_ns) {
    TasksColumns tasks;
    for (std::uint32_t id = 0; id <= families; ++id) {
        TaskTensor tensor;
        tensor.graph_tensor = no_id;
        tensor.rows = 6;
        tensor.columns = 5;
        tensor.channels = 64;
        tensor.producer = id == 0 ? no_id : id - 1;
        tensor.output_port = id == families ? 0 : no_id;
        tasks.tensors.push_back(tensor);
    }
    for (std::uint32_t f = 0; f < families; ++f) {
        Family family;
        family.kind = static_cast<std::uint32_t>(FamilyKind::Pointwise);
        family.output = f + 1;
        family.first_input = static_cast<std::uint32_t>(tasks.inputs.size());
        tasks.inputs.push_back(f);
        family.input_count = 1;
        family.tile_rows = family.tile_columns = 1;
        family.first_lane = static_cast<std::uint32_t>(tasks.lanes.size());
        family.lane_count = lanes;
        for (std::uint32_t l = 0; l < lanes; ++l) {
            Lane lane;
            lane.family = f;
            lane.first_tile = lane.first_position = positions * l / lanes;
            lane.tile_count = lane.position_count = positions * (l + 1) / lanes - lane.first_tile;
            lane.first_demand = static_cast<std::uint32_t>(tasks.demands.size());
            lane.demand_count = 1;
            tasks.demands.push_back({0, lane.first_position, lane.position_count});
            lane.work_ns = work_ns;
            tasks.lanes.push_back(lane);
        }
        tasks.families.push_back(family);
    }
    return tasks;
}

ScheduleColumns placed(const Tasks& tasks, std::uint32_t cores, ExchangePolicy exchange, std::uint32_t slots, const auto& core_of) {
    ScheduleColumns schedule;
    schedule.exchange = exchange;
    schedule.slots_per_round = slots;
    const bool woven = exchange == ExchangePolicy::Woven;
    schedule.family_level = dependency_levels(tasks, woven ? 1 : 0, woven ? 2 : 1);
    for (std::uint32_t lane = 0; lane < tasks.lanes.size(); ++lane) schedule.lane_core.push_back(static_cast<std::uint16_t>(core_of(lane)));
    schedule.core_first.push_back(0);
    for (std::uint32_t core = 0; core < cores; ++core) {
        for (std::uint32_t lane = 0; lane < tasks.lanes.size(); ++lane) {
            if (schedule.lane_core[lane] == core) schedule.core_lanes.push_back(lane);
        }
        schedule.core_first.push_back(static_cast<std::uint32_t>(schedule.core_lanes.size()));
    }
    return schedule;
}

}  // namespace

TEST_CASE("one core: the interval is its work") {
    const TasksColumns columns = chain(3, 2, 1000);
    const Tasks tasks = view(columns);
    const TargetColumns target = example_target(1);
    const ScheduleColumns schedule = placed(tasks, 1, ExchangePolicy::Burst, 1, [](std::uint32_t) { return 0; });
    const PlanDiagnostic plan = diagnose_plan(tasks, view(schedule), view(target));
    CHECK(plan.transfers == 0);
    CHECK(plan.recurrence.unavailable.empty());
    CHECK(plan.busiest_core_ns > 6000);   // and copies, and loads of the input
    CHECK(plan.recurrence.interval_ns() == plan.busiest_core_ns);
    CHECK(plan.requests == 2);
    // 1920 bytes in 16-byte beats, read once and written once.
    CHECK(plan.memory_service_ns == 2 * 120);
}

TEST_CASE("with one round per level cores work in parallel within a round, with all levels in a round one after the other") {
    const TasksColumns columns = chain(4, 1, 10'000);
    const Tasks tasks = view(columns);
    const TargetColumns target = example_target(4);
    const auto own_core = [](std::uint32_t lane) { return lane; };
    const PlanDiagnostic deep = diagnose_plan(tasks, view(placed(tasks, 4, ExchangePolicy::Burst, 1, own_core)), view(target));
    const PlanDiagnostic flat = diagnose_plan(tasks, view(placed(tasks, 4, ExchangePolicy::Burst, 4, own_core)), view(target));
    CHECK(deep.transfers == 3);
    CHECK(deep.interval_ns < 20'000);
    CHECK(deep.round_span_ns < 20'000);
    // Four computations and three transfers one after the other.
    CHECK(flat.round_span_ns > 40'000);
    CHECK(flat.interval_ns < flat.round_span_ns);
    // A core is free again once its neighbour has taken the value, so they overlap by inferences in any case.
    CHECK(flat.interval_ns > 10'000);
    CHECK(flat.interval_ns < 20'000);
}

TEST_CASE("any placement: no deadlock, certified, never below the busiest core") {
    Random random(8);
    const auto schema = nlohmann::json::parse(read_text(WEFT_SOURCE "/schemas/plan.schema.json"));
    const auto analysis = nlohmann::json::parse(read_text(WEFT_SOURCE "/schemas/analysis.schema.json"));
    for (int trial = 0; trial < 300; ++trial) {
        CAPTURE(trial);
        const std::uint32_t families = 1 + random.below(5);
        const TasksColumns columns = chain(families, 1 + random.below(6), 1 + random.below(3000));
        const Tasks tasks = view(columns);
        const std::uint32_t cores = 1 + random.below(6);
        const TargetColumns target = example_target(cores);
        const bool woven = random.below(2) == 0;
        const ScheduleColumns schedule = placed(tasks, cores, woven ? ExchangePolicy::Woven : ExchangePolicy::Burst, woven ? 1 : 1 + random.below(families + 1),
                                                [&](std::uint32_t) { return random.below(cores); });
        const PlanGraph graph = plan_graph(tasks, view(schedule), view(target));
        const CycleRatio ratio = maximum_cycle_ratio(graph.events.graph);
        REQUIRE(ratio.status == RatioStatus::Found);
        REQUIRE(cycle_ratio_problem(graph.events.graph, ratio).empty());
        const PlanDiagnostic plan = diagnose_plan(tasks, view(schedule), view(target));
        REQUIRE(plan.recurrence.interval_ns() + 1e-9 >= plan.busiest_core_ns);
        REQUIRE(plan.interval_ns >= plan.memory_service_ns);
        REQUIRE(plan_table(plan).find("certified") != std::string::npos);
        const nlohmann::json report = plan_json(plan);
        REQUIRE(schema_problem(report, schema, schema) == "");
        REQUIRE(schema_problem(report["recurrence"], analysis["$defs"]["recurrence"], analysis) == "");
    }
}
