#pragma once

#include <string>
#include <vector>

#include "base/tool.h"
#include "schedule/ipu21/graph_planning.h"

namespace weft::ipu21 {

/// weft-schedule for tile processors: its options and what it does with them.
class ScheduleCommand {
public:
    void add_options(CLI::App& app);
    /// The finalists; search figures go into the report.
    [[nodiscard]] std::vector<ScheduleColumns> run(Tool& tool, const Artifact<Tasks>& tasks, const Target& target);

private:
    PlanningOptions options_;
    std::vector<std::string> constraints_;
    std::vector<std::string> required_;
};

}  // namespace weft::ipu21
