#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>

#include "json_section.h"
#include "target.h"

namespace weft {

/// Throws Failure(bad_input) where the file is no JSON.
[[nodiscard]] nlohmann::json parse_json_file(const std::filesystem::path& path);

/// Fill bus, layout and link table from network_config; reads the table file or applies the mesh rule.
void read_network(JsonSection section, const std::filesystem::path& chip_file, ResolvedTarget& result);

}  // namespace weft
