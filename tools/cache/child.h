#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::cache {

/// What a command did.
struct ChildResult {
    int status = 0;                  ///< its exit status, or 128 + the signal that ended it
    std::string standard_output;
    std::string standard_error;
    double seconds = 0;
    int interrupted_by = 0;          ///< the signal that asked this program to end; the command is ended too
};

/// Changes of the command's surroundings.
struct Surroundings {
    std::vector<std::pair<std::string, std::string>> environment;   ///< set
    int file_mask = -1;                                             ///< -1: as it is
};

/// Runs a command to its end and keeps both output streams. SIGINT, SIGTERM and SIGHUP that reach this program end the
/// command first; the command ends with this program too. Throws Failure(system) where it cannot be started.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& command, const Surroundings& surroundings);

}  // namespace weft::cache
