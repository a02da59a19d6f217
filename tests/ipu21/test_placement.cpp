#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "chain.h"
#include "graphs.h"
#include "base/random.h"
#include "ipu21/operand.h"
#include "machine.h"

using namespace weft;
using namespace weft::ipu21;

namespace {

/// One buffer on one tile.
struct Block {
    std::uint32_t buffer;
    std::uint32_t begin;
    std::uint32_t end;
};

/// Whether two buffers may stand in one place although both are alive at some step: the same value under another name, or the result of an
/// operator over an operand that dies there.
bool may_share(const ProgramColumns& program, const TasksColumns& tasks, const std::vector<std::uint32_t>& root, const TileBuffer& a, const TileBuffer& b) {
    if (a.memory != b.memory) return false;
    if (a.value != no_id && b.value != no_id && root[a.value] == root[b.value]) return true;
    const TileBuffer& later = a.first_step > b.first_step || (a.first_step == b.first_step && a.kind == static_cast<std::uint32_t>(TileBufferKind::Value) &&
                                                                tasks.tile_values[a.value].producer == a.operator_index && a.operator_index >= b.operator_index)
                                  ? a
                                  : b;
    const TileBuffer& earlier = &later == &a ? b : a;
    if (later.value == no_id || earlier.value == no_id) return false;
    const std::uint32_t op = tasks.tile_values[later.value].producer;
    if (op == no_id || tasks.tile_values[earlier.value].is_output != 0) return false;
    const auto inputs = std::span(tasks.tile_inputs).subspan(tasks.tile_operators[op].first_input, tasks.tile_operators[op].input_count);
    if (std::ranges::find(inputs, earlier.value) == inputs.end()) return false;
    for (std::uint32_t step = std::max(a.first_step, b.first_step); step <= std::min(a.last_step, b.last_step); ++step) {
        if (program.tile_steps[step].operator_index != op) return false;
    }
    return true;
}

/// Per value what it is a view of, itself where it is none.
std::vector<std::uint32_t> roots_of(const TasksColumns& tasks, const ScheduleColumns& schedule) {
    std::vector<std::uint32_t> root(tasks.tile_values.size());
    for (std::uint32_t value = 0; value < root.size(); ++value) root[value] = value;
    for (std::size_t op = 0; op < tasks.tile_operators.size(); ++op) {
        const TileOperator& row = tasks.tile_operators[op];
        const bool view = tasks.tile_plans[schedule.plan_choice[op]].distribution == static_cast<std::uint32_t>(TileDistribution::View);
        if (view) root[row.output] = root[tasks.tile_inputs[row.first_input]];
    }
    return root;
}

/// No two buffers of a tile that are alive together overlap, but for those that may stand in one place; and all lie where their class may.
/// Returns how many share their place.
std::uint64_t check_allocations(const ProgramColumns& program, const TasksColumns& tasks, const ScheduleColumns& schedule, const Target& target) {
    const std::vector<std::uint32_t> root = roots_of(tasks, schedule);
    std::map<std::uint32_t, std::vector<Block>> tiles;
    std::map<std::uint32_t, std::uint32_t> interleaved_top;
    std::uint64_t misplaced = 0;
    const Ipu21& machine = target.ipu21;
    for (std::uint32_t row = 0; row < program.tile_buffers.size(); ++row) {
        const TileBuffer& buffer = program.tile_buffers[row];
        const auto kind = static_cast<TileBufferKind>(buffer.kind);
        const bool amp = kind == TileBufferKind::Value || kind == TileBufferKind::Copy || kind == TileBufferKind::Temporary;
        const std::uint32_t alignment = amp ? 32 : kind == TileBufferKind::Weights ? 8 : 4;
        for (std::uint32_t i = buffer.first_allocation; i < buffer.first_allocation + buffer.allocation_count; ++i) {
            const TileAllocation& a = program.allocations[i];
            tiles[a.tile].push_back({row, a.address, a.address + a.bytes});
            bool right = a.address % alignment == 0 && a.address >= machine.standard_begin && a.address + a.bytes <= machine.placeable_end;
            if (buffer.memory == 1) {
                right = right && a.address >= machine.interleaved_begin;
                interleaved_top[a.tile] = std::max(interleaved_top[a.tile], a.address + a.bytes);
            } else if (a.address < machine.interleaved_begin) {
                right = right && a.address + a.bytes <= ipu21::standard_end(machine);
            }
            misplaced += right ? 0 : 1;
        }
    }
    for (const TileBuffer& buffer : program.tile_buffers) {
        for (std::uint32_t i = buffer.first_allocation; buffer.memory == 0 && i < buffer.first_allocation + buffer.allocation_count; ++i) {
            const TileAllocation& a = program.allocations[i];
            if (a.address < machine.interleaved_begin || interleaved_top[a.tile] == 0) continue;
            // Behind the interleaved data, from the next element on: what streams through the matrix unit, from standard memory, never lies in
            // an element of its result, which is interleaved.
            const std::uint32_t element = machine.interleaved_element_bytes;
            const bool apart = (a.address - machine.interleaved_begin) / element > (interleaved_top[a.tile] - 1 - machine.interleaved_begin) / element;
            misplaced += a.address >= interleaved_top[a.tile] && apart ? 0 : 1;
        }
    }
    CHECK(misplaced == 0);
    std::uint64_t overlaps = 0;
    std::uint64_t shared = 0;
    for (const auto& [tile, blocks] : tiles) {
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                const TileBuffer& a = program.tile_buffers[blocks[i].buffer];
                const TileBuffer& b = program.tile_buffers[blocks[j].buffer];
                const bool together = a.first_step <= b.last_step && b.first_step <= a.last_step;
                if (!together || blocks[i].begin >= blocks[j].end || blocks[j].begin >= blocks[i].end) continue;
                const bool view = a.value != no_id && b.value != no_id && a.value != b.value && root[a.value] == root[b.value];   // may differ in what is read past it
                const bool same = blocks[i].begin == blocks[j].begin && (view || blocks[i].end == blocks[j].end) && may_share(program, tasks, root, a, b);
                ++(same ? shared : overlaps);
            }
        }
    }
    CHECK(overlaps == 0);
    return shared;
}

/// Two operators of which the first has a fast plan whose temporary fits the estimate's sum but no single gap.
TasksColumns tight_tasks(const GraphColumns& graph, const TargetColumns& target, std::uint32_t temporary) {
    TasksColumns tasks = prepare(view(graph), view(target), {});
    TileOperator& up = tasks.tile_operators[0];
    // Only the cheapest plan and one copy of it that needs more memory and less time.
    std::uint32_t best = up.first_plan;
    for (std::uint32_t row = up.first_plan; row < up.first_plan + up.plan_count; ++row) {
        const auto cycles = [&](std::uint32_t r) { return tasks.tile_plans[r].local_cycles + tasks.tile_plans[r].exchange_cycles; };
        if (cycles(row) < cycles(best)) best = row;
    }
    std::swap(tasks.tile_plans[up.first_plan], tasks.tile_plans[best]);
    const TilePlan plan = tasks.tile_plans[up.first_plan];
    std::vector<TilePlan> plans(tasks.tile_plans.begin(), tasks.tile_plans.end());
    TilePlan greedy = plan;
    greedy.local_cycles /= 2;
    greedy.distribution = static_cast<std::uint32_t>(TileDistribution::OutputStationary);
    greedy.inner = 1;
    greedy.split_rows = greedy.split_columns = greedy.weight_slabs = greedy.weight_columns = 1;
    greedy.weight_copies = greedy.rows;
    greedy.temporary_standard = temporary;
    greedy.largest_standard = 0;   // the estimate does not know that it is one block
    greedy.key = pool_append(tasks.name_pool, "greedy");
    plans.insert(plans.begin() + up.first_plan, greedy);
    tasks.tile_plans.assign(plans.begin(), plans.end());
    up.plan_count = 2;
    tasks.tile_plans.erase(tasks.tile_plans.begin() + up.first_plan + 2, tasks.tile_plans.begin() + tasks.tile_operators[1].first_plan + 1);
    std::uint32_t next = 2;
    for (std::size_t op = 1; op < tasks.tile_operators.size(); ++op) {
        tasks.tile_operators[op].first_plan = next;
        next += tasks.tile_operators[op].plan_count;
    }
    return tasks;
}

struct Feedback {
    std::vector<std::pair<std::string, std::string>> constraints;
    std::vector<std::string> reasons;
    bool placed = false;
    std::string choice;
};

/// The loop that the pipeline runs: at most `limit` attempts.
Feedback run_feedback(const TasksColumns& tasks, const TargetColumns& target, int limit) {
    Feedback feedback;
    for (int attempt = 0; attempt < limit && !feedback.placed; ++attempt) {
        PlanningOptions options;
        options.forbidden = feedback.constraints;
        const auto schedules = make_schedules(view(tasks), view(target), options, {});
        const LoweredProgram lowered = lower(view(tasks), view(schedules[0]), view(target));
        feedback.choice = pool_text(tasks.name_pool, tasks.tile_plans[schedules[0].plan_choice[0]].key);
        if (!lowered.failure) {
            feedback.placed = true;
            (void)check_allocations(lowered.program, tasks, schedules[0], view(target));
            continue;
        }
        // The constraint names a plan that this schedule uses and that no earlier constraint names.
        const std::pair<std::string, std::string> constraint(lowered.failure->operator_name, lowered.failure->plan_key);
        bool used = false;
        for (std::size_t op = 0; op < tasks.tile_operators.size(); ++op) {
            used = used || (pool_text(tasks.name_pool, tasks.tile_operators[op].name) == constraint.first &&
                            pool_text(tasks.name_pool, tasks.tile_plans[schedules[0].plan_choice[op]].key) == constraint.second);
        }
        CHECK(used);
        CHECK(std::ranges::find(feedback.constraints, constraint) == feedback.constraints.end());
        CHECK(lowered.failure->bytes > lowered.failure->largest_free);
        feedback.constraints.push_back(constraint);
        feedback.reasons.push_back(lowered.failure->text);
    }
    return feedback;
}

}  // namespace

namespace {

/// Bytes of the fullest tile's exchange rows.
std::uint64_t exchange_row_bytes(const ProgramColumns& program) {
    std::uint64_t most = 0;
    for (const TileBuffer& buffer : program.tile_buffers) {
        if (static_cast<TileBufferKind>(buffer.kind) != TileBufferKind::ExchangeRows) continue;
        for (std::uint32_t i = 0; i < buffer.allocation_count; ++i) most = std::max<std::uint64_t>(most, program.allocations[buffer.first_allocation + i].bytes);
    }
    return most;
}

}  // namespace

TEST_CASE("estimates are conservative: no plan is placed in more than it was estimated to need") {
    Random random(8);
    int compared = 0;
    for (int round = 0; round < 12; ++round) {
        TargetColumns target = test::c600(round % 2 == 0 ? ExchangeDiscipline::Exclusive : ExchangeDiscipline::FullDuplex);
        target.core_count = 24 + random.below(80);
        const bool bias = random.below(2) == 0;
        test::GraphBuilder g;
        const std::uint32_t x = g.input("x", {1, 24 + random.below(140), 64 * (1 + random.below(6))});
        const std::uint32_t up = g.linear("up", x, 16 * (1 + random.below(30)), bias);
        const std::uint32_t gelu = g.unary(OperatorKind::Gelu, "gelu", up);
        g.real(AttributeKey::Alpha, 0);
        g.output(g.linear("down", gelu, 64 * (1 + random.below(4)), bias));
        const TasksColumns tasks = prepare(view(g.graph()), view(target), {});
        for (int choice = 0; choice < 25; ++choice) {
            PlanningOptions options;
            options.planner.finalists = 1;
            options.refinements = 0;
            for (const std::uint32_t op : {0U, 2U}) {
                const TileOperator& row = tasks.tile_operators[op];
                const TilePlan& plan = tasks.tile_plans[row.first_plan + random.below(row.plan_count)];
                options.required.emplace_back(pool_text(tasks.name_pool, row.name), pool_text(tasks.name_pool, plan.key));
            }
            std::vector<ScheduleColumns> schedules;
            try {
                schedules = make_schedules(view(tasks), view(target), options, {});
            } catch (const Failure&) {
                continue;   // does not fit
            }
            const LoweredProgram lowered = lower(view(tasks), view(schedules[0]), view(target));
            if (lowered.failure) continue;
            const TileEstimate& estimate = schedules[0].tile_estimate[0];
            INFO(options.required[0].second << "; " << options.required[1].second);
            CHECK(exchange_row_bytes(lowered.program) <= estimate.row_bytes);
            for (const PlacedBytes& step : placed_bytes(view(lowered.program), target.core_count)) {
                CHECK(step.interleaved <= estimate.interleaved_bytes);
                CHECK(step.standard <= estimate.standard_bytes + estimate.row_bytes);
            }
            ++compared;
        }
    }
    CHECK(compared > 100);
}

TEST_CASE("programs of random small networks are placed without overlap; results stand over operands that die") {
    Random random(1);
    std::uint64_t shared = 0;
    for (int round = 0; round < 6; ++round) {
        TargetColumns target = test::c600();
        target.core_count = 16 + random.below(80);
        const GraphColumns graph = test::mlp_graph(1, 20 + random.below(100), 64 * (1 + random.below(4)), 64 * (1 + random.below(8)));
        const test::Chain chain(graph, target);
        REQUIRE(!chain.lowered.failure);
        shared += check_allocations(chain.lowered.program, chain.tasks, chain.schedules[0], view(target));
    }
    TargetColumns target = test::c600();
    target.core_count = 96;
    const test::Chain block(test::block_graph(64, 128, 256, 4), target);
    REQUIRE(!block.lowered.failure);
    shared += check_allocations(block.lowered.program, block.tasks, block.schedules[0], view(target));
    CHECK(shared > 0);
    // With views, and their readers' results in their place.
    shared = 0;
    for (const GraphColumns& graph : {test::mixer_graph(48, 128, 64, 256), test::efficient_attention_graph(64, 128, 4)}) {
        const test::Chain chain(graph, target);
        REQUIRE(!chain.lowered.failure);
        shared += check_allocations(chain.lowered.program, chain.tasks, chain.schedules[0], view(target));
    }
    CHECK(shared > 0);
}

TEST_CASE("nothing stands where code is or fetch reads ahead of it, and without a guard something does") {
    const auto inside = [](std::uint32_t support, std::uint32_t guard, std::uint32_t bytes) {
        TargetColumns target = test::c600();
        target.core_count = 64;
        target.ipu21.standard_begin = target.ipu21.interleaved_begin - 4096;   // a region that rows and constants fill
        target.ipu21.support_bytes = support;
        target.ipu21.fetch_guard_bytes = guard;
        const test::Chain chain(test::block_graph(64, 128, 256, 4), target);
        REQUIRE(!chain.lowered.failure);
        (void)check_allocations(chain.lowered.program, chain.tasks, chain.schedules[0], view(target));
        return std::ranges::count_if(chain.lowered.program.allocations, [&](const TileAllocation& a) {
            return a.address < target.ipu21.interleaved_begin && a.address + a.bytes > target.ipu21.interleaved_begin - bytes;
        });
    };
    CHECK(inside(0, 2048, 2048) == 0);
    CHECK(inside(2048, 64, 2048) == 0);
    CHECK(inside(64, 2048, 2048) == 0);
    CHECK(inside(0, 0, 2048) > 0);
}

TEST_CASE("what the host sends and receives: every copy to the tiles, every element back once") {
    TargetColumns target = test::c600();
    target.core_count = 64;
    const test::Chain chain(test::block_graph(60, 128, 256, 4), target);
    REQUIRE(!chain.lowered.failure);
    const auto& transfers = chain.lowered.program.tile_host;
    REQUIRE(transfers.size() == 2);
    const auto layout_of = [&](const TileHostTransfer& t) { return chain.tasks.tile_layouts[chain.lowered.program.tile_buffers[t.buffer].layout]; };
    const std::uint64_t bytes = std::uint64_t{60} * 128 * 2;
    CHECK(transfers[0].from_tiles == 0);
    CHECK(transfers[0].tensor_bytes == bytes);
    CHECK(transfers[0].tile_bytes == bytes * layout_of(transfers[0]).replicas);
    CHECK(transfers[1].from_tiles == 1);
    CHECK(transfers[1].tensor_bytes == bytes);
    CHECK(transfers[1].tile_bytes == bytes);
    // Parts of at most 1,024 and 256 bytes a packet.
    CHECK(transfers[0].packets >= transfers[0].tile_bytes / 1024);
    CHECK(transfers[1].packets >= transfers[1].tile_bytes / 256);
    CHECK(transfers[1].packets <= transfers[1].tile_bytes / 256 + layout_tiles(layout_of(transfers[1])));
    CHECK(transfers[0].rendezvous == 1);
    CHECK(ipu21::table(view(chain.lowered.program), view(target), view(chain.timing)).find(fmt::format("to the host: {} bytes", bytes)) != std::string::npos);
    const auto refused = [&](auto&& change) {
        ProgramColumns changed = chain.lowered.program;
        change(changed.tile_host[0]);
        try {
            validate(view(changed), "program");
        } catch (const Failure& failure) {
            return failure.status() == ExitStatus::bad_input;
        }
        return false;
    };
    CHECK(refused([](TileHostTransfer& t) { t.buffer = 1U << 20U; }));
    CHECK(refused([](TileHostTransfer& t) { t.from_tiles = 2; }));
    CHECK(refused([](TileHostTransfer& t) { t.unused = 1; }));
    CHECK(refused([](TileHostTransfer& t) { t.tile_bytes = ~std::uint64_t{0}; }));
    // A chip whose host exchange nobody described.
    for (std::uint32_t* field : {&target.ipu21.host_page_bytes, &target.ipu21.host_short_packet_bytes, &target.ipu21.host_long_packet_bytes,
                                 &target.ipu21.host_read_packet_bytes, &target.ipu21.host_window_bytes}) {
        *field = 0;
    }
    validate(view(target), "target");
    CHECK(lower(view(chain.tasks), view(chain.schedules[0]), view(target)).program.tile_host.empty());
    target.ipu21.host_page_bytes = 4096;
    CHECK_THROWS_AS(validate(view(target), "target"), Failure);
}

TEST_CASE("an element-wise result stands in its operand's place, and only where nobody needs the operand") {
    TargetColumns target = test::c600();
    target.core_count = 64;
    const auto addresses = [&](bool kept) {
        test::GraphBuilder g;
        const std::uint32_t x = g.input("x", {1, 64, 64});
        const std::uint32_t up = g.linear("up", x, 128);
        const std::uint32_t gelu = g.unary(OperatorKind::Gelu, "gelu", up);
        g.real(AttributeKey::Alpha, 0);
        if (kept) g.output(up);
        g.output(g.linear("down", gelu, 64));
        const TasksColumns all = prepare(view(g.graph()), view(target), {});
        // In the layout and class that the product leaves.
        const TileOperator& product = all.tile_operators[0];
        PrepareOptions options;
        options.forced = {{"up", std::string(pool_text(all.name_pool, all.tile_plans[product.first_plan].key))},
                          {"gelu", fmt::format("local [{}] to interleaved", to_text(all.tile_layouts[all.tile_plans[product.first_plan].output_layout]))}};
        const test::Chain chain(g.graph(), target, options);
        REQUIRE(!chain.lowered.failure);
        (void)check_allocations(chain.lowered.program, chain.tasks, chain.schedules[0], view(target));
        std::map<std::uint32_t, std::uint32_t> of_value;   // address on tile 0
        for (const TileBuffer& buffer : chain.lowered.program.tile_buffers) {
            if (static_cast<TileBufferKind>(buffer.kind) == TileBufferKind::Value) of_value[buffer.value] = chain.lowered.program.allocations[buffer.first_allocation].address;
        }
        return std::pair(of_value.at(chain.tasks.tile_operators[0].output), of_value.at(chain.tasks.tile_operators[1].output));
    };
    const auto [operand, result] = addresses(false);
    CHECK(operand == result);
    const auto [kept_operand, other_result] = addresses(true);
    CHECK(kept_operand != other_result);
}

TEST_CASE("feedback: a plan that fits the estimate and not the memory is named, avoided, and the next one chosen") {
    const GraphColumns graph = test::mlp_graph(1, 256, 256, 512);
    TargetColumns target = test::c600();
    target.core_count = 96;
    // A plan that does fit triggers nothing.
    const Feedback fits = run_feedback(tight_tasks(graph, target, 50'000), target, 4);
    CHECK(fits.placed);
    CHECK(fits.constraints.empty());
    CHECK(fits.choice == "greedy");
    // Nearly all of the standard region in one block, and less and less behind the interleaved data: at some point the rest would fit if it
    // could be cut.
    const TasksColumns tasks = tight_tasks(graph, target, 110'000);
    int named = 0;
    for (std::uint32_t end = target.ipu21.interleaved_begin + 131'072; end > target.ipu21.interleaved_begin + 32'768 && named < 3; end -= 1024) {
        target.ipu21.placeable_end = end;
        Feedback feedback;
        try {
            feedback = run_feedback(tasks, target, 4);
        } catch (const Failure&) {
            continue;   // nothing is estimated to fit
        }
        if (feedback.constraints.empty()) continue;
        CHECK(feedback.placed);
        CHECK(feedback.constraints[0] == std::pair<std::string, std::string>("up", "greedy"));
        CHECK(feedback.choice != "greedy");
        MESSAGE(feedback.reasons[0]);
        CHECK(feedback.reasons[0].find(" memory for ") != std::string::npos);
        ++named;
    }
    CHECK(named == 3);
}

TEST_CASE("where every plan is forbidden the search says so") {
    const TargetColumns target = test::c600();
    const GraphColumns graph = test::mlp_graph(1, 256, 256, 512);
    const TasksColumns tasks = tight_tasks(graph, target, 50'000);
    PlanningOptions options;
    for (std::uint32_t row = 0; row < 2; ++row) {
        options.forbidden.emplace_back("up", std::string(pool_text(tasks.name_pool, tasks.tile_plans[row].key)));
    }
    try {
        (void)make_schedules(view(tasks), view(target), options, {});
        FAIL("it found a plan");
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::refused);
        CHECK(std::string(failure.what()).find("'up'") != std::string::npos);
    }
}

TEST_CASE("a network that no tile can hold is refused with what it needs") {
    TargetColumns target = test::c600();
    target.core_count = 2;
    try {
        (void)test::Chain(test::mlp_graph(4, 729, 1152, 4608), target);
        FAIL("it was planned");
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::refused);
        CHECK(std::string(failure.what()).find("fits") != std::string::npos);
    }
}

TEST_CASE("schedules that do not belong to the tasks are refused") {
    const TargetColumns target = test::c600();
    const test::Chain chain(test::mlp_graph(1, 64, 64, 128), target);
    const auto status = [&](const ScheduleColumns& schedule) {
        try {
            (void)lower(view(chain.tasks), view(schedule), view(target));
        } catch (const Failure& failure) {
            return failure.status();
        }
        return ExitStatus::done;
    };
    ScheduleColumns wrong = chain.schedules[0];
    CHECK(status(wrong) == ExitStatus::done);
    wrong.plan_choice.pop_back();
    CHECK(status(wrong) == ExitStatus::bad_input);
    wrong = chain.schedules[0];
    wrong.plan_choice[0] = static_cast<std::uint32_t>(chain.tasks.tile_plans.size() - 1);
    CHECK(status(wrong) == ExitStatus::bad_input);
    wrong = chain.schedules[0];
    wrong.conversions.insert(wrong.conversions.begin(), {0, 0, 1, 0, 0});
    CHECK(status(wrong) == ExitStatus::bad_input);
    // Tasks whose plans do not fit the target or their operator.
    const auto status_of_tasks = [&](const auto& change) {
        TasksColumns tasks = chain.tasks;
        change(tasks.tile_plans[chain.schedules[0].plan_choice[0]]);
        try {
            validate(view(tasks), "changed.tasks");
            (void)lower(view(tasks), view(chain.schedules[0]), view(target));
        } catch (const Failure& failure) {
            return failure.status();
        }
        return ExitStatus::done;
    };
    CHECK(status_of_tasks([](TilePlan&) {}) == ExitStatus::done);
    CHECK(status_of_tasks([](TilePlan& plan) { plan.rows = 2000; }) == ExitStatus::bad_input);
    CHECK(status_of_tasks([](TilePlan& plan) { plan.inner_block = 0; }) == ExitStatus::bad_input);
    CHECK(status_of_tasks([](TilePlan& plan) { plan.distribution = 0; }) == ExitStatus::bad_input);
    CHECK(status_of_tasks([](TilePlan& plan) { plan.distribution = 3; plan.split_rows = 7; }) == ExitStatus::bad_input);
}
