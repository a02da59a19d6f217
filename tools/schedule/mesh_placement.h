#pragma once

#include "packing/packing.h"

namespace weft {

/// Exchange whole cores so that the sum over all transfers of flits * link latency falls: simulated annealing over permutations from
/// a fixed seed. Busy times hardly change; the time messages spend in the senders' queues does.
[[nodiscard]] LanePlacement place_cores(const Tasks& tasks, const Target& target, LanePlacement placement,
                                        const Rhythm& rhythm,
                                        std::uint32_t moves_per_core);

}  // namespace weft
