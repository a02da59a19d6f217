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

void output_stationary_phases(const GemmPlan& plan, std::uint32_t limit, std::vector<PlannedPhase>& result) {
    if (plan.weight_slabs <= 1) return;
    const std::uint32_t blocks = ceil_divide(plan.k, plan.inner_block);
    const std::uint32_t column_extent = ceil_divide(plan.n, plan.columns);
    const std::uint32_t panels = ceil_divide(column_extent, plan.output_block);
    std::vector<std::uint32_t> group(plan.rows);
    for (std::uint32_t block = 0; block < blocks; ++block) {
        const auto slab = static_cast<std::uint32_t>(std::uint64_t{block} * plan.weight_slabs / blocks);
        const std::uint32_t depth = std::min(plan.inner_block, plan.k - block * plan.inner_block);
        Phase phase;
        for (std::uint32_t column = 0; column < plan.columns; ++column) {
            for (std::uint32_t row = 0; row < plan.rows; ++row) group[row] = grid_tile(plan, row, column, 0);
            for (std::uint32_t panel = 0; panel < panels; ++panel) {
                const std::uint32_t width = std::min(plan.output_block, column_extent - panel * plan.output_block);
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
            const std::uint64_t rows = dealt_extent(plan.m, plan.rows, row[list]);
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

void panel_reduction_phases(const GemmPlan& plan, std::uint32_t limit, std::vector<PlannedPhase>& result) {
    const std::uint32_t panels = ceil_divide(plan.n, plan.output_block);
    for (std::uint32_t first = 0; first < panels; first += plan.staged_panels) {
        const std::uint32_t last = std::min(panels, first + plan.staged_panels);
        result.push_back({PhaseRole::Weights, panel_weights(plan, panels, first, last, limit)});
        ReductionTree tree(plan, panels, first, last);
        for (Phase phase; tree.step(plan, limit, phase); phase = Phase()) result.push_back({PhaseRole::Reduction, std::move(phase)});
    }
}

/// Elements of the part of block (row, column) that partner `part` keeps.
std::uint64_t kept_elems(const GemmPlan& plan, std::uint32_t row, std::uint32_t column, std::uint32_t part) {
    const std::uint32_t rows = dealt_extent(plan.m, plan.rows, row);
    const std::uint32_t columns = dealt_extent(plan.n, plan.columns, column);
    if (plan.split_rows > 1) return std::uint64_t{dealt_extent(rows, plan.split_rows, part)} * columns;
    if (plan.split_columns > 1) return std::uint64_t{rows} * dealt_extent(columns, plan.split_columns, part);
    return part == 0 ? std::uint64_t{rows} * columns : 0;
}

void parallel_reduction_phases(const GemmPlan& plan, std::uint32_t limit, std::vector<PlannedPhase>& result) {
    Phase weights;
    Phase reduction;
    for (std::uint32_t column = 0; column < plan.columns; ++column) {
        for (std::uint32_t part = 0; part < plan.inner; ++part) {
            if (plan.weight_slabs > 1 && plan.rows > 1) {
                std::vector<std::uint32_t> others;
                for (std::uint32_t row = 1; row < plan.rows; ++row) others.push_back(grid_tile(plan, row, column, part));
                const std::uint64_t elems = std::uint64_t{dealt_extent(plan.k, plan.inner, part)} * dealt_extent(plan.n, plan.columns, column);
                add_transfer(weights, TileId(grid_tile(plan, 0, column, part)), others, words_of(elems, plan.elem_bytes), limit);
            }
            for (std::uint32_t row = 0; row < plan.rows; ++row) {
                for (std::uint32_t to = 0; to < plan.inner; ++to) {
                    if (to == part) continue;
                    const std::uint32_t receiver = grid_tile(plan, row, column, to);
                    const std::uint64_t words = words_of(kept_elems(plan, row, column, to), plan.elem_bytes);
                    add_transfer(reduction, TileId(grid_tile(plan, row, column, part)), {&receiver, 1}, words, limit);
                }
            }
        }
    }
    if (!weights.transfers.empty()) result.push_back({PhaseRole::Weights, std::move(weights)});
    if (!reduction.transfers.empty()) result.push_back({PhaseRole::Reduction, std::move(reduction)});
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
        case Distribution::OutputStationary: output_stationary_phases(plan, limit, result); break;
        case Distribution::PanelReduction: panel_reduction_phases(plan, limit, result); break;
        case Distribution::ParallelReduction: parallel_reduction_phases(plan, limit, result); break;
        default: WEFT_CHECK(false, "no GEMM distribution"); break;
    }
    return result;
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

}  // namespace weft::ipu21
