#pragma once

#include <string>

#include "analyse.h"

namespace weft {

/// The analysis as a table for people; `cores` rows of the busiest cores.
[[nodiscard]] std::string table(const Analysis& analysis, std::size_t cores);

}  // namespace weft
