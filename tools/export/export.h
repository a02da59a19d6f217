#pragma once

#include <filesystem>
#include <string_view>

#include "export/pimsim.h"
#include "export/traps.h"

namespace weft {

struct ExportOptions {
    ExportFormat format = ExportFormat::pimsim_binary;
    SimulationSettings simulation;
    std::uint32_t repeats = 1;   ///< every core's list this many times in a row
};

/// Throws Failure(refused) that lists every trap of pimsim that `program` contains; `file` names the program.
void refuse_traps(const Program& program, const Target& target, ExportFormat format, std::string_view file);

/// Write `program` for `target` as the folder `directory`: config.json, one core_<id>.pim or .json for every core, chip.json and
/// network.json (for the simulator) or image.json (native). Refuses programs with traps; whole or not at all.
void export_program(const Program& program, const Target& target, const ExportOptions& options, std::string_view file,
                    const std::filesystem::path& directory);

}  // namespace weft
