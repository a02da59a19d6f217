#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "artifact/target.h"

namespace weft {

/// A chip description as the simulator's JSON files have it, resolved.
struct ResolvedTarget {
    TargetColumns columns;
    std::vector<std::string> unknown_keys;   ///< JSON paths that neither the simulator nor weft knows
    std::vector<std::string> ignored_keys;   ///< JSON paths that the simulator accepts and does not use for time
    std::vector<std::string> notes;          ///< oddities that change nothing but deserve a warning
    std::filesystem::path network_file;      ///< the link table that was read; empty where a rule gave it
};

/// Read a chip file and the network table it names (relative to the chip file), with the simulator's defaults for what is
/// absent. `name` is stored in the target. Impossible values throw Failure(bad_input) naming file and key.
///
/// Keys of weft's own: chip_config.network_config.weft_mesh {"base_ns", "hop_ns", "memory_ns"} gives the link table by a
/// rule instead of a file (core i stands at row i / columns, column i % columns of the layout; base + hop * Manhattan
/// distance between different cores, memory_ns to and from the global memory).
[[nodiscard]] ResolvedTarget resolve_target(const std::filesystem::path& chip_file, const std::string& name);

/// The link table in the simulator's JSON form; `energy_pj` per flit for every pair.
[[nodiscard]] nlohmann::ordered_json network_json(const Target& target, double energy_pj);

/// The chip file for the simulator: the same text with `net_config_file_path` set and weft's own keys removed.
[[nodiscard]] nlohmann::ordered_json simulator_chip_json(const std::filesystem::path& chip_file, const std::string& network_path);

/// Human-readable size of the chip, one line.
[[nodiscard]] std::string describe_target(const Target& target);

}  // namespace weft
