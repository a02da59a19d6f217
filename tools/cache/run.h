#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cache/place.h"

namespace weft::cache {

struct RunOptions {
    Placement placement = Placement::link;
    std::vector<std::string> launcher;          ///< words before the command when it runs ("srun -n1"); not part of the key
    std::string stamp;                          ///< touched when all is in place, with the time of the beginning
    std::string label;                          ///< printed with the first output when the command runs, with "(stored)" when it need not
    bool discard_output = false;                ///< what the command prints on standard output is neither stored nor printed
    bool check = false;                         ///< run once more in other surroundings and compare
    std::vector<std::string> check_arguments;   ///< appended to the command in that run
    unsigned wait_seconds = 600;                ///< how long to wait for another process that runs the same action
    std::function<void(const std::string&)> warn;
};

/// Makes the results of an action appear at their places: from the store, or by running the command and storing what it made.
/// Returns the command's exit status (0 for a kept refusal). A command that fails changes nothing, in the store or beside it.
[[nodiscard]] int run_action(Store& store, const Action& action, const RunOptions& options);

}  // namespace weft::cache
