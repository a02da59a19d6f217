#include "pim/placement.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <set>

#include "base/random.h"

using namespace weft;

namespace {

/// A chain with a skip: input -> f0 -> f1 -> ... ; the last family also reads f0's tensor. Each tensor is 6 x 5 positions of 3 channels.
TasksColumns chain(std::uint32_t families, std::uint32_t lanes_per_family) {
    TasksColumns tasks;
    constexpr std::uint32_t rows = 6;
    constexpr std::uint32_t columns = 5;
    const auto add_tensor = [&](std::uint32_t producer) {
        TaskTensor tensor;
        tensor.graph_tensor = no_id;
        tensor.rows = rows;
        tensor.columns = columns;
        tensor.channels = 3;
        tensor.gap = 1;
        tensor.producer = producer;
        tensor.output_port = no_id;
        tasks.tensors.push_back(tensor);
    };
    add_tensor(no_id);
    for (std::uint32_t f = 0; f < families; ++f) {
        add_tensor(f);
        Family family;
        family.kind = static_cast<std::uint32_t>(FamilyKind::Pointwise);
        family.output = f + 1;
        family.first_input = static_cast<std::uint32_t>(tasks.inputs.size());
        tasks.inputs.push_back(f);
        family.input_count = 1;
        if (f + 1 == families && f > 1) {
            tasks.inputs.push_back(1);
            family.input_count = 2;
        }
        family.tile_rows = family.tile_columns = 1;
        family.first_lane = static_cast<std::uint32_t>(tasks.lanes.size());
        family.lane_count = lanes_per_family;
        for (std::uint32_t l = 0; l < lanes_per_family; ++l) {
            Lane lane;
            lane.family = f;
            lane.first_tile = lane.first_position = rows * columns * l / lanes_per_family;
            lane.tile_count = lane.position_count = rows * columns * (l + 1) / lanes_per_family - lane.first_tile;
            lane.first_demand = static_cast<std::uint32_t>(tasks.demands.size());
            lane.demand_count = family.input_count;
            for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
                tasks.demands.push_back({slot, lane.first_position, lane.position_count});
            }
            lane.work_ns = 100;
            tasks.lanes.push_back(lane);
        }
        tasks.families.push_back(family);
    }
    return tasks;
}

}  // namespace

TEST_CASE("every demanded position arrives exactly once from the core that makes it") {
    Random random(4);
    for (int round = 0; round < 200; ++round) {
        const std::uint32_t families = 1 + random.below(5);
        const TasksColumns columns = chain(families, 1 + random.below(10));
        const Tasks tasks = view(columns);
        std::vector<std::uint16_t> lane_core;
        for (std::size_t l = 0; l < tasks.lanes.size(); ++l) lane_core.push_back(static_cast<std::uint16_t>(random.below(4)));
        const auto levels = dependency_levels(tasks);
        const ActorPlan plan = plan_actors(tasks, lane_core, {ExchangePolicy::Burst, 1 + random.below(4), levels});
        // What each lane demands, on the core where it runs.
        std::map<std::uint32_t, std::set<std::uint32_t>> arrived;   // input buffer -> positions
        for (const Transfer& transfer : plan.transfers) {
            for (std::uint32_t p = transfer.span.first; p < transfer.span.first + transfer.span.count; ++p) {
                CHECK(arrived[transfer.target].insert(p).second);
            }
        }
        for (const Actor& actor : plan.actors) {
            const Family& family = tasks.families[actor.family.index()];
            for (std::uint32_t l = actor.first_lane; l < actor.first_lane + actor.lane_count; ++l) {
                CHECK(lane_core[l] == actor.core.value);
                for (const Demand& demand : tasks.demands.subspan(tasks.lanes[l].first_demand, tasks.lanes[l].demand_count)) {
                    const std::uint32_t buffer = plan.actor_inputs[actor.first_input + demand.input];
                    CHECK(plan.inputs[buffer].core == actor.core);
                    CHECK(plan.inputs[buffer].tensor.value == tasks.inputs[family.first_input + demand.input]);
                    for (std::uint32_t p = demand.first_position; p < demand.first_position + demand.position_count; ++p) {
                        CHECK(arrived[buffer].count(p) == 1);
                        const auto row = static_cast<std::int32_t>(p / 5);
                        CHECK(row >= plan.inputs[buffer].first_row);
                        CHECK(row < plan.inputs[buffer].first_row + plan.inputs[buffer].row_count);
                    }
                }
            }
        }
    }
}

TEST_CASE("values are neither overwritten before they leave nor before they are used") {
    // Played out in slots: the producer writes inference i in slot producer + i * slots; a transfer moves it at the start of a slot of
    // its round; each delay buffer hands on once per round; the consumer reads in slot consumer + i * slots.
    for (std::uint32_t slots = 1; slots <= 5; ++slots) {
        for (std::uint32_t gap = 1; gap <= 12; ++gap) {
            TasksColumns columns = chain(2, 1);
            const Tasks tasks = view(columns);
            const std::vector<std::uint32_t> levels{2, 2 + gap};
            const std::vector<std::uint16_t> cores{0, 1};
            const ActorPlan plan = plan_actors(tasks, cores, {ExchangePolicy::Burst, slots, levels});
            const auto found = std::find_if(plan.transfers.begin(), plan.transfers.end(),
                                            [](const Transfer& transfer) { return transfer.source != no_id; });
            REQUIRE(found != plan.transfers.end());
            std::int64_t output = -1;                                      // inference held by each buffer
            std::vector<std::int64_t> chain_buffers(found->delays + 1, -1);   // delay buffers, then the input buffer
            std::int64_t consumed = 0;
            for (std::uint32_t time = 0; time < 40 * slots; ++time) {
                if (time % slots == found->slot) {
                    for (std::size_t stage = chain_buffers.size(); stage-- > 1;) chain_buffers[stage] = chain_buffers[stage - 1];
                    chain_buffers[0] = output;
                }
                if (time >= levels[1] && (time - levels[1]) % slots == 0) {
                    CHECK(chain_buffers.back() == (time - levels[1]) / slots);
                    ++consumed;
                }
                if (time >= levels[0] && (time - levels[0]) % slots == 0) output = (time - levels[0]) / slots;
            }
            CHECK(consumed > 10);
            CHECK(found->delays <= (gap - 1) / slots);
        }
    }
}

TEST_CASE("a woven exchange has whole rounds for each message") {
    // Round p writes one half of the output; during round p + 1 the message goes from there into one half of the arrival buffer (the
    // input buffer itself, or the first delay buffer); the consumer reads the half that the round before wrote. Delay buffers hand on at the start of
    // each round: the half that is about to be written, which came two rounds ago, or, the first of an odd number of rounds, the other one.
    for (std::uint32_t gap = 2; gap <= 12; ++gap) {
        CAPTURE(gap);
        TasksColumns columns = chain(2, 1);
        const Tasks tasks = view(columns);
        const std::vector<std::uint32_t> levels{1, 1 + gap};
        const std::vector<std::uint16_t> cores{0, 1};
        const ActorPlan plan = plan_actors(tasks, cores, {ExchangePolicy::Woven, 1, levels});
        const auto found = std::find_if(plan.transfers.begin(), plan.transfers.end(),
                                        [](const Transfer& transfer) { return transfer.source != no_id; });
        REQUIRE(found != plan.transfers.end());
        CHECK(found->delays == gap - 2);
        const std::uint32_t stages = delay_stages(ExchangePolicy::Woven, found->delays);
        CHECK(stages <= (found->delays + 1) / 2);
        std::array<std::int64_t, 2> output{-1, -1};                                         // inference held by each half
        std::vector<std::array<std::int64_t, 2>> buffers(stages + 1, {-1, -1});             // delay buffers, then the input buffer
        for (std::uint32_t round = 0; round < 40; ++round) {
            const std::size_t written = round % 2;
            const std::size_t read = 1 - written;
            for (std::size_t stage = stages; stage-- > 0;) {
                buffers[stage + 1][written] = buffers[stage][stage == 0 && found->delays % 2 != 0 ? read : written];
            }
            buffers[0][written] = output[read];
            if (round >= levels[1]) CHECK(buffers.back()[read] == round - levels[1]);
            if (round >= levels[0]) output[written] = round - levels[0];
        }
    }
}
