#pragma once

#include <vector>

#include "artifact/target.h"
#include "prepare/cost.h"
#include "prepare/draft.h"
#include "prepare/matrix.h"
#include "prepare/prepare.h"

namespace weft::preparation {

/// Mappings, and how fine the lanes are cut.
struct ChosenMappings {
    std::vector<MappingChoice> choices;         ///< of the draft's matrix families
    std::uint32_t lanes_per_core = 0;
};

/// A mapping for every matrix family: of several ways to share out the chip the one that packs into the least time, improved layer by
/// layer. Least work alone misleads: crossbars and time have to run out together on every core. For latency: of several sizes of families, shares of the
/// crossbars for the first copies and finenesses of lanes what the list schedule of one inference likes best. `chip` gets the size of families.
[[nodiscard]] ChosenMappings choose_mappings(const Draft& draft, ChipFacts& chip, const Target& target, const PrepareOptions& options);

}  // namespace weft::preparation
