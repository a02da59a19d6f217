#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "ipu21/gemm_cost.h"
#include "ipu21/gemm_memory.h"
#include "ipu21/layout.h"
#include "machine.h"

using namespace weft;
using namespace weft::ipu21;

namespace {

/// A layout whose strides are a random nesting of its three counts.
TileLayout random_layout(Random& random, std::uint32_t most_parts) {
    TileLayout layout{};
    layout.elem_bytes = 2;
    layout.row_parts = 1 + random.below(most_parts);
    layout.column_parts = 1 + random.below(most_parts);
    layout.replicas = 1 + random.below(3);
    layout.row_grain = 1 + random.below(3);
    layout.column_grain = 1 + random.below(4);
    std::uint32_t* strides[] = {&layout.row_stride, &layout.column_stride, &layout.replica_stride};
    const std::uint32_t counts[] = {layout.row_parts, layout.column_parts, layout.replicas};
    std::uint32_t order[] = {0, 1, 2};
    for (std::uint32_t i = 3; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    std::uint32_t stride = 1;
    for (const std::uint32_t axis : order) {
        *strides[axis] = stride;
        stride *= counts[axis];
    }
    return layout;
}

}  // namespace

TEST_CASE("dealing: contiguous, complete, grain by grain, longest first, and inverted by part_of") {
    Random random(1);
    for (int round = 0; round < 500; ++round) {
        const std::uint32_t extent = 1 + random.below(300);
        const std::uint32_t grain = 1 + random.below(20);
        const std::uint32_t parts = 1 + random.below(40);
        std::uint32_t next = 0;
        std::uint32_t longest = ~0U;
        for (std::uint32_t part = 0; part < parts; ++part) {
            const Interval run = dealt_interval(extent, grain, parts, part);
            CHECK(run.begin == next);
            CHECK((run.length() % grain == 0 || run.end == extent));
            const std::uint32_t grains = (run.length() + grain - 1) / grain;
            CHECK(grains <= longest);
            longest = grains;
            for (std::uint32_t i = run.begin; i < run.end; ++i) CHECK(part_of(extent, grain, parts, i) == part);
            next = run.end;
        }
        CHECK(next == extent);
    }
}

TEST_CASE("random layouts number their tiles and name the part on each") {
    Random random(2);
    for (int round = 0; round < 200; ++round) {
        const TileLayout layout = random_layout(random, 6);
        REQUIRE(is_bijection(layout));
        std::set<std::uint32_t> seen;
        for (std::uint32_t r = 0; r < layout.row_parts; ++r) {
            for (std::uint32_t c = 0; c < layout.column_parts; ++c) {
                for (std::uint32_t p = 0; p < layout.replicas; ++p) {
                    const std::uint32_t tile = layout_tile(layout, r, c, p);
                    seen.insert(tile);
                    const LayoutPart part = part_on(layout, tile);
                    CHECK((part.held && part.row == r && part.column == c && part.copy == p));
                }
            }
        }
        CHECK(seen.size() == layout_tiles(layout));
        CHECK(*seen.rbegin() + 1 == layout_tiles(layout));
        CHECK(!part_on(layout, layout_tiles(layout)).held);
    }
    TileLayout wrong = random_layout(random, 6);
    wrong.row_parts = 4;
    wrong.column_parts = 3;
    wrong.replicas = 1;
    wrong.row_stride = 2;
    wrong.column_stride = 1;
    CHECK(!is_bijection(wrong));
}

TEST_CASE("conversions deliver every element that is not there already, once, from a tile that has it") {
    TargetColumns columns = test::c600();
    columns.ipu21.max_transfer_words = 1U << 20U;
    const Target target = view(columns);
    Random random(3);
    for (int round = 0; round < 150; ++round) {
        const MatrixShape shape{1 + random.below(40), 1 + random.below(40)};
        const TileLayout from = random_layout(random, 4);
        TileLayout to = random_layout(random, 4);
        const Phase phase = conversion_phase(target, shape, from, to);
        check_phase(phase, target.core_count, columns.ipu21.max_transfer_words, "conversion");
        // Elements that each tile lacks, counted the slow way.
        std::map<std::uint32_t, std::uint64_t> missing;
        for (std::uint32_t tile = 0; tile < layout_tiles(to); ++tile) {
            const LayoutPart sink = part_on(to, tile);
            const LayoutPart source = part_on(from, tile);
            for (std::uint32_t r = rows_of(to, shape, sink.row).begin; r < rows_of(to, shape, sink.row).end; ++r) {
                for (std::uint32_t c = columns_of(to, shape, sink.column).begin; c < columns_of(to, shape, sink.column).end; ++c) {
                    const bool here = source.held && part_of(shape.rows, from.row_grain, from.row_parts, r) == source.row &&
                                      part_of(shape.columns, from.column_grain, from.column_parts, c) == source.column;
                    if (!here) ++missing[tile];
                }
            }
        }
        std::map<std::uint32_t, std::uint64_t> arrived;   // words, each piece rounded up
        std::map<std::uint32_t, std::uint64_t> pieces;
        for (const Transfer& transfer : phase.transfers) {
            CHECK(part_on(from, transfer.source).held);
            for (const std::uint32_t tile : phase.receivers_of(transfer)) {
                arrived[tile] += transfer.words;
                ++pieces[tile];
            }
        }
        for (const auto& [tile, words] : arrived) CHECK(missing[tile] != 0);
        for (const auto& [tile, elems] : missing) {
            CHECK(2 * arrived[tile] >= elems);
            CHECK(2 * arrived[tile] <= elems + pieces[tile]);
        }
        const ConversionCost cost = estimate_conversion(target, shape, from, to);
        CHECK((cost.phases == 0) == phase.transfers.empty());
    }
}

TEST_CASE("GEMM grids: operands and result agree on the tile, for every order; result parts tile the matrix") {
    Random random(4);
    for (int round = 0; round < 300; ++round) {
        GemmPlan plan;
        plan.rows = 1 + random.below(9);
        plan.columns = 1 + random.below(6);
        plan.inner = 1 + random.below(5);
        plan.m = plan.rows * plan.inner * (1 + random.below(4));
        plan.n = 16 * plan.columns * plan.inner * (1 + random.below(3));
        plan.k = 64 * plan.inner;
        plan.distribution = static_cast<Distribution>(1 + random.below(3));
        if (plan.distribution == Distribution::OutputStationary) plan.inner = 1;
        if (plan.distribution == Distribution::PanelReduction) plan.columns = 1;
        plan.output_block = 16;
        plan.weight_copies = plan.distribution == Distribution::PanelReduction ? 1 : plan.rows;
        if (plan.distribution == Distribution::PanelReduction) plan.weight_slabs = plan.k / plan.inner_block;
        plan.order = static_cast<GridOrder>(random.below(plan.distribution == Distribution::ParallelReduction ? 3 : 2));
        if (plan.distribution == Distribution::ParallelReduction) {
            (plan.order == GridOrder::ColumnsFast ? plan.split_rows : plan.split_columns) = plan.inner;
        }
        const TileLayout left = left_layout(plan);
        const TileLayout output = output_layout(plan, TileMemory::Interleaved);
        CHECK(is_bijection(left));
        CHECK(is_bijection(output));
        std::set<std::uint32_t> tiles;
        for (std::uint32_t r = 0; r < plan.rows; ++r) {
            for (std::uint32_t c = 0; c < plan.columns; ++c) {
                for (std::uint32_t i = 0; i < plan.inner; ++i) {
                    const std::uint32_t tile = grid_tile(plan, r, c, i);
                    tiles.insert(tile);
                    const LayoutPart l = part_on(left, tile);
                    CHECK((l.row == r && l.column == i && l.copy == c));
                    const LayoutPart o = part_on(output, tile);
                    REQUIRE(o.held);
                    if (plan.distribution == Distribution::OutputStationary) CHECK((o.row == r && o.column == c));
                    if (plan.distribution == Distribution::PanelReduction) CHECK((o.row == r && o.column == i));
                    if (plan.split_rows > 1) CHECK((o.row == r * plan.inner + i && o.column == c));
                    if (plan.split_columns > 1) CHECK((o.row == r && o.column == c * plan.inner + i));
                }
            }
        }
        CHECK(tiles.size() == plan.tiles());
        CHECK(*tiles.rbegin() + 1 == plan.tiles());
        // Stored weights: every element once, or once per row group where resident.
        std::uint64_t stored = 0;
        for (const std::uint32_t bytes : weight_bytes(plan, plan.tiles())) stored += bytes;
        const bool panel = plan.distribution == Distribution::PanelReduction;
        CHECK(stored == std::uint64_t{plan.k} * plan.n * 2 * (panel ? 1 : plan.rows));
    }
}

namespace {

/// A random legal plan with some storage of its weights; K, N and their cuts come out even, so that bytes can be counted.
GemmPlan random_stored_plan(Random& random) {
    GemmPlan plan;
    plan.distribution = static_cast<Distribution>(1 + random.below(3));
    const bool panels = plan.distribution == Distribution::PanelReduction;
    const bool parallel = plan.distribution == Distribution::ParallelReduction;
    plan.rows = 1 + random.below(9);
    plan.columns = panels ? 1 : 1 + random.below(5);
    plan.inner = plan.distribution == Distribution::OutputStationary ? 1 : 2 + random.below(4);
    plan.m = plan.rows * (4 + random.below(20));
    plan.output_block = panels ? 64 : 32;
    plan.n = plan.output_block * plan.columns * (1 + random.below(4)) * (panels ? plan.inner : 1);
    plan.k = 64 * plan.inner * (1 + random.below(5));
    plan.order = plan.owner_order = static_cast<GridOrder>(random.below(parallel ? 3 : 2));
    if (parallel) {
        (plan.order == GridOrder::ColumnsFast ? plan.split_rows : plan.split_columns) = plan.inner;
        plan.fan_in = random.below(2) == 0 ? plan.inner : 2;
        plan.m = std::max(plan.m, plan.rows * plan.inner);
    }
    plan.weight_copies = 1 + random.below(plan.rows);
    const std::uint32_t blocks = plan.k / plan.inner_block;
    if (panels) {
        plan.weight_copies = 1;
        plan.weight_slabs = blocks;
        plan.weight_columns = 1 + random.below(3);
        plan.staged_panels = 1 + random.below(3);
        plan.fan_in = 2 + random.below(2);
    } else if (plan.weight_copies < plan.rows) {
        plan.weight_slabs = 1 + random.below(parallel ? plan.k / plan.inner / 16 : blocks);
        if (!parallel) plan.weight_columns = 1 + random.below(3);
    }
    return plan;
}

}  // namespace

TEST_CASE("stored weights: every copy is complete, every tile gets what it does not store, and the estimate covers the fullest tile") {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    Random random(14);
    int moving = 0;
    for (int round = 0; round < 400; ++round) {
        const GemmPlan plan = random_stored_plan(random);
        REQUIRE(is_legal(plan));
        const std::vector<std::uint32_t> stored = weight_bytes(plan, plan.tiles());
        std::uint64_t sum = 0;
        for (const std::uint32_t bytes : stored) sum += bytes;
        CHECK(sum == std::uint64_t{plan.k} * plan.n * 2 * plan.weight_copies);
        const GemmMemory memory = gemm_memory(target, plan, false, false);
        CHECK(*std::ranges::max_element(stored) <= std::max(memory.resident_standard, memory.resident_interleaved));
        // Bytes of weights that each tile computes with.
        std::vector<std::uint64_t> used(plan.tiles(), 0);
        std::vector<std::uint64_t> received(plan.tiles(), 0);
        const bool panels = plan.distribution == Distribution::PanelReduction;
        for (std::uint32_t r = 0; r < plan.rows; ++r) {
            for (std::uint32_t c = 0; c < plan.columns; ++c) {
                for (std::uint32_t i = 0; i < plan.inner; ++i) {
                    const std::uint32_t width = panels ? plan.n : dealt_interval(plan.n, column_grain(plan), plan.columns, c).length();
                    const std::uint32_t depth = dealt_interval(plan.k, plan.amp_columns, plan.inner, i).length();
                    used[grid_tile(plan, r, c, i)] = std::uint64_t{width} * depth * 2;
                }
            }
        }
        std::uint32_t phases = 0;
        for (const PlannedPhase& planned : gemm_phases(plan, target.ipu21.max_transfer_words)) {
            check_phase(planned.phase, plan.tiles(), target.ipu21.max_transfer_words, "weights");
            ++phases;
            if (planned.role != PhaseRole::Weights) continue;
            for (const Transfer& transfer : planned.phase.transfers) {
                for (const std::uint32_t tile : planned.phase.receivers_of(transfer)) received[tile] += 4ULL * transfer.words;
            }
        }
        CHECK(phases == gemm_phase_count(plan));
        for (std::uint32_t tile = 0; tile < plan.tiles(); ++tile) {
            // Panels that a tile keeps for others it does not use itself.
            if (panels) CHECK((received[tile] <= used[tile] && received[tile] + stored[tile] >= used[tile]));
            else CHECK(received[tile] + stored[tile] == used[tile]);
        }
        moving += plan.moves_weights() ? 1 : 0;
    }
    CHECK(moving > 150);
}

TEST_CASE("partial sums one by one: the same transfers in more phases, and no phase brings more than there are buffers for") {
    Random random(15);
    for (int round = 0; round < 200; ++round) {
        GemmPlan plan;
        plan.distribution = Distribution::ParallelReduction;
        plan.rows = 1 + random.below(7);
        plan.columns = 1 + random.below(5);
        plan.inner = 2 + random.below(7);
        plan.m = plan.rows * plan.inner + random.below(60);
        plan.n = 16 * (plan.columns * plan.inner + random.below(20));
        plan.k = 64 * plan.inner;
        plan.order = plan.owner_order = static_cast<GridOrder>(random.below(3));
        (plan.order == GridOrder::ColumnsFast ? plan.split_rows : plan.split_columns) = plan.inner;
        plan.weight_copies = plan.rows;
        plan.swapped = random.below(2) == 0;
        if (plan.swapped) plan.m = 16 * (plan.rows * plan.inner + random.below(9));
        plan.interleaved_weights = random.below(2) == 0;
        using Words = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;   // sender, receiver
        std::map<std::uint32_t, Words> of_fan_in;
        for (const std::uint32_t fan_in : std::set<std::uint32_t>{2U, 1 + (plan.inner + 1) / 2, std::max(2U, plan.inner)}) {
            plan.fan_in = fan_in;
            REQUIRE(is_legal(plan));
            const ReductionShare share = reduction_share(plan);
            const auto phases = gemm_phases(plan, 4148);
            CHECK(phases.size() == reduction_epochs(plan));
            for (const PlannedPhase& planned : phases) {
                std::map<std::uint32_t, std::uint64_t> received;
                for (const Transfer& transfer : planned.phase.transfers) {
                    const std::uint32_t receiver = planned.phase.receivers_of(transfer)[0];
                    received[receiver] += transfer.words;
                    of_fan_in[fan_in][{transfer.source, receiver}] += transfer.words;
                }
                for (const auto& [tile, words] : received) CHECK(2 * words <= share.part_elems * share.at_a_time);
            }
        }
        for (const auto& [fan_in, words] : of_fan_in) CHECK(words == of_fan_in.begin()->second);
    }
}

TEST_CASE("paired tiles share rows in columns-fast and columns in rows-fast grids") {
    for (const std::uint32_t rows : {2U, 4U, 10U}) {
        for (const std::uint32_t columns : {2U, 6U, 8U}) {
            for (std::uint32_t tile = 0; tile < rows * columns; tile += 2) {
                CHECK(tile / columns == (tile + 1) / columns);   // columns-fast: row = tile / columns
                CHECK(tile / rows == (tile + 1) / rows);         // rows-fast: column = tile / rows
                CHECK(plane_tile(GridOrder::ColumnsFast, rows, columns, tile / columns, tile % columns) == tile);
                CHECK(plane_tile(GridOrder::RowsFast, rows, columns, tile % rows, tile / rows) == tile);
            }
        }
    }
}

TEST_CASE("closed forms against the scheduled phases of random plans") {
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    Random random(5);
    double worst = 0;
    double sum = 0;
    int rounds = 0;
    for (; rounds < 40; ++rounds) {
        GemmPlan plan;
        plan.k = 256 * (1 + random.below(4));
        plan.output_block = 64;
        plan.distribution = rounds % 2 == 0 ? Distribution::OutputStationary : Distribution::ParallelReduction;
        plan.rows = 4 + random.below(16);
        plan.columns = 2 + random.below(12);
        if (plan.distribution == Distribution::OutputStationary) {
            plan.n = 64 * plan.columns * (1 + random.below(3));
            plan.weight_slabs = std::min(plan.rows, plan.k / 64);
            if (random.below(2) == 0) plan.order = plan.owner_order = GridOrder::RowsFast;
        } else {
            plan.inner = 2 + random.below(6);
            plan.split_rows = plan.inner;
            plan.fan_in = plan.inner;
            plan.weight_copies = plan.rows;
            plan.n = 16 * plan.columns * (1 + random.below(3));
        }
        plan.m = plan.rows * plan.inner * (4 + random.below(40));
        const auto scheduled = static_cast<double>(scheduled_exchange_cycles(target, topology, plan));
        const auto estimated = static_cast<double>(estimated_exchange_cycles(target, plan));
        REQUIRE(scheduled > 0);
        const double error = std::abs(estimated / scheduled - 1);
        worst = std::max(worst, error);
        sum += error;
    }
    MESSAGE("closed forms: mean error " << sum / rounds << ", worst " << worst);
    CHECK(sum / rounds < 0.1);
    CHECK(worst < 0.35);
}
