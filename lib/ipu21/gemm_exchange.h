#pragma once

#include <string_view>
#include <vector>

#include "artifact/program.h"
#include "artifact/tasks.h"
#include "ipu21/layout.h"
#include "ipu21/phase.h"

namespace weft::ipu21 {

/// How the partitions of a GEMM walk over the logical tiles. m, n, i number the partitions of output rows, output columns and
/// the inner dimension; R, C, I count them: ColumnsFast m * C + n, RowsFast n * R + m, InnerFast (m * C + n) * I + i (the
/// partners of a reduction are neighbours).
using GridOrder = TileGridOrder;

[[nodiscard]] std::string_view to_text(GridOrder order);

/// OutputStationary: a tile owns one block of the output and sees all of K. PanelReduction: K is split; output panels are
/// streamed in groups and reduced by a tree of given fan-in. ParallelReduction: R x C x I, every tile computes one partial
/// block, partners exchange parts and add.
using Distribution = TileDistribution;

[[nodiscard]] std::string_view to_text(Distribution distribution);

/// A GEMM [M, K] x [K, N] on a grid of tiles. Sizes are padded: rows divides M up to one row, inner_block divides K / inner,
/// output_block divides N / columns.
struct GemmPlan {
    std::uint32_t m = 0;
    std::uint32_t n = 0;
    std::uint32_t k = 0;
    Distribution distribution = Distribution::OutputStationary;
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;       ///< PanelReduction: 1, the inner partitions stand in its place
    std::uint32_t inner = 1;
    GridOrder order = GridOrder::ColumnsFast;
    GridOrder owner_order = GridOrder::ColumnsFast;   ///< of the tiles that store the weights; equal to `order` unless a plan says otherwise
    std::uint32_t inner_block = 64;
    std::uint32_t output_block = 64;
    std::uint32_t weight_slabs = 1;      ///< K shards of the stored weights of a column partition
    std::uint32_t weight_columns = 1;    ///< column shards of each of them; ParallelReduction: 1
    std::uint32_t weight_copies = 1;     ///< row groups that store all shards among their rows; `rows`: resident on every tile; PanelReduction: 1
    std::uint32_t staged_panels = 1;     ///< PanelReduction: output panels per weight phase
    std::uint32_t fan_in = 2;            ///< partials joined per reduction step; ParallelReduction: `inner` joins all in one phase
    std::uint32_t split_rows = 1;        ///< ParallelReduction: the result's rows (columns-fast), or its columns (other orders), are
    std::uint32_t split_columns = 1;     ///< divided over the `inner` partners; the one that is split equals `inner`
    std::uint32_t amp_columns = 16;      ///< columns of a micro-block
    std::uint32_t elem_bytes = 2;
    bool interleaved_weights = true;     ///< of the operand that is loaded: the weights, or the activations where swapped
    bool swapped = false;                ///< ParallelReduction: computes the transposed product; the weights stream, activations are loaded
    bool operator==(const GemmPlan&) const = default;

    [[nodiscard]] std::uint32_t tiles() const { return rows * columns * inner; }
    /// Some tile uses weights that it does not store.
    [[nodiscard]] bool moves_weights() const { return distribution == Distribution::PanelReduction || weight_copies < rows; }
};

/// The GEMM plan that a row of a .tasks stands for; `input`: the layout that it wants its activations in.
[[nodiscard]] GemmPlan gemm_plan(const TileOperator& op, const TilePlan& row, const TileLayout& input, std::uint32_t amp_columns);

/// Logical tile of partition (row, column) of a rows x columns plane in `order`.
[[nodiscard]] constexpr std::uint32_t plane_tile(GridOrder order, std::uint32_t rows, std::uint32_t columns, std::uint32_t row,
                                                 std::uint32_t column) {
    return order == GridOrder::RowsFast ? column * rows + row : row * columns + column;
}

/// Logical tile that computes partition (row, column, inner) of a plan. OutputStationary: a rows x columns plane.
/// PanelReduction: a rows x inner plane. ParallelReduction: columns_fast (m * I + i) * C + n, rows_fast (n * I + i) * R + m,
/// inner_fast (m * C + n) * I + i.
[[nodiscard]] std::uint32_t grid_tile(const GemmPlan& plan, std::uint32_t row, std::uint32_t column, std::uint32_t inner);

/// What a phase moves.
using PhaseRole = TilePhaseRole;

[[nodiscard]] std::string_view to_text(PhaseRole role);

struct PlannedPhase {
    PhaseRole role = PhaseRole::Weights;
    Phase phase;
};

/// The exchange phases of a plan in order, without operand conversions: weight panels of each K block (OutputStationary),
/// weight panels of each panel group followed by its reduction steps (PanelReduction), one weight phase where weights are
/// stored in shards and then the reduction phases (ParallelReduction). `limit`: words of one transfer.
[[nodiscard]] std::vector<PlannedPhase> gemm_phases(const GemmPlan& plan, std::uint32_t limit);

/// The distinct phases of a plan and how often each occurs (owners differ between occurrences, shapes do not).
struct RepeatedPhase {
    PlannedPhase planned;
    std::uint32_t count = 1;
};
[[nodiscard]] std::vector<RepeatedPhase> representative_phases(const GemmPlan& plan, std::uint32_t limit);

/// Output columns are dealt to tiles in whole grains: output blocks, or micro-blocks where every tile has one kernel call.
[[nodiscard]] constexpr std::uint32_t column_grain(const GemmPlan& plan) {
    return plan.distribution == Distribution::ParallelReduction ? plan.amp_columns : plan.output_block;
}

/// Rows are dealt one by one; where swapped in whole micro-blocks, because they are its columns.
[[nodiscard]] constexpr std::uint32_t row_grain(const GemmPlan& plan) { return plan.swapped ? plan.amp_columns : 1; }

/// Layouts of the left operand and of the result; `memory`: class of the result.
[[nodiscard]] TileLayout left_layout(const GemmPlan& plan);
[[nodiscard]] TileLayout output_layout(const GemmPlan& plan, TileMemory memory);

/// How the partial sums of a ParallelReduction come together on the fullest tile.
struct ReductionShare {
    std::uint64_t part_elems = 0;       ///< of the largest part of the result
    std::uint32_t partials = 0;         ///< received parts of that size at most: inner - 1, or one more where parts straddle two blocks
    std::uint32_t at_a_time = 0;        ///< of them in one phase
};
[[nodiscard]] ReductionShare reduction_share(const GemmPlan& plan);
/// Phases of the reduction: fan_in - 1 partners at a time.
[[nodiscard]] std::uint32_t reduction_epochs(const GemmPlan& plan);

/// Columns of the result's largest part: what a tile holds of the bias.
[[nodiscard]] std::uint32_t result_columns(const GemmPlan& plan);

/// Whether the result's division over the partners is one that the grid order numbers without holes: rows in columns-fast grids,
/// columns in the others.
[[nodiscard]] bool splits_along_order(const GemmPlan& plan);

/// Whether the plan can be carried out: nothing empty, blocks that fit the sizes, stored weights that every row group has, a result that is
/// split along the order. Says nothing of memory or of the number of tiles.
[[nodiscard]] bool is_legal(const GemmPlan& plan);

/// Bytes of stored weights on every tile, 0 .. tile_count - 1.
[[nodiscard]] std::vector<std::uint32_t> weight_bytes(const GemmPlan& plan, std::uint32_t tile_count);

/// Number of phases of gemm_phases() without building them.
[[nodiscard]] std::uint32_t gemm_phase_count(const GemmPlan& plan);

}  // namespace weft::ipu21
