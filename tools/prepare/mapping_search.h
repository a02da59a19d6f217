#pragma once

#include <vector>

#include "artifact/target.h"
#include "prepare/cost.h"
#include "prepare/draft.h"
#include "prepare/matrix.h"
#include "prepare/prepare.h"

namespace weft::preparation {

/// A mapping for every matrix family: of several ways to share out the chip the one that packs into the least time, improved layer by
/// layer. Least work alone misleads: crossbars and time have to run out together on every core. `chip` gets the size of families.
[[nodiscard]] std::vector<MappingChoice> choose_mappings(const Draft& draft, ChipFacts& chip, const Target& target, const PrepareOptions& options);

}  // namespace weft::preparation
