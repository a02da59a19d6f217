#pragma once

#include <string>
#include <vector>

#include "prepare/cost.h"
#include "prepare/draft.h"

namespace weft::preparation {

/// Chooses a mapping for every matrix family and cuts those that a core's crossbars cannot hold: by output channels where a
/// single strip is too wide or channels are computed apart anyway (joined by a Move), then by strips (joined by a Pointwise sum).
/// The choice is the least time of a tile plus `ns_per_crossbar` for every crossbar; more crossbars decide ties against it.
void map_matrices(Draft& draft, const ChipFacts& chip, std::int64_t ns_per_crossbar);

/// Crossbars that one copy of every family's weights takes.
[[nodiscard]] std::uint64_t crossbar_total(const Draft& draft);

}  // namespace weft::preparation
