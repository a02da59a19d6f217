#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analyse.h"

namespace weft {

/// The analysis as a table for people; `cores` rows of the busiest and the most waiting cores.
[[nodiscard]] std::string table(const Analysis& analysis, std::size_t cores);

/// The same as JSON, every core.
[[nodiscard]] nlohmann::ordered_json json_report(const Analysis& analysis);

[[nodiscard]] const char* availability_name(Availability availability);

}  // namespace weft
