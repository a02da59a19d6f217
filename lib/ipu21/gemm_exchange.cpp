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

/// Rows of the group that stores copy `copy` of the weights.
Interval copy_rows(const GemmPlan& plan, std::uint32_t copy) {
    return plan.distribution == Distribution::PanelReduction ? Interval{0, plan.rows} : dealt_interval(plan.rows, 1, plan.weight_copies, copy);
}

/// Row that stores a shard: shards are dealt to the rows of the group in turn.
std::uint32_t owner_row(const GemmPlan& plan, Interval group, std::uint32_t slab, std::uint32_t shard) {
    return group.begin + (slab * plan.weight_columns + shard) % group.length();
}

/// Tile that stores a shard of the weights of column partition `column` (PanelReduction: of the panels that inner partition `column` keeps).
std::uint32_t owner_tile(const GemmPlan& plan, std::uint32_t column, Interval group, std::uint32_t slab, std::uint32_t shard) {
    const std::uint32_t columns = plan.distribution == Distribution::PanelReduction ? plan.inner : plan.columns;
    return plane_tile(plan.owner_order, plan.rows, columns, owner_row(plan, group, slab, shard), column);
}

void add_panel(Phase& phase, std::uint32_t owner, std::span<const std::uint32_t> group, std::uint64_t words, std::uint32_t limit) {
    std::vector<std::uint32_t> receivers;
    receivers.reserve(group.size());
    for (const std::uint32_t tile : group) {
        if (tile != owner) receivers.push_back(tile);
    }
    add_transfer(phase, TileId(owner), receivers, words, limit);
}

/// K shard that holds block `block` of `blocks`.
std::uint32_t slab_of(const GemmPlan& plan, std::uint32_t blocks, std::uint32_t block) {
    return static_cast<std::uint32_t>(std::uint64_t{block} * plan.weight_slabs / blocks);
}

/// Calls `visit(first column, width, column shard)` for every panel of a column partition.
template <class Visit>
void for_each_panel(const GemmPlan& plan, std::uint32_t column, const Visit& visit) {
    const Interval run = dealt_interval(plan.n, plan.output_block, plan.columns, column);
    const std::uint32_t panels = ceil_divide(run.length(), plan.output_block);
    for (std::uint32_t panel = 0; panel < panels; ++panel) {
        const std::uint32_t begin = run.begin + panel * plan.output_block;
        visit(begin, std::min(plan.output_block, run.end - begin), static_cast<std::uint32_t>(std::uint64_t{panel} * plan.weight_columns / panels));
    }
}

/// Weight panels of K blocks 0 .. `last` - 1, for every row group from its own copy.
void output_stationary_phases(const GemmPlan& plan, std::uint32_t limit, std::uint32_t last, std::vector<PlannedPhase>& result) {
    if (!plan.moves_weights()) return;
    const std::uint32_t blocks = ceil_divide(plan.k, plan.inner_block);
    std::vector<std::uint32_t> tiles;
    for (std::uint32_t block = 0; block < last; ++block) {
        const std::uint32_t slab = slab_of(plan, blocks, block);
        const std::uint32_t depth = std::min(plan.inner_block, plan.k - block * plan.inner_block);
        Phase phase;
        for (std::uint32_t column = 0; column < plan.columns; ++column) {
            for (std::uint32_t copy = 0; copy < plan.weight_copies; ++copy) {
                const Interval group = copy_rows(plan, copy);
                tiles.clear();
                for (std::uint32_t row = group.begin; row < group.end; ++row) tiles.push_back(grid_tile(plan, row, column, 0));
                for_each_panel(plan, column, [&](std::uint32_t, std::uint32_t width, std::uint32_t shard) {
                    add_panel(phase, owner_tile(plan, column, group, slab, shard), tiles, words_of(std::uint64_t{depth} * width, plan.elem_bytes), limit);
                });
            }
        }
        result.push_back({PhaseRole::Weights, std::move(phase)});
    }
}

/// Output panels are dealt to the inner partitions in runs: the partition that keeps panel `panel`.
std::uint32_t panel_home(const GemmPlan& plan, std::uint32_t panels, std::uint32_t panel) {
    return static_cast<std::uint32_t>(std::uint64_t{panel} * plan.inner / panels);
}

/// Column shard of a panel among those of its home.
std::uint32_t panel_shard(const GemmPlan& plan, std::uint32_t panels, std::uint32_t panel) {
    const std::uint32_t home = panel_home(plan, panels, panel);
    const auto first = static_cast<std::uint32_t>(ceil_divide<std::uint64_t>(std::uint64_t{home} * panels, plan.inner));
    const auto end = static_cast<std::uint32_t>(ceil_divide<std::uint64_t>(std::uint64_t{home + 1} * panels, plan.inner));
    return static_cast<std::uint32_t>(std::uint64_t{panel - first} * plan.weight_columns / (end - first));
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
                const std::uint32_t owner = owner_tile(plan, panel_home(plan, panels, panel), copy_rows(plan, 0), part * slabs_per_part + slab,
                                                       panel_shard(plan, panels, panel));
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

/// Elements of K shard `slab` of a tile's weights.
std::uint64_t slab_elems(const GemmPlan& plan, std::uint32_t part, Interval columns, std::uint32_t slab) {
    const std::uint32_t depth = dealt_interval(plan.k, plan.amp_columns, plan.inner, part).length();
    return std::uint64_t{dealt_interval(depth, plan.amp_columns, plan.weight_slabs, slab).length()} * columns.length();
}

/// Within every row group each owner sends its shard to all others.
Phase parallel_weights(const GemmPlan& plan, std::uint32_t limit) {
    Phase phase;
    std::vector<std::uint32_t> group;
    for (std::uint32_t column = 0; column < plan.columns; ++column) {
        const Interval columns = dealt_interval(plan.n, column_grain(plan), plan.columns, column);
        for (std::uint32_t part = 0; part < plan.inner; ++part) {
            for (std::uint32_t copy = 0; copy < plan.weight_copies; ++copy) {
                const Interval rows = copy_rows(plan, copy);
                group.clear();
                for (std::uint32_t row = rows.begin; row < rows.end; ++row) group.push_back(grid_tile(plan, row, column, part));
                for (std::uint32_t slab = 0; slab < plan.weight_slabs; ++slab) {
                    const std::uint32_t owner = grid_tile(plan, owner_row(plan, rows, slab, 0), column, part);
                    add_panel(phase, owner, group, words_of(slab_elems(plan, part, columns, slab), plan.elem_bytes), limit);
                }
            }
        }
    }
    return phase;
}

/// Every part of the result collects what the partners of the blocks that it overlaps have computed for it; those of phase `epoch` only.
Phase parallel_reduction(const GemmPlan& plan, std::uint32_t limit, std::uint32_t epoch) {
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
            const std::uint32_t home = plan.split_rows > 1 ? row % plan.inner : column % plan.inner;
            for (std::uint32_t m = first_m; m <= last_m; ++m) {
                for (std::uint32_t n = first_n; n <= last_n; ++n) {
                    const std::uint64_t elems = area(intersection(rows, dealt_interval(plan.m, row_grain(plan), plan.rows, m)),
                                                     intersection(columns, dealt_interval(plan.n, column_grain(plan), plan.columns, n)));
                    for (std::uint32_t part = 0; part < plan.inner; ++part) {
                        // The partner at distance d joins in phase (d - 1) / (fan-in - 1); the receiver's own place, where it is another tile, in the first.
                        const std::uint32_t distance = (part + plan.inner - home) % plan.inner;
                        if ((distance == 0 ? 0 : (distance - 1) / (plan.fan_in - 1)) != epoch) continue;
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
    if (plan.moves_weights()) result.push_back({PhaseRole::Weights, parallel_weights(plan, limit)});
    for (std::uint32_t epoch = 0; epoch < reduction_epochs(plan); ++epoch) result.push_back({PhaseRole::Reduction, parallel_reduction(plan, limit, epoch)});
}

/// Whether `outer` blocks of an axis, each cut into `inner` parts, end where outer x inner parts of the axis end; where not, a part straddles
/// two blocks.
bool nested(std::uint32_t extent, std::uint32_t grain, std::uint32_t outer, std::uint32_t inner) {
    if (ceil_divide(extent, grain) % (outer * inner) == 0) return true;
    for (std::uint32_t block = 1; block < outer; ++block) {
        if (dealt_interval(extent, grain, outer, block).begin != dealt_interval(extent, grain, outer * inner, block * inner).begin) return false;
    }
    return true;
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
        case Distribution::BatchedProduct: return "batched-product";
        case Distribution::View: return "view";
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
    plan.weight_columns = row.weight_columns;
    plan.weight_copies = row.weight_copies;
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

namespace {

void add_panel_weights(const GemmPlan& plan, std::vector<std::uint32_t>& bytes) {
    const std::uint32_t panels = ceil_divide(plan.n, plan.output_block);
    for (std::uint32_t panel = 0; panel < panels; ++panel) {
        for (std::uint32_t slab = 0; slab < plan.k / plan.inner_block; ++slab) {
            const std::uint32_t owner = owner_tile(plan, panel_home(plan, panels, panel), copy_rows(plan, 0), slab, panel_shard(plan, panels, panel));
            bytes[owner] += plan.inner_block * plan.output_block * plan.elem_bytes;
        }
    }
}

void add_stationary_weights(const GemmPlan& plan, std::vector<std::uint32_t>& bytes) {
    const std::uint32_t blocks = ceil_divide(plan.k, plan.inner_block);
    for (std::uint32_t column = 0; column < plan.columns; ++column) {
        for (std::uint32_t copy = 0; copy < plan.weight_copies; ++copy) {
            const Interval group = copy_rows(plan, copy);
            for_each_panel(plan, column, [&](std::uint32_t, std::uint32_t, std::uint32_t shard) {
                for (std::uint32_t block = 0; block < blocks; ++block) {
                    bytes[owner_tile(plan, column, group, slab_of(plan, blocks, block), shard)] += plan.inner_block * plan.output_block * plan.elem_bytes;
                }
            });
        }
    }
}

void add_parallel_weights(const GemmPlan& plan, std::vector<std::uint32_t>& bytes) {
    for (std::uint32_t column = 0; column < plan.columns; ++column) {
        const Interval run = dealt_interval(plan.n, column_grain(plan), plan.columns, column);
        const Interval whole{run.begin, run.begin + ceil_divide(run.length(), column_grain(plan)) * column_grain(plan)};
        for (std::uint32_t part = 0; part < plan.inner; ++part) {
            for (std::uint32_t copy = 0; copy < plan.weight_copies; ++copy) {
                for (std::uint32_t slab = 0; slab < plan.weight_slabs; ++slab) {
                    const std::uint32_t owner = grid_tile(plan, owner_row(plan, copy_rows(plan, copy), slab, 0), column, part);
                    bytes[owner] += static_cast<std::uint32_t>(slab_elems(plan, part, whole, slab) * plan.elem_bytes);
                }
            }
        }
    }
}

}  // namespace

std::vector<std::uint32_t> weight_bytes(const GemmPlan& plan, std::uint32_t tile_count) {
    std::vector<std::uint32_t> bytes(tile_count, 0);
    switch (plan.distribution) {
        case Distribution::OutputStationary: add_stationary_weights(plan, bytes); break;
        case Distribution::PanelReduction: add_panel_weights(plan, bytes); break;
        default: add_parallel_weights(plan, bytes); break;
    }
    return bytes;
}

std::uint32_t reduction_epochs(const GemmPlan& plan) {
    return plan.inner == 1 ? 0 : ceil_divide(plan.inner - 1, plan.fan_in - 1);
}

ReductionShare reduction_share(const GemmPlan& plan) {
    ReductionShare share;
    if (plan.inner == 1) return share;
    const TileLayout result = output_layout(plan, TileMemory::Standard);
    share.part_elems = shard_bytes(result, {plan.m, plan.n}) / plan.elem_bytes;
    const bool whole = plan.split_rows > 1 ? nested(plan.m, row_grain(plan), plan.rows, plan.split_rows)
                                           : nested(plan.n, column_grain(plan), plan.columns, plan.split_columns);
    const std::uint32_t foreign = whole ? 0 : 1;
    share.partials = plan.inner - 1 + foreign;
    share.at_a_time = std::min(plan.inner, plan.fan_in) - 1 + foreign;
    return share;
}

std::uint32_t result_columns(const GemmPlan& plan) {
    const TileLayout layout = output_layout(plan, TileMemory::Interleaved);
    return ceil_divide(ceil_divide(plan.n, layout.column_grain), layout.column_parts) * layout.column_grain;
}

bool splits_along_order(const GemmPlan& plan) {
    if (plan.distribution != Distribution::ParallelReduction) return plan.split_rows == 1 && plan.split_columns == 1;
    const bool by_rows = plan.order == GridOrder::ColumnsFast;
    return by_rows ? plan.split_rows == plan.inner && plan.split_columns == 1 : plan.split_columns == plan.inner && plan.split_rows == 1;
}

bool is_legal(const GemmPlan& plan) {
    for (const std::uint32_t extent : {plan.m, plan.n, plan.k, plan.rows, plan.columns, plan.inner, plan.inner_block, plan.output_block, plan.weight_slabs,
                                       plan.weight_columns, plan.weight_copies, plan.staged_panels}) {
        if (extent == 0) return false;
    }
    const std::uint32_t grains = ceil_divide(plan.m, row_grain(plan));
    if (plan.fan_in < 2 || plan.rows > grains || plan.columns > plan.n || plan.inner > plan.k || plan.weight_copies > plan.rows) return false;
    if ((plan.elem_bytes != 2 && plan.elem_bytes != 4) || (plan.elem_bytes == 4 && plan.interleaved_weights) || !splits_along_order(plan)) return false;
    const std::uint32_t blocks = ceil_divide(plan.k, plan.inner_block);
    const bool resident = plan.weight_copies == plan.rows && plan.weight_slabs == 1 && plan.weight_columns == 1;
    switch (plan.distribution) {
        case Distribution::OutputStationary:
            return plan.inner == 1 && !plan.swapped && (resident || (plan.weight_copies < plan.rows && plan.weight_slabs <= blocks));
        case Distribution::PanelReduction:
            return plan.columns == 1 && !plan.swapped && plan.k % (std::uint64_t{plan.inner} * plan.inner_block) == 0 && plan.n % plan.output_block == 0 &&
                   plan.weight_copies == 1 && plan.weight_slabs == blocks;
        case Distribution::ParallelReduction:
            return plan.weight_columns == 1 && plan.owner_order == plan.order && (resident || plan.weight_copies < plan.rows) &&
                   dealt_interval(plan.k, plan.amp_columns, plan.inner, plan.inner - 1).length() != 0;
        default: return false;
    }
}

std::uint32_t gemm_phase_count(const GemmPlan& plan) {
    if (plan.distribution == Distribution::OutputStationary) return plan.moves_weights() ? ceil_divide(plan.k, plan.inner_block) : 0;
    if (plan.distribution == Distribution::PanelReduction) {
        std::uint32_t steps = 0;
        for (std::uint32_t left = plan.inner; left > 1; left = ceil_divide(left, plan.fan_in)) ++steps;
        return ceil_divide(ceil_divide(plan.n, plan.output_block), plan.staged_panels) * (1 + steps);
    }
    return (plan.moves_weights() ? 1U : 0U) + reduction_epochs(plan);
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
