#pragma once

#include <string>

#include "cycle_ratio.h"

namespace weft {

/// Why `answer` is not the maximum cycle ratio of `graph`, or nothing where it is. Looks at the edges only, knows no method, and takes one
/// pass: a witness of the claimed ratio and potentials that hold on every edge leave no other possibility.
[[nodiscard]] std::string cycle_ratio_problem(const TimedGraph& graph, const CycleRatio& answer);

}  // namespace weft
