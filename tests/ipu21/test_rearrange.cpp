#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/random.h"
#include "chain.h"
#include "graphs.h"
#include "ipu21/batched_product.h"
#include "ipu21/operand.h"
#include "ipu21/rearrange.h"
#include "machine.h"

using namespace weft;
using namespace weft::ipu21;
using test::GraphBuilder;
using test::transpose;
using K = TileOperatorKind;

namespace {

/// Input element of every output element, one by one.
std::vector<std::uint32_t> sources(const Rearrangement& r) {
    std::vector<std::uint32_t> result;
    std::vector<std::uint32_t> index(r.axes.size(), 0);
    const std::uint32_t elems = r.output.rows * r.output.columns;
    for (std::uint32_t o = 0; o < elems; ++o) {
        std::uint32_t source = 0;
        for (std::size_t a = 0; a < index.size(); ++a) source += index[a] * r.axes[a].input_stride;
        result.push_back(source);
        for (std::size_t a = index.size(); a-- > 0;) {
            if (++index[a] < r.axes[a].extent) break;
            index[a] = 0;
        }
    }
    return result;
}

/// A permutation of the axes of a random tensor, cut into rows of random lengths on both sides.
Rearrangement random_rearrangement(Random& random) {
    std::vector<std::uint32_t> extents;
    const std::size_t rank = 1 + random.below(4);
    for (std::size_t i = 0; i < rank; ++i) extents.push_back(1 + random.below(6));
    std::vector<std::uint32_t> strides(rank);
    std::uint32_t elems = 1;
    for (std::size_t i = rank; i-- > 0;) {
        strides[i] = elems;
        elems *= extents[i];
    }
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = rank; i-- > 1;) std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i + 1))]);
    Rearrangement r;
    for (const std::size_t axis : order) r.axes.push_back({extents[axis], strides[axis]});
    std::vector<std::uint32_t> divisors;
    for (std::uint32_t d = 1; d <= elems; ++d) {
        if (elems % d == 0) divisors.push_back(d);
    }
    const auto shape = [&] {
        const std::uint32_t columns = divisors[random.below(static_cast<std::uint32_t>(divisors.size()))];
        return MatrixShape{elems / columns, columns};
    };
    r.input = shape();
    r.output = shape();
    return r;
}

/// Elements of a matrix on a tile, row by row.
std::vector<std::uint32_t> held(const TileLayout& layout, MatrixShape shape, std::uint32_t tile) {
    const LayoutPart part = part_on(layout, tile);
    std::vector<std::uint32_t> result;
    if (!part.held) return result;
    const Interval rows = rows_of(layout, shape, part.row);
    const Interval columns = columns_of(layout, shape, part.column);
    for (std::uint32_t r = rows.begin; r < rows.end; ++r) {
        for (std::uint32_t c = columns.begin; c < columns.end; ++c) result.push_back(r * shape.columns + c);
    }
    return result;
}

/// What the output's elements on a tile are in the input, in the output's order.
std::vector<std::uint32_t> taken(const Rearrangement& r, std::span<const std::uint32_t> source, const TileLayout& output, std::uint32_t tile) {
    std::vector<std::uint32_t> result;
    for (const std::uint32_t elem : held(output, r.output, tile)) result.push_back(source[elem]);
    return result;
}

/// The rows of a part as columns.
std::vector<std::uint32_t> turned(const std::vector<std::uint32_t>& elems, std::size_t rows) {
    std::vector<std::uint32_t> result;
    const std::size_t columns = rows == 0 ? 0 : elems.size() / rows;
    for (std::size_t c = 0; c < columns; ++c) {
        for (std::size_t r = 0; r < rows; ++r) result.push_back(elems[r * columns + c]);
    }
    return result;
}

std::size_t rows_on(const TileLayout& layout, MatrixShape shape, std::uint32_t tile) {
    const LayoutPart part = part_on(layout, tile);
    return part.held ? rows_of(layout, shape, part.row).length() : 0;
}

/// Every tile holds the same elements under both layouts, and finds them in the order that `local` promises.
void check_carried(const Rearrangement& r, const TileLayout& input, const TileLayout& output, LocalOrder local) {
    const std::vector<std::uint32_t> source = sources(r);
    for (std::uint32_t tile = 0; tile < layout_tiles(input); ++tile) {
        std::vector<std::uint32_t> before = held(input, r.input, tile);
        std::vector<std::uint32_t> after = taken(r, source, output, tile);
        if (local == LocalOrder::Same || local == LocalOrder::Linear) CHECK(before == after);
        if (local == LocalOrder::Same && !before.empty()) CHECK(rows_on(input, r.input, tile) == rows_on(output, r.output, tile));
        if (local == LocalOrder::Transposed) CHECK(turned(before, rows_on(input, r.input, tile)) == after);
        std::ranges::sort(before);
        std::ranges::sort(after);
        CHECK(before == after);
    }
}

TileLayout random_layout(Random& random, MatrixShape shape, std::uint32_t tiles) {
    TileLayout layout{};
    layout.elem_bytes = 2;
    layout.row_parts = 1 + random.below(std::min(shape.rows, tiles));
    layout.column_parts = 1 + random.below(std::min(shape.columns, tiles / layout.row_parts));
    layout.replicas = 1 + random.below(2);
    const bool by_rows = random.below(2) == 0;
    layout.row_stride = by_rows ? layout.column_parts * layout.replicas : layout.replicas;
    layout.column_stride = by_rows ? layout.replicas : layout.row_parts * layout.replicas;
    layout.replica_stride = 1;
    layout.row_grain = 1 + random.below(3);
    layout.column_grain = 1 + random.below(3);
    return layout;
}

std::vector<K> kinds_of(const TasksColumns& tasks) {
    std::vector<K> kinds;
    for (const TileOperator& op : tasks.tile_operators) kinds.push_back(static_cast<K>(op.kind));
    return kinds;
}

TargetColumns machine_of(std::uint32_t tiles) {
    TargetColumns target = test::c600();
    target.core_count = tiles;
    return target;
}

}  // namespace

TEST_CASE("rearrangements: refined and inverted ones are the same permutation") {
    Random random(3);
    for (int i = 0; i < 2000; ++i) {
        const Rearrangement r = random_rearrangement(random);
        REQUIRE(is_permutation(r));
        const Rearrangement fine = refined(r);
        REQUIRE(is_permutation(fine));
        const auto source = sources(r);
        REQUIRE(sources(fine) == source);
        const auto back = sources(inverse(fine));
        for (std::uint32_t o = 0; o < source.size(); ++o) REQUIRE(back[source[o]] == o);
    }
    CHECK(!is_permutation({{2, 3}, {3, 2}, {{3, 1}, {2, 2}}}));
    CHECK(!is_permutation({{2, 3}, {2, 4}, {{6, 1}}}));
    CHECK(!is_permutation({{2, 3}, {2, 3}, {{0, 1}}}));
}

TEST_CASE("rearrangements: carried layouts keep every element on its tile, in the order that they say") {
    Random random(4);
    std::uint64_t carried_count = 0;
    std::array<std::uint64_t, 4> locals{};
    for (int i = 0; i < 10000; ++i) {
        const Rearrangement r = refined(random_rearrangement(random));
        const TileLayout input = random_layout(random, r.input, 12);
        LocalOrder local{};
        const auto carried = carried_layout(r, input, &local);
        if (!carried) continue;
        ++carried_count;
        ++locals[static_cast<std::size_t>(local)];
        check_carried(r, input, *carried, local);
        // And back again.
        const auto back = carried_layout(inverse(r), *carried);
        REQUIRE(back);
        const auto again = with_grains(*back, r.input, input.row_grain, input.column_grain);
        REQUIRE(again);
        CHECK(again->row_parts == input.row_parts);
        CHECK(again->column_parts == input.column_parts);
    }
    CHECK(carried_count > 1000);
    for (const std::uint64_t count : locals) CHECK(count > 25);
}

TEST_CASE("rearrangements: of what is cut the most tiles are used") {
    Random random(5);
    for (int i = 0; i < 500; ++i) {
        const Rearrangement r = refined(random_rearrangement(random));
        const auto pairs = carried_pairs(r, 16, 8);
        REQUIRE(!pairs.empty());
        for (const CarriedPair& pair : pairs) {
            CHECK(layout_tiles(pair.input) == layout_tiles(pair.output));
            CHECK(layout_tiles(pair.input) <= layout_tiles(pairs[0].input));
            check_carried(r, pair.input, pair.output, pair.local);
        }
    }
    // A head split may use all heads times as many runs of tokens as fit.
    const Rearrangement heads = refined({{64, 96}, {384, 16}, {{6, 16}, {64, 96}, {16, 1}}});
    CHECK(layout_tiles(carried_pairs(heads, 100, 1)[0].input) == 96);
}

TEST_CASE("rearrangements: what the matrix unit reads transposed is a view") {
    const Rearrangement r = refined({{64, 128}, {128, 64}, {{128, 1}, {64, 128}}});
    TileLayout left{static_cast<std::uint32_t>(TileOrder::AmpTransposedLeft), 0, 2, 4, 2, 1, 2, 1, 8, 16, 16};
    LocalOrder local{};
    const auto carried = carried_layout(r, left, &local);
    REQUIRE(carried);
    CHECK(local == LocalOrder::Transposed);
    const auto view = viewed_layout(r, left, *carried, local);
    REQUIRE(view);
    CHECK(view->order == static_cast<std::uint32_t>(TileOrder::AmpLeft));
    CHECK(view->row_parts == 2);
    CHECK(view->column_parts == 4);
    left.order = static_cast<std::uint32_t>(TileOrder::AmpOutput);
    CHECK(!viewed_layout(r, left, *carried, local));
}

TEST_CASE("a transpose between two products has a plan; where the first is computed swapped it may cost nothing") {
    GraphBuilder g;
    const std::uint32_t up = g.linear("up", g.input("x", {1, 192, 96}), 160);
    g.output(g.linear("down", transpose(g, "turn", up, {0, 2, 1}), 128));
    const test::Chain chain(g.graph(), machine_of(64));
    REQUIRE(!chain.lowered.failure);
    CHECK(kinds_of(chain.tasks) == std::vector<K>{K::Gemm, K::Rearrange, K::Gemm});
    const TileOperator& turn = chain.tasks.tile_operators[1];
    CHECK(turn.m == 160);
    CHECK(turn.n == 192);
    std::uint64_t views = 0;
    for (std::uint32_t row = turn.first_plan; row < turn.first_plan + turn.plan_count; ++row) {
        const TilePlan& plan = chain.tasks.tile_plans[row];
        const bool view = plan.distribution == static_cast<std::uint32_t>(TileDistribution::View);
        views += view ? 1 : 0;
        CHECK((plan.local_cycles == 0) == view);
        CHECK(plan.exchange_cycles == 0);
    }
    CHECK(views > 0);
    CHECK(views < turn.plan_count);
    const TileOperatorTiming& timing = chain.timing.tile_operators[1];
    MESSAGE("transpose of [192, 160] on 64 tiles: ", chain.key(1), ": ", timing.local_cycles, " local, ", timing.exchange_cycles, " exchange, ", timing.staging_cycles, " staging; whole ",
            chain.timing.latency_cycles);
    CHECK(chain.timing.latency_cycles == chain.schedules[0].tile_estimate[0].cycles);
}

TEST_CASE("views stand in the place of what they show, and nothing is written over it while either is read") {
    GraphBuilder g;
    const std::uint32_t up = g.linear("up", g.input("x", {1, 192, 96}), 160);
    const std::uint32_t turned_up = transpose(g, "turn", up, {0, 2, 1});
    const std::uint32_t soft = g.unary(OperatorKind::Softmax, "softmax", up);   // may be written over `up` only where the view is dead
    g.ints(AttributeKey::Axis, {2});
    g.output(g.linear("down", turned_up, 128));
    g.output(g.linear("other", soft, 64));
    const TargetColumns target = machine_of(64);
    TasksColumns tasks = prepare(view(g.graph()), view(target), {});
    std::uint64_t tried = 0;
    const auto turn_id = static_cast<std::uint32_t>(std::ranges::find(tasks.tile_operators, static_cast<std::uint32_t>(K::Rearrange), &TileOperator::kind) - tasks.tile_operators.begin());
    REQUIRE(turn_id < tasks.tile_operators.size());
    const TileOperator turn = tasks.tile_operators[turn_id];
    for (std::uint32_t row = turn.first_plan; row < turn.first_plan + turn.plan_count && tried < 6; ++row) {
        if (tasks.tile_plans[row].distribution != static_cast<std::uint32_t>(TileDistribution::View)) continue;
        PlanningOptions options;
        options.refinements = 0;
        options.required = {{"turn", std::string(pool_text(tasks.name_pool, tasks.tile_plans[row].key))}};
        const auto schedules = make_schedules(view(tasks), view(target), options, {});
        const LoweredProgram lowered = lower(view(tasks), view(schedules[0]), view(target));
        if (lowered.failure) continue;
        ++tried;
        // Every buffer by its value; the last one of a value that is converted is what the view was made of or comes after.
        const auto& program = lowered.program;
        const auto allocation_on = [&](const TileBuffer& buffer, std::uint32_t tile) -> const TileAllocation* {
            for (std::uint32_t i = buffer.first_allocation; i < buffer.first_allocation + buffer.allocation_count; ++i) {
                if (program.allocations[i].tile == tile) return &program.allocations[i];
            }
            return nullptr;
        };
        const auto shown = std::ranges::find_if(program.tile_buffers, [&](const TileBuffer& b) { return b.value == turn.output && b.operator_index == turn_id; });
        REQUIRE(shown != program.tile_buffers.end());
        const std::uint32_t source_layout = tasks.plan_layouts[tasks.tile_plans[row].first_layout];
        const auto source = std::ranges::find_if(program.tile_buffers, [&](const TileBuffer& b) {
            return b.value == tasks.tile_inputs[turn.first_input] && b.layout == source_layout && b.first_step <= shown->first_step && b.last_step >= shown->first_step;
        });
        REQUIRE(source != program.tile_buffers.end());
        for (std::uint32_t tile = 0; tile < target.core_count; ++tile) {
            const TileAllocation* a = allocation_on(*source, tile);
            const TileAllocation* b = allocation_on(*shown, tile);
            REQUIRE((a == nullptr) == (b == nullptr));
            if (a == nullptr) continue;
            CHECK(a->address == b->address);
            // Others that live beside either of them stand elsewhere.
            for (const TileBuffer& other : program.tile_buffers) {
                if (&other == &*source || &other == &*shown) continue;
                const bool beside = (other.first_step <= shown->last_step && shown->first_step <= other.last_step);
                const TileAllocation* c = allocation_on(other, tile);
                if (!beside || c == nullptr || c->address + c->bytes <= a->address || a->address + std::max(a->bytes, b->bytes) <= c->address) continue;
                CHECK(other.value != no_id);
                CHECK(other.first_step >= shown->last_step - 1);   // a result over the view where that is read last
            }
        }
    }
    CHECK(tried > 0);
}

TEST_CASE("shapes that share no rows are refused by name; large ones need a cut") {
    GraphBuilder g;
    const std::uint32_t up = g.linear("up", g.input("x", {1, 997, 96}), 1013);
    const std::uint32_t turned_up = g.node(OperatorKind::Reshape, "odd", {up}, {1, 1013, 997});
    g.output(g.linear("down", turned_up, 16));
    try {
        (void)prepare(view(g.graph()), view(test::c600()), {});
        FAIL("it was accepted");
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::refused);
        CHECK(std::string(failure.what()).find("'odd'") != std::string::npos);
    }
}

TEST_CASE("runs of Reshape and Transpose are one rearrangement, or none where nothing moves") {
    GraphBuilder g;
    const std::uint32_t up = g.linear("up", g.input("x", {1, 64, 96}), 96);
    const std::uint32_t split = g.node(OperatorKind::Reshape, "split", {up}, {1, 64, 6, 16});
    const std::uint32_t heads = transpose(g, "heads", split, {0, 2, 1, 3});
    const std::uint32_t soft = g.unary(OperatorKind::Softmax, "softmax", heads);
    g.ints(AttributeKey::Axis, {3});
    const std::uint32_t back = transpose(g, "back", soft, {0, 2, 1, 3});
    const std::uint32_t joined = g.node(OperatorKind::Reshape, "joined", {back}, {1, 64, 96});
    const std::uint32_t there = transpose(g, "there", joined, {0, 2, 1});
    const std::uint32_t home = transpose(g, "home", there, {0, 2, 1});
    g.output(g.linear("down", home, 64));
    const test::Chain chain(g.graph(), machine_of(64));
    REQUIRE(!chain.lowered.failure);
    CHECK(kinds_of(chain.tasks) == std::vector<K>{K::Gemm, K::Rearrange, K::Softmax, K::Rearrange, K::Gemm});
    // Softmax over runs of 16 columns where they stand: the heads of a run of tokens lie in whole rows of the split matrix.
    MESSAGE("head split: ", chain.key(1));
    MESSAGE("head merge: ", chain.key(3));
}

TEST_CASE("products of two activations: matrix by matrix, with one matrix for all, and with a transposed side") {
    for (const bool transposed : {false, true}) {
        for (const std::uint32_t batch : {1U, 6U}) {
            GraphBuilder g;
            const std::uint32_t a = g.linear("a", g.input("x", {batch, 48, 64}), 80);
            const std::uint32_t b = g.linear("b", g.input("y", {batch, transposed ? 96U : 80U, 64}), transposed ? 80 : 96);
            const std::uint32_t right = transposed ? transpose(g, "turn", b, {0, 2, 1}) : b;
            const std::uint32_t product = g.node(OperatorKind::MatMul, "product", {a, right}, {batch, 48, 96});
            g.output(g.linear("down", product, 32));
            const test::Chain chain(g.graph(), machine_of(64));
            REQUIRE(!chain.lowered.failure);
            const std::size_t at = transposed ? 3 : 2;
            const TileOperator& op = chain.tasks.tile_operators[at];
            REQUIRE(static_cast<K>(op.kind) == K::Product);
            CHECK(op.batch == batch);
            CHECK(op.m == 48);
            CHECK(op.k == 80);
            CHECK(op.n == 96);
            const TileOperatorTiming& timing = chain.timing.tile_operators[at];
            CHECK(timing.local_cycles > 0);
            CHECK(chain.timing.latency_cycles == chain.schedules[0].tile_estimate[0].cycles);
            MESSAGE(batch, std::string(transposed ? " transposed: " : ": "), chain.key(at), ", local ", timing.local_cycles, ", whole ", chain.timing.latency_cycles);
            if (transposed) MESSAGE("  turn: ", chain.key(2));
        }
    }
    GraphBuilder g;
    const std::uint32_t a = g.linear("a", g.input("x", {6, 48, 64}), 80);
    const std::uint32_t b = g.linear("b", g.input("y", {1, 80, 64}), 96);
    g.output(g.node(OperatorKind::MatMul, "product", {a, b}, {6, 48, 96}));
    const test::Chain chain(g.graph(), machine_of(64));
    REQUIRE(!chain.lowered.failure);
    CHECK(chain.tasks.tile_operators[2].batch == 1);
    CHECK(chain.tasks.tile_operators[2].m == 6 * 48);
}

TEST_CASE("products of two activations: every tile has the rows and columns that it multiplies") {
    Random random(6);
    std::uint64_t legal = 0;
    for (int i = 0; i < 20000; ++i) {
        BatchedProduct p;
        p.batch = 1 + random.below(6);
        p.m = 1 + random.below(12);
        p.n = 1 + random.below(70);
        p.k = 1 + random.below(40);
        p.groups = 1 + random.below(6);
        p.rows = 1 + random.below(4);
        p.columns = 1 + random.below(4);
        if (!is_legal(p)) continue;
        ++legal;
        const TileLayout a = streamed_layout(p);
        const TileLayout b = loaded_layout(p);
        const TileLayout result = result_layout(p, TileMemory::Interleaved);
        for (const TileLayout& layout : {a, b, result}) {
            REQUIRE(is_bijection(layout));
            REQUIRE(layout_tiles(layout) == p.tiles());
        }
        for (std::uint32_t tile = 0; tile < p.tiles(); ++tile) {
            const Interval rows = rows_of(result, {p.batch * p.m, p.n}, part_on(result, tile).row);
            const Interval columns = columns_of(result, {p.batch * p.m, p.n}, part_on(result, tile).column);
            if (rows.length() == 0 || columns.length() == 0) continue;
            const Interval a_rows = rows_of(a, {p.batch * p.m, p.k}, part_on(a, tile).row);
            CHECK(a_rows == rows);
            const Interval b_columns = columns_of(b, {p.batch * p.k, p.n}, part_on(b, tile).column);
            CHECK(b_columns == columns);
            // Of every matrix that it has rows of, all of b's.
            const Interval b_rows = rows_of(b, {p.batch * p.k, p.n}, part_on(b, tile).row);
            CHECK(b_rows.begin <= rows.begin / p.m * p.k);
            CHECK(b_rows.end >= ((rows.end - 1) / p.m + 1) * p.k);
        }
    }
    CHECK(legal > 1000);
}

TEST_CASE("products of two activations: what has no plan is refused with a reason") {
    const auto refusal = [](GraphBuilder& g) -> std::string {
        try {
            (void)prepare(view(g.graph()), view(machine_of(64)), {});
        } catch (const Failure& failure) {
            CHECK(failure.status() == ExitStatus::refused);
            return failure.what();
        }
        return "";
    };
    {
        GraphBuilder g;
        const std::uint32_t x = g.linear("a", g.input("x", {1, 80, 64}), 96);
        g.output(g.node(OperatorKind::MatMul, "product", {g.weight({48, 80}), x}, {1, 48, 96}));
        CHECK(refusal(g).find("product (MatMul): a constant on its left side") != std::string::npos);
    }
    {
        GraphBuilder g;
        const std::uint32_t a = g.linear("a", g.input("x", {1, 4, 48, 64}), 80);
        const std::uint32_t b = g.linear("b", g.input("y", {3, 1, 80, 64}), 96);
        g.output(g.node(OperatorKind::MatMul, "product", {a, b}, {3, 4, 48, 96}));
        CHECK(refusal(g).find("product (MatMul): it repeats some of its matrices") != std::string::npos);
    }
}

TEST_CASE("a schedule whose rearrangement or product is not its plan's is refused, not lowered") {
    GraphBuilder g;
    const std::uint32_t up = g.linear("up", g.input("x", {1, 192, 96}), 160);
    const std::uint32_t down = g.linear("down", transpose(g, "turn", up, {0, 2, 1}), 128);
    g.output(g.node(OperatorKind::MatMul, "product", {up, down}, {1, 192, 128}));
    const TargetColumns target = machine_of(64);
    const TasksColumns tasks = prepare(view(g.graph()), view(target), {});
    validate(view(tasks), "tasks");
    const auto schedules = make_schedules(view(tasks), view(target), {}, {});
    const auto status = [&](const TasksColumns& changed) {
        try {
            (void)lower(view(changed), view(schedules[0]), view(target));
        } catch (const Failure& failure) {
            return failure.status();
        }
        return ExitStatus::done;
    };
    const auto validity = [&](auto&& change) {
        TasksColumns changed = tasks;
        change(changed);
        try {
            validate(view(changed), "tasks");
        } catch (const Failure& failure) {
            return failure.status();
        }
        return ExitStatus::done;
    };
    CHECK(status(tasks) == ExitStatus::done);
    const std::uint32_t turn_plan = schedules[0].plan_choice[1];
    const std::uint32_t product_plan = schedules[0].plan_choice[3];
    TasksColumns changed = tasks;
    changed.tile_plans[turn_plan].output_layout = tasks.plan_layouts[tasks.tile_plans[turn_plan].first_layout];
    CHECK(status(changed) == ExitStatus::bad_input);
    changed = tasks;
    changed.tile_plans[turn_plan].distribution = static_cast<std::uint32_t>(TileDistribution::AttentionGrid);
    CHECK(status(changed) == ExitStatus::bad_input);
    changed = tasks;
    changed.tile_plans[product_plan].distribution = static_cast<std::uint32_t>(TileDistribution::Local);
    CHECK(status(changed) == ExitStatus::bad_input);
    changed = tasks;
    changed.tile_plans[product_plan].rows += 1;
    CHECK(status(changed) == ExitStatus::bad_input);
    changed = tasks;
    changed.tile_axes[0].input_stride = 2;
    CHECK(validity([](TasksColumns& c) { c.tile_axes[0].input_stride = 2; }) == ExitStatus::bad_input);
    CHECK(validity([](TasksColumns& c) { c.tile_axes[0].extent = 0; }) == ExitStatus::bad_input);
    CHECK(validity([](TasksColumns& c) { c.tile_rearrangements.clear(); }) == ExitStatus::bad_input);
    CHECK(validity([](TasksColumns& c) { c.tile_rearrangements.push_back({2, 0, 1}); }) == ExitStatus::bad_input);
    CHECK(validity([](TasksColumns& c) { c.tile_rearrangements[0].axis_count = 9; }) == ExitStatus::bad_input);
    CHECK(validity([](TasksColumns& c) { c.tile_operators[3].batch = 2; }) == ExitStatus::bad_input);
    CHECK(validity([](TasksColumns& c) { c.tile_operators[3].k += 1; }) == ExitStatus::bad_input);
    CHECK(validity([](TasksColumns&) {}) == ExitStatus::done);
}
