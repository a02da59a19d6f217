#pragma once

#include <functional>

#include "packing/packing.h"

namespace weft {

/// Takes lanes off the busiest core (exact communication included), step by step: the ends of its runs of lanes go to cores that are
/// less busy than the mean and have the weights or crossbars for them, as long as the placement `fits`. Ends where no such move makes
/// the busiest core less busy.
[[nodiscard]] LanePlacement relieve_busiest(const Tasks& tasks, const Workload& workload, const Target& target, const PimTiming& timing,
                                            LanePlacement placement, const Rhythm& rhythm, const std::function<bool(const LanePlacement&)>& fits);

}  // namespace weft
