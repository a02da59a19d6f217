#pragma once

#include <cstdint>
#include <span>

#include "artifact/target.h"
#include "packing/packing.h"
#include "pim/timing.h"

namespace weft {

/// What a refinement has to keep to.
struct RefineLimits {
    std::uint32_t core_crossbars = 0;
    std::int64_t core_elems = 0;        ///< local memory
    std::span<const std::int64_t> constants;    ///< of constant_elems; empty: memory does not matter
    std::uint32_t trials_per_core = 0;
};

/// Makes the busiest core less busy (exact communication included) by threshold accepting (Dueck and Scheuer 1990): runs of lanes, or their
/// ends, move from busy cores to the owners of the lanes beside them, to others that have the weights or crossbars for them, or change places
/// with runs of idle cores. What counts is the square of every core's excess over the mean; local memory over the limit costs far more,
/// so a placement that is too large becomes one that fits, where the search finds one. The least busy placement that fits is returned, or
/// the last one where none does. Deterministic.
[[nodiscard]] LanePlacement refine_placement(const Tasks& tasks, const Target& target, const PimTiming& timing, LanePlacement placement,
                                             const Rhythm& rhythm, const RefineLimits& limits);

}  // namespace weft
