#pragma once

#include <functional>

#include "packing/packing.h"

namespace weft {

/// What a placement needs of every core's local memory, in elements, and how much there is.
struct MemoryLimit {
    std::function<std::vector<std::int64_t>(const LanePlacement&)> used_elems;
    std::int64_t core_elems = 0;
};

/// Takes lanes off cores whose local memory is too full, step by step: runs of lanes, or half of one, go to cores with memory and time to
/// spare that have the weights or crossbars for them. Nothing where some core stays too full.
[[nodiscard]] std::optional<LanePlacement> relieve_memory(const Tasks& tasks, const Workload& workload, const Target& target, const PimTiming& timing,
                                                          LanePlacement placement, const Rhythm& rhythm, const MemoryLimit& limit);

/// Takes lanes off the busiest core (exact communication included), step by step: the ends of its runs of lanes go to cores that are
/// less busy than the mean and have the weights or crossbars for them, as long as no core's memory becomes too full. Ends where no such
/// move makes the busiest core less busy.
[[nodiscard]] LanePlacement relieve_busiest(const Tasks& tasks, const Workload& workload, const Target& target, const PimTiming& timing,
                                            LanePlacement placement, const Rhythm& rhythm, const MemoryLimit& limit);

}  // namespace weft
