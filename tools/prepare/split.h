#pragma once

#include <cstdint>
#include <vector>

#include "prepare/cost.h"
#include "prepare/draft.h"
#include "prepare/options.h"

namespace weft::preparation {

/// A matrix family of the draft as a problem to map.
[[nodiscard]] MatrixProblem matrix_problem(const Draft& draft, const DraftFamily& layer);

/// Writes every matrix family by the choice made for it (`choices` in the order of the draft's matrix families). A layer of
/// several parts becomes several families: its column groups joined by a Move, the parts of a group summed by a Pointwise. Without
/// `blocks` the matrices themselves are left out: enough to price and pack it.
void map_matrices(Draft& draft, const ChipFacts& chip, const std::vector<MappingChoice>& choices, bool blocks = true);

/// Crossbars that one copy of every family's weights takes.
[[nodiscard]] std::uint64_t crossbar_total(const Draft& draft);

}  // namespace weft::preparation
