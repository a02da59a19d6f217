#pragma once

#include <cstdint>
#include <string>

#include "artifact/program.h"
#include "pim/costs.h"

namespace weft {

/// The unit that has the most to do in a round: a core's vector unit or one of its array groups.
struct UnitBound {
    Picoseconds time = 0;        ///< no round can be shorter, however much the core overlaps
    std::uint32_t core = 0;
    std::string unit;            ///< "vector unit" or "array group 3"; empty where nothing is computed
};

/// Of any round but the first. A unit takes one instruction at a time, notices its end on a clock edge, and starts the next one a clock later.
/// The program must be possible (collapse() says so).
[[nodiscard]] UnitBound busiest_unit(const Program& program, const PimCosts& costs);

}  // namespace weft
