#pragma once

#include <vector>

#include "ipu21/gemm_exchange.h"
#include "ipu21/layout.h"

namespace weft::ipu21 {

/// Phases of a streamed attention, one per round: keys and values of some parts go to all tiles of their head. `keys`: layout and shape of
/// the keys, which the values share. Failure(bad_input) where the plan contradicts them.
[[nodiscard]] std::vector<PlannedPhase> attention_phases(const TileOperator& op, const TilePlan& plan, const TileLayout& keys, MatrixShape shape,
                                                         std::uint32_t limit, std::string_view name);

/// Phases of a row-wise operator whose rows are cut: partial sums (two words a row) go to all other column parts.
[[nodiscard]] std::vector<PlannedPhase> row_phases(const TilePlan& plan, const TileLayout& layout, MatrixShape shape, std::uint32_t limit);

/// All phases of a chosen plan, whatever its operator is.
[[nodiscard]] std::vector<PlannedPhase> operator_phases(const Tasks& tasks, std::uint32_t op, const TilePlan& plan, const Target& target);

}  // namespace weft::ipu21
