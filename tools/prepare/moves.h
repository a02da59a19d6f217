#pragma once

#include <span>
#include <vector>

#include "prepare/draft.h"

namespace weft::preparation {

/// The copies of a move, by output position and channel. `sources` are the family's input tensors with their final gaps.
/// A copy never leaves its output position; its source elements lie evenly spaced, zero or more elements apart.
[[nodiscard]] std::vector<MoveCopy> build_copies(const MoveSpec& spec, std::span<const TaskTensor> sources);

}  // namespace weft::preparation
