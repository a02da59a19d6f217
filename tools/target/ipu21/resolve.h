#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include "target/json_section.h"
#include "target/target.h"

namespace weft::ipu21 {

/// A tile processor's description ({"family": "ipu21", ...}, see targets/ipu21-c600.json) as target columns. Every key is
/// required: there is no standard chip to fall back to. Impossible values throw Failure(bad_input) naming file and key.
[[nodiscard]] TargetColumns resolve(const nlohmann::json& json, const std::filesystem::path& file, const std::string& name, KeyLists& lists);

/// Human-readable size of the chip, one line.
[[nodiscard]] std::string describe(const Target& target);

}  // namespace weft::ipu21
