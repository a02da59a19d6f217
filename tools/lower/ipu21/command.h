#pragma once

#include <string>

#include "base/tool.h"
#include "lower/ipu21/lower.h"

namespace weft::ipu21 {

/// weft-lower for tile processors: its options and what it does with them.
class LowerCommand {
public:
    void add_options(CLI::App& app);
    /// Write the .prog; where placement fails, the .constraint (if asked for), then refuse.
    void run(Tool& tool, const Tasks& tasks, const Schedule& schedule, const Target& target, const std::string& output);

private:
    std::string constraint_path_;
};

}  // namespace weft::ipu21
