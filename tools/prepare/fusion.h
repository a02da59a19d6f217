#pragma once

#include "prepare/cost.h"
#include "prepare/draft.h"
#include "prepare/graph_index.h"
#include "prepare/host_split.h"

namespace weft::preparation {

/// The chip's part of the graph as families: every Conv, Linear, pool, concatenation, remap and relayout is a body, and the
/// pointwise operators behind it join it as steps while its result has a single reader. Reshapes and most transposes are views;
/// channel shuffles are copies only where a reader cannot do with another order of the channels.
/// Throws Failure(refused) for what cannot be expressed, naming the node.
[[nodiscard]] Draft draft_families(const GraphIndex& index, const HostSplit& split, const ChipFacts& chip);

/// Zero pixels between rows that the matrix families read as padding: the largest of their left padding and right overhang.
void set_gaps(Draft& draft);

}  // namespace weft::preparation
