#include "packing/latency.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "../pim/example_target.h"
#include "base/random.h"
#include "dag/bounds.h"
#include "pim/placement.h"
#include "packing/latency_graph.h"
#include "packing/replicas.h"
#include "schedule/schedule.h"

using namespace weft;

namespace {

constexpr std::uint32_t rows = 12;
constexpr std::uint32_t columns = 10;

std::uint32_t add_tensor(TasksColumns& tasks, std::uint32_t producer) {
    TaskTensor tensor;
    tensor.graph_tensor = no_id;
    tensor.rows = rows;
    tensor.columns = columns;
    tensor.channels = 8;
    tensor.gap = 1;
    tensor.producer = producer;
    tensor.output_port = no_id;
    tasks.tensors.push_back(tensor);
    return static_cast<std::uint32_t>(tasks.tensors.size() - 1);
}

/// A family that reads `inputs`, every lane its own positions of each and one row on either side.
std::uint32_t add_family(TasksColumns& tasks, std::vector<std::uint32_t> inputs, std::uint32_t lanes, std::uint32_t crossbars,
                         std::uint64_t lane_ns) {
    const auto f = static_cast<std::uint32_t>(tasks.families.size());
    Family family;
    family.kind = static_cast<std::uint32_t>(FamilyKind::Pointwise);
    family.first_input = static_cast<std::uint32_t>(tasks.inputs.size());
    family.input_count = static_cast<std::uint32_t>(inputs.size());
    tasks.inputs.insert(tasks.inputs.end(), inputs.begin(), inputs.end());
    family.output = add_tensor(tasks, f);
    family.tile_rows = family.tile_columns = 1;
    family.first_lane = static_cast<std::uint32_t>(tasks.lanes.size());
    family.lane_count = lanes;
    family.crossbars = crossbars;
    for (std::uint32_t l = 0; l < lanes; ++l) {
        Lane lane;
        lane.family = f;
        lane.first_tile = lane.first_position = rows * columns * l / lanes;
        lane.tile_count = lane.position_count = rows * columns * (l + 1) / lanes - lane.first_tile;
        lane.first_demand = static_cast<std::uint32_t>(tasks.demands.size());
        lane.demand_count = family.input_count;
        const std::uint32_t first = std::max(lane.first_position, columns) - columns;
        const std::uint32_t end = std::min(lane.first_position + lane.position_count + columns, rows * columns);
        for (std::uint32_t slot = 0; slot < family.input_count; ++slot) tasks.demands.push_back({slot, first, end - first});
        lane.work_ns = lane_ns;
        tasks.lanes.push_back(lane);
    }
    tasks.families.push_back(family);
    return family.output;
}

/// A random network whose families read one or two earlier tensors; the last one is stored.
TasksColumns random_network(Random& random, std::uint32_t most_crossbars) {
    TasksColumns tasks;
    std::vector<std::uint32_t> made = {add_tensor(tasks, no_id)};
    for (std::uint32_t f = 1 + random.below(12); f > 0; --f) {
        std::vector<std::uint32_t> inputs = {made.back()};
        if (made.size() > 1 && random.below(3) == 0) inputs.push_back(made[random.below(static_cast<std::uint32_t>(made.size() - 1))]);
        if (random.below(4) == 0) inputs.front() = made[random.below(static_cast<std::uint32_t>(made.size()))];
        made.push_back(add_family(tasks, inputs, 1 + random.below(40), random.below(most_crossbars + 1), 100 + random.below(20000)));
    }
    tasks.tensors[tasks.families.back().output].output_port = 0;
    tasks.graph_inputs = {0};
    tasks.graph_outputs = {tasks.families.back().output};
    return tasks;
}

/// Crossbars of every core under a placement; each family counts once where it has a lane.
std::vector<std::uint32_t> crossbars_used(const Tasks& tasks, const LanePlacement& placement, std::uint32_t cores) {
    std::vector<std::uint32_t> used(cores, 0);
    for (const Family& family : tasks.families) {
        std::vector<std::uint16_t> on(placement.begin() + family.first_lane, placement.begin() + family.first_lane + family.lane_count);
        std::sort(on.begin(), on.end());
        on.erase(std::unique(on.begin(), on.end()), on.end());
        for (const std::uint16_t core : on) used[core] += family.crossbars;
    }
    return used;
}

}  // namespace

TEST_CASE("runs of lanes cover a family once and differ by one lane at most") {
    Family family;
    family.first_lane = 7;
    for (family.lane_count = 1; family.lane_count < 40; ++family.lane_count) {
        for (std::uint32_t parts = 1; parts <= family.lane_count; ++parts) {
            std::uint32_t next = family.first_lane;
            for (std::uint32_t part = 0; part < parts; ++part) {
                const LaneRun run = lane_run(family, part, parts);
                CHECK(run.first == next);
                CHECK(run.count >= family.lane_count / parts);
                CHECK(run.count <= family.lane_count / parts + 1);
                next += run.count;
            }
            CHECK(next == family.first_lane + family.lane_count);
        }
    }
}

TEST_CASE("every lane is placed within capacity, whatever the network and the algorithm") {
    Random random(41);
    int reserved = 0;
    int free = 0;
    for (int round = 0; round < 150; ++round) {
        const TasksColumns owned = random_network(random, 30);
        const Tasks tasks = view(owned);
        TargetColumns chip = test::example_target(12 + random.below(8), 1000 + random.below(9000));
        const Target target = view(chip);
        const PimTiming timing(target);
        for (const auto algorithm : {ListAlgorithm::Peft, ListAlgorithm::Heft, ListAlgorithm::LookAhead}) {
            const LatencyPlacement placed = place_for_latency(tasks, target, timing, {algorithm});
            REQUIRE(placed.placement.size() == tasks.lanes.size());
            for (const std::uint16_t core : placed.placement) CHECK(core < target.core_count);
            for (const std::uint32_t used : crossbars_used(tasks, placed.placement, target.core_count)) {
                CHECK(used <= target.core.crossbar_count);
            }
            (placed.strategy.ends_with("-reserved") ? reserved : free) += 1;
        }
    }
    CHECK(reserved > 0);
    CHECK(free > 0);
}

TEST_CASE("plans: copies within lanes and cores, their reservation complete and within capacity") {
    Random random(42);
    for (int round = 0; round < 150; ++round) {
        const TasksColumns owned = random_network(random, 30);
        const Tasks tasks = view(owned);
        TargetColumns chip = test::example_target(10 + random.below(10));
        const Target target = view(chip);
        const auto plan = plan_replicas(tasks, target, PimTiming(target));
        REQUIRE(plan);
        std::vector<std::uint32_t> copies(tasks.families.size(), 0);
        std::vector<std::uint32_t> used(target.core_count, 0);
        for (const Residence& residence : plan->residences) {
            ++copies[residence.weight];
            used[residence.processor] += tasks.families[residence.weight].crossbars;
        }
        for (std::size_t f = 0; f < copies.size(); ++f) {
            CHECK(plan->replicas[f] >= 1);
            CHECK(plan->replicas[f] <= std::min(target.core_count, tasks.families[f].lane_count));
            CHECK(copies[f] == (tasks.families[f].crossbars == 0 ? 0 : plan->replicas[f]));
        }
        for (const std::uint32_t crossbars : used) CHECK(crossbars <= target.core.crossbar_count);
    }
}

TEST_CASE("copies go where they shorten the longest path, and siblings of a level together") {
    TargetColumns chip = test::example_target(8);
    const Target target = view(chip);
    // A light and a heavy family in a chain; then two equal heavy ones side by side that a last one joins.
    TasksColumns owned;
    std::uint32_t tensor = add_tensor(owned, no_id);
    tensor = add_family(owned, {tensor}, 32, 30, 1000);
    tensor = add_family(owned, {tensor}, 32, 30, 200000);
    const std::uint32_t left = add_family(owned, {tensor}, 32, 30, 100000);
    const std::uint32_t right = add_family(owned, {tensor}, 32, 30, 100000);
    (void)add_family(owned, {left, right}, 1, 0, 100);
    const Tasks tasks = view(owned);
    const auto plan = plan_replicas(tasks, target, PimTiming(target));
    REQUIRE(plan);
    CHECK(plan->replicas[1] > plan->replicas[0]);
    CHECK(plan->replicas[2] == plan->replicas[3]);
    CHECK(plan->replicas[2] > 1);
    std::uint32_t total = 0;
    for (std::size_t f = 0; f < 4; ++f) total += plan->replicas[f];
    CHECK(total >= 14);   // two on a core, sixteen in all; only steps of two are left for the siblings
    CHECK(plan->path_ns < 32 * (1000 + 200000 + 100000));
}

TEST_CASE("the graph of a network: one task a run, edges where positions are shared, sound schedules") {
    Random random(43);
    for (int round = 0; round < 60; ++round) {
        const TasksColumns owned = random_network(random, 10);
        const Tasks tasks = view(owned);
        TargetColumns chip = test::example_target(6);
        const Target target = view(chip);
        std::vector<std::uint32_t> parts;
        for (const Family& family : tasks.families) parts.push_back(1 + random.below(std::min(6U, family.lane_count)));
        const LatencyGraph graph = make_latency_graph(tasks, target, PimTiming(target), parts);
        const Dag dag = view(graph.dag);
        check_dag(dag);
        CHECK(dag.task_count == graph.task_lanes.size());
        // Edges by the definition: some lane of one demands a position that some lane of the other makes, or one between two such.
        for (std::uint32_t a = 0; a < dag.task_count; ++a) {
            const LaneRun from = graph.task_lanes[a];
            const Lane& first = tasks.lanes[from.first];
            const Lane& last = tasks.lanes[from.first + from.count - 1];
            for (std::uint32_t b = 0; b < dag.task_count; ++b) {
                const Family& reader = tasks.families[graph.task_family[b]];
                bool expected = false;
                for (std::uint32_t slot = 0; slot < reader.input_count; ++slot) {
                    if (tasks.tensors[tasks.inputs[reader.first_input + slot]].producer != graph.task_family[a]) continue;
                    const PositionHull hull = demanded_hull(tasks, graph.task_lanes[b], slot);
                    expected = expected || (hull.first < last.first_position + last.position_count &&
                                            first.first_position < hull.first + hull.count);
                }
                const auto begin = dag.successors.begin() + dag.successor_first[a];
                const auto end = dag.successors.begin() + dag.successor_first[a + 1];
                CHECK((std::find(begin, end, b) != end) == expected);
            }
        }
        ListOptions options;
        const DagSchedule schedule = list_schedule(dag, options);
        if (schedule.failed_task == no_id) CHECK(find_fault(dag, schedule) == "");
    }
}

TEST_CASE("latency mode writes one schedule of depth zero, the same every time") {
    Random random(44);
    for (int round = 0; round < 20; ++round) {
        const TasksColumns owned = random_network(random, 20);
        const Tasks tasks = view(owned);
        TargetColumns chip = test::example_target(12);
        const Target target = view(chip);
        ScheduleOptions options;
        options.mode = ScheduleMode::Latency;
        options.placement_moves_per_core = 50;
        const auto schedules = make_schedules(tasks, target, options, {});
        REQUIRE(schedules.size() == 1);
        const ScheduleColumns& schedule = schedules.front();
        CHECK(schedule.mode == ScheduleMode::Latency);
        CHECK(schedule.depth == 0);
        CHECK(schedule.stage_count == 1);
        CHECK(schedule.completion_ns >= schedule.critical_path_ns);
        const auto again = make_schedules(tasks, target, options, {});
        CHECK(again.front().lane_core == schedule.lane_core);
        CHECK(again.front().core_lanes == schedule.core_lanes);
    }
}

TEST_CASE("a network that does not fit is refused") {
    TasksColumns owned;
    std::uint32_t tensor = add_tensor(owned, no_id);
    for (int f = 0; f < 3; ++f) tensor = add_family(owned, {tensor}, 4, 40, 1000);
    const Tasks tasks = view(owned);
    TargetColumns two = test::example_target(2);   // 64 crossbars a core: each holds one family
    const Target target = view(two);
    CHECK(!plan_replicas(tasks, target, PimTiming(target)));
    CHECK_THROWS_AS((void)place_for_latency(tasks, target, PimTiming(target), {}), Failure);
    TargetColumns three = test::example_target(3);
    CHECK(place_for_latency(tasks, view(three), PimTiming(view(three)), {}).placement.size() == 12);
}
