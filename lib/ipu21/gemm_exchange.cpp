#include "ipu21/gemm_exchange.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint32_t word_bytes = 4;

std::uint64_t words_of(std::uint64_t elems, std::uint32_t elem_bytes) {
    return ceil_divide<std::uint64_t>(elems * elem_bytes, word_bytes);
}

/// Tile that stores slab `slab` of the weights of column partition `column`: members of the row groups take one slab each.
std::uint32_t owner_tile(const GemmPlan& plan, std::uint32_t column, std::uint32_t slab) {
    const std::uint32_t columns = plan.distribution == Distribution::PanelReduction ? plan.inner : plan.columns;
    return plane_tile(plan.owner_order, plan.rows, columns, slab, column);
}

void add_panel(Phase& phase, std::uint32_t owner, std::span<const std::uint32_t> group, std::uint64_t words, std::uint32_t limit) {
    std::vector<std::uint32_t> receivers;
    receivers.reserve(group.size());
    for (const std::uint32_t tile : group) {
        if (tile != owner) receivers.push_back(tile);
    }
    add_transfer(phase, TileId(owner), receivers, words, limit);
}

/// Weight panels of K blocks 0 .. `last` - 1.
void output_stationary_phases(const GemmPlan& plan, std::uint32_t limit, std::uint32_t last, std::vector<PlannedPhase>& result) {
    if (plan.weight_slabs <= 1) return;
    const std::uint32_t blocks = ceil_divide(plan.k, plan.inner_block);
    std::vector<std::uint32_t> group(plan.rows);
    for (std::uint32_t block = 0; block < last; ++block) {
        const auto slab = static_cast<std::uint32_t>(std::uint64_t{block} * plan.weight_slabs / blocks);
        const std::uint32_t depth = std::min(plan.inner_block, plan.k - block * plan.inner_block);
        Phase phase;
        for (std::uint32_t column = 0; column < plan.columns; ++column) {
            for (std::uint32_t row = 0; row < plan.rows; ++row) group[row] = grid_tile(plan, row, column, 0);
            const Interval columns = dealt_interval(plan.n, plan.output_block, plan.columns, column);
            for (std::uint32_t begin = columns.begin; begin < columns.end; begin += plan.output_block) {
                const std::uint32_t width = std::min(plan.output_block, columns.end - begin);
                add_panel(phase, owner_tile(plan, column, slab), group, words_of(std::uint64_t{depth} * width, plan.elem_bytes), limit);
            }
        }
        result.push_back({PhaseRole::Weights, std::move(phase)});
    }
}

/// Output panels are dealt to the inner partitions in runs: the partition that keeps panel `panel`.
std::uint32_t panel_home(const GemmPlan& plan, std::uint32_t panels, std::uint32_t panel) {
    return static_cast<std::uint32_t>(std::uint64_t{panel} * plan.inner / panels);
}

Phase panel_weights(const GemmPlan& plan, std::uint32_t panels, std::uint32_t first, std::uint32_t last, std::uint32_t limit) {
    const std::uint32_t slabs_per_part = ceil_divide(plan.k / plan.inner, plan.inner_block);
    std::vector<std::uint32_t> group(plan.rows);
    Phase phase;
    for (std::uint32_t panel = first; panel < last; ++panel) {
        for (std::uint32_t part = 0; part < plan.inner; ++part) {
            for (std::uint32_t row = 0; row < plan.rows; ++row) group[row] = grid_tile(plan, row, 0, part);
            for (std::uint32_t slab = 0; slab < slabs_per_part; ++slab) {
                // The stored weights are cut into as many columns as there are inner partitions; slabs follow K.
                const std::uint32_t owner = owner_tile(plan, panel_home(plan, panels, panel), (part * slabs_per_part + slab) % plan.rows);
                const std::uint64_t words = words_of(std::uint64_t{plan.inner_block} * plan.output_block, plan.elem_bytes);
                add_panel(phase, owner, group, words, limit);
            }
        }
    }
    return phase;
}

/// One list of partials per (row, panel) of a panel group, the one that keeps the result first.
struct ReductionTree {
    std::vector<std::vector<std::uint32_t>> partials;   // inner partitions
    std::vector<std::uint32_t> row;

    ReductionTree(const GemmPlan& plan, std::uint32_t panels, std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t panel = first; panel < last; ++panel) {
            for (std::uint32_t r = 0; r < plan.rows; ++r) {
                std::vector<std::uint32_t> parts(plan.inner);
                for (std::uint32_t part = 0; part < plan.inner; ++part) parts[part] = part;
                std::swap(parts[0], parts[panel_home(plan, panels, panel)]);
                partials.push_back(std::move(parts));
                row.push_back(r);
            }
        }
    }

    /// Sends the later members of every run of `fan_in` partials to the first; false where nothing is left to join.
    bool step(const GemmPlan& plan, std::uint32_t limit, Phase& phase) {
        bool joined = false;
        for (std::size_t list = 0; list < partials.size(); ++list) {
            std::vector<std::uint32_t>& parts = partials[list];
            std::vector<std::uint32_t> kept;
            const std::uint64_t rows = dealt_interval(plan.m, 1, plan.rows, row[list]).length();
            const std::uint64_t words = words_of(rows * plan.output_block, plan.elem_bytes);
            for (std::size_t i = 0; i < parts.size(); ++i) {
                if (i % plan.fan_in == 0) {
                    kept.push_back(parts[i]);
                    continue;
                }
                const std::uint32_t receiver = grid_tile(plan, row[list], 0, kept.back());
                add_transfer(phase, TileId(grid_tile(plan, row[list], 0, parts[i])), {&receiver, 1}, words, limit);
                joined = true;
            }
            parts = std::move(kept);
        }
        return joined;
    }
};

void panel_group_phases(const GemmPlan& plan, std::uint32_t limit, std::uint32_t first, std::vector<PlannedPhase>& result) {
    const std::uint32_t panels = ceil_divide(plan.n, plan.output_block);
    const std::uint32_t last = std::min(panels, first + plan.staged_panels);
    result.push_back({PhaseRole::Weights, panel_weights(plan, panels, first, last, limit)});
    ReductionTree tree(plan, panels, first, last);
    for (Phase phase; tree.step(plan, limit, phase); phase = Phase()) result.push_back({PhaseRole::Reduction, std::move(phase)});
}

void panel_reduction_phases(const GemmPlan& plan, std::uint32_t limit, std::vector<PlannedPhase>& result) {
    const std::uint32_t panels = ceil_divide(plan.n, plan.output_block);
    for (std::uint32_t first = 0; first < panels; first += plan.staged_panels) panel_group_phases(plan, limit, first, result);
}

std::uint64_t area(Interval rows, Interval columns) { return std::uint64_t{rows.length()} * columns.length(); }

/// Weights stored once, on the first row group, go to the others.
Phase parallel_weights(const GemmPlan& plan, std::uint32_t limit) {
    Phase phase;
    for (std::uint32_t column = 0; column < plan.columns; ++column) {
        const Interval columns = dealt_interval(plan.n, column_grain(plan), plan.columns, column);
        for (std::uint32_t part = 0; part < plan.inner; ++part) {
            std::vector<std::uint32_t> others;
            for (std::uint32_t row = 1; row < plan.rows; ++row) others.push_back(grid_tile(plan, row, column, part));
            const std::uint64_t elems = area(dealt_interval(plan.k, plan.amp_columns, plan.inner, part), columns);
            add_transfer(phase, TileId(grid_tile(plan, 0, column, part)), others, words_of(elems, plan.elem_bytes), limit);
        }
    }
    return phase;
}

/// Every part of the result collects what the partners of the blocks that it overlaps have computed for it.
Phase parallel_reduction(const GemmPlan& plan, std::uint32_t limit) {
    Phase phase;
    const MatrixShape shape{plan.m, plan.n};
    const TileLayout result = output_layout(plan, TileMemory::Standard);
    for (std::uint32_t row = 0; row < result.row_parts; ++row) {
        const Interval rows = rows_of(result, shape, row);
        if (rows.length() == 0) continue;
        const std::uint32_t first_m = part_of(plan.m, row_grain(plan), plan.rows, rows.begin);
        const std::uint32_t last_m = part_of(plan.m, row_grain(plan), plan.rows, rows.end - 1);
        for (std::uint32_t column = 0; column < result.column_parts; ++column) {
            const Interval columns = columns_of(result, shape, column);
            if (columns.length() == 0) continue;
            const std::uint32_t first_n = part_of(plan.n, column_grain(plan), plan.columns, columns.begin);
            const std::uint32_t last_n = part_of(plan.n, column_grain(plan), plan.columns, columns.end - 1);
            const std::uint32_t receiver = layout_tile(result, row, column, 0);
            for (std::uint32_t m = first_m; m <= last_m; ++m) {
                for (std::uint32_t n = first_n; n <= last_n; ++n) {
                    const std::uint64_t elems = area(intersection(rows, dealt_interval(plan.m, row_grain(plan), plan.rows, m)),
                                                     intersection(columns, dealt_interval(plan.n, column_grain(plan), plan.columns, n)));
                    for (std::uint32_t part = 0; part < plan.inner; ++part) {
                        const std::uint32_t sender = grid_tile(plan, m, n, part);
                        if (sender != receiver) add_transfer(phase, TileId(sender), {&receiver, 1}, words_of(elems, plan.elem_bytes), limit);
                    }
                }
            }
        }
    }
    return phase;
}

void parallel_reduction_phases(const GemmPlan& plan, std::uint32_t limit, std::vector<PlannedPhase>& result) {
    if (plan.weight_slabs > 1 && plan.rows > 1) result.push_back({PhaseRole::Weights, parallel_weights(plan, limit)});
    if (plan.inner > 1) result.push_back({PhaseRole::Reduction, parallel_reduction(plan, limit)});
}

}  // namespace

std::string_view to_text(GridOrder order) {
    switch (order) {
        case GridOrder::ColumnsFast: return "columns-fast";
        case GridOrder::RowsFast: return "rows-fast";
        case GridOrder::InnerFast: return "inner-fast";
    }
    return "?";
}

std::string_view to_text(Distribution distribution) {
    switch (distribution) {
        case Distribution::OutputStationary: return "output-stationary";
        case Distribution::PanelReduction: return "panel-reduction";
        case Distribution::ParallelReduction: return "parallel-reduction";
        case Distribution::Local: return "local";
        case Distribution::AttentionGrid: return "attention-grid";
        case Distribution::RowExchange: return "row-exchange";
    }
    return "?";
}

std::string_view to_text(PhaseRole role) {
    switch (role) {
        case PhaseRole::LeftOperand: return "left operand";
        case PhaseRole::Weights: return "weights";
        case PhaseRole::Reduction: return "reduction";
        case PhaseRole::Conversion: return "conversion";
        case PhaseRole::Attention: return "attention";
    }
    return "?";
}

GemmPlan gemm_plan(const TileOperator& op, const TilePlan& row, const TileLayout& input, std::uint32_t amp_columns) {
    GemmPlan plan;
    plan.m = op.m;
    plan.n = op.n;
    plan.k = op.k;
    plan.distribution = static_cast<Distribution>(row.distribution);
    plan.rows = row.rows;
    plan.columns = row.columns;
    plan.inner = row.inner;
    plan.order = static_cast<GridOrder>(row.order);
    plan.owner_order = static_cast<GridOrder>(row.owner_order);
    plan.inner_block = row.inner_block;
    plan.output_block = row.output_block;
    plan.weight_slabs = row.weight_slabs;
    plan.staged_panels = row.staged_panels;
    plan.fan_in = row.fan_in;
    plan.split_rows = row.split_rows;
    plan.split_columns = row.split_columns;
    plan.elem_bytes = input.elem_bytes;
    plan.swapped = input.order == static_cast<std::uint32_t>(TileOrder::AmpTransposedRight);
    plan.amp_columns = amp_columns;
    plan.interleaved_weights = row.interleaved_weights != 0;
    return plan;
}

std::uint32_t grid_tile(const GemmPlan& plan, std::uint32_t row, std::uint32_t column, std::uint32_t inner) {
    switch (plan.distribution) {
        case Distribution::OutputStationary: return plane_tile(plan.order, plan.rows, plan.columns, row, column);
        case Distribution::PanelReduction: return plane_tile(plan.order, plan.rows, plan.inner, row, inner);
        default: break;
    }
    switch (plan.order) {
        case GridOrder::ColumnsFast: return (row * plan.inner + inner) * plan.columns + column;
        case GridOrder::RowsFast: return (column * plan.inner + inner) * plan.rows + row;
        case GridOrder::InnerFast: break;
    }
    return (row * plan.columns + column) * plan.inner + inner;
}

std::vector<PlannedPhase> gemm_phases(const GemmPlan& plan, std::uint32_t limit) {
    std::vector<PlannedPhase> result;
    switch (plan.distribution) {
        case Distribution::OutputStationary: output_stationary_phases(plan, limit, ceil_divide(plan.k, plan.inner_block), result); break;
        case Distribution::PanelReduction: panel_reduction_phases(plan, limit, result); break;
        case Distribution::ParallelReduction: parallel_reduction_phases(plan, limit, result); break;
        default: WEFT_CHECK(false, "no GEMM distribution"); break;
    }
    return result;
}

std::vector<RepeatedPhase> representative_phases(const GemmPlan& plan, std::uint32_t limit) {
    std::vector<PlannedPhase> phases;
    std::vector<RepeatedPhase> result;
    const auto take = [&](std::uint32_t count) {
        for (PlannedPhase& planned : phases) result.push_back({std::move(planned), count});
        phases.clear();
    };
    if (plan.distribution == Distribution::OutputStationary) {
        output_stationary_phases(plan, limit, 1, phases);
        take(ceil_divide(plan.k, plan.inner_block));
    } else if (plan.distribution == Distribution::PanelReduction) {
        const std::uint32_t panels = ceil_divide(plan.n, plan.output_block);
        const std::uint32_t whole = panels / plan.staged_panels;
        if (whole > 0) panel_group_phases(plan, limit, 0, phases);
        take(whole);
        if (panels % plan.staged_panels != 0) panel_group_phases(plan, limit, whole * plan.staged_panels, phases);
        take(1);
    } else {
        phases = gemm_phases(plan, limit);
        take(1);
    }
    return result;
}

std::vector<std::uint32_t> weight_bytes(const GemmPlan& plan, std::uint32_t tile_count) {
    std::vector<std::uint32_t> bytes(tile_count, 0);
    const auto add = [&](std::uint32_t tile, std::uint64_t elems) { bytes[tile] += static_cast<std::uint32_t>(elems * plan.elem_bytes); };
    if (plan.distribution == Distribution::PanelReduction) {
        const std::uint32_t panels = ceil_divide(plan.n, plan.output_block);
        for (std::uint32_t panel = 0; panel < panels; ++panel) {
            for (std::uint32_t slab = 0; slab < plan.k / plan.inner_block; ++slab) {
                add(owner_tile(plan, panel_home(plan, panels, panel), slab % plan.rows), std::uint64_t{plan.inner_block} * plan.output_block);
            }
        }
        return bytes;
    }
    const bool parallel = plan.distribution == Distribution::ParallelReduction;
    const std::uint32_t blocks = ceil_divide(plan.k, plan.inner_block);
    for (std::uint32_t column = 0; column < plan.columns; ++column) {
        const Interval run = dealt_interval(plan.n, column_grain(plan), plan.columns, column);
        const std::uint64_t width = std::uint64_t{ceil_divide(run.length(), column_grain(plan))} * column_grain(plan);
        if (parallel) {
            const std::uint32_t copies = plan.weight_slabs > 1 ? 1 : plan.rows;
            for (std::uint32_t part = 0; part < plan.inner; ++part) {
                const std::uint64_t depth = dealt_interval(plan.k, plan.amp_columns, plan.inner, part).length();
                for (std::uint32_t row = 0; row < copies; ++row) add(grid_tile(plan, row, column, part), depth * width);
            }
        } else if (plan.weight_slabs > 1) {
            for (std::uint32_t block = 0; block < blocks; ++block) {
                const auto slab = static_cast<std::uint32_t>(std::uint64_t{block} * plan.weight_slabs / blocks);
                add(owner_tile(plan, column, slab), std::uint64_t{plan.inner_block} * width);
            }
        } else {
            for (std::uint32_t row = 0; row < plan.rows; ++row) add(grid_tile(plan, row, column, 0), std::uint64_t{blocks} * plan.inner_block * width);
        }
    }
    return bytes;
}

std::uint32_t gemm_phase_count(const GemmPlan& plan) {
    if (plan.distribution == Distribution::OutputStationary) {
        return plan.weight_slabs > 1 ? ceil_divide(plan.k, plan.inner_block) : 0;
    }
    if (plan.distribution == Distribution::PanelReduction) {
        std::uint32_t steps = 0;
        for (std::uint32_t left = plan.inner; left > 1; left = ceil_divide(left, plan.fan_in)) ++steps;
        return ceil_divide(ceil_divide(plan.n, plan.output_block), plan.staged_panels) * (1 + steps);
    }
    return (plan.weight_slabs > 1 && plan.rows > 1 ? 1U : 0U) + (plan.inner > 1 ? 1U : 0U);
}

TileLayout left_layout(const GemmPlan& plan) {
    TileLayout layout;
    layout.order = static_cast<std::uint32_t>(plan.swapped ? TileOrder::AmpTransposedRight : TileOrder::AmpLeft);
    const bool interleaved = plan.swapped && plan.interleaved_weights;
    layout.memory = static_cast<std::uint32_t>(interleaved ? TileMemory::Interleaved : TileMemory::Standard);
    layout.elem_bytes = plan.elem_bytes;
    layout.row_parts = plan.rows;
    layout.row_grain = row_grain(plan);
    layout.column_grain = plan.amp_columns;
    layout.column_parts = plan.inner;
    layout.replicas = plan.columns;
    // Strides are tiles between neighbouring partitions of the grid.
    layout.row_stride = plan.rows > 1 ? grid_tile(plan, 1, 0, 0) : plan.tiles();
    layout.column_stride = plan.inner > 1 ? grid_tile(plan, 0, 0, 1) : plan.tiles();
    layout.replica_stride = plan.columns > 1 ? grid_tile(plan, 0, 1, 0) : plan.tiles();
    return layout;
}

TileLayout output_layout(const GemmPlan& plan, TileMemory memory) {
    TileLayout layout = left_layout(plan);
    layout.memory = static_cast<std::uint32_t>(memory);
    if (plan.swapped) layout.order = static_cast<std::uint32_t>(TileOrder::AmpTransposedLeft);
    if (plan.distribution == Distribution::PanelReduction) {
        // Output panels are dealt to the inner partitions: the columns of the result take their place.
        layout.column_grain = plan.output_block;
        return layout;
    }
    layout.column_grain = column_grain(plan);
    layout.column_parts = plan.columns;
    layout.column_stride = layout.replica_stride;
    layout.replicas = 1;
    layout.replica_stride = plan.tiles();
    if (plan.distribution != Distribution::ParallelReduction || plan.inner == 1) return layout;
    const std::uint32_t inner_stride = grid_tile(plan, 0, 0, 1);
    if (plan.split_rows > 1) {
        layout.row_parts = plan.rows * plan.split_rows;
        layout.row_stride = inner_stride;   // partners stand between neighbouring row partitions in all but rows-fast grids
    } else if (plan.split_columns > 1) {
        layout.column_parts = plan.columns * plan.split_columns;
        layout.column_stride = inner_stride;
    }
    return layout;
}

}  // namespace weft::ipu21
