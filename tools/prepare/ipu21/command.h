#pragma once

#include <optional>
#include <string>
#include <vector>

#include "artifact/graph.h"
#include "artifact/target.h"
#include "base/tool.h"
#include "prepare/ipu21/prepare.h"

namespace weft::ipu21 {

/// weft-prepare for tile processors: its options and what it does with them.
class PrepareCommand {
public:
    void add_options(CLI::App& app);
    /// Prepare `graph`, write the .tasks and the report.
    void run(Tool& tool, const Artifact<Graph>& graph, const Target& target, const std::string& output);
    /// What --kernels names, for either family; nothing without it. Failure(bad_input) where its unit is not the family's.
    [[nodiscard]] std::optional<KernelTable> kernels(Tool& tool, TargetFamily family) const;

private:
    PrepareOptions options_;
    std::string kernels_path_;
    std::string kernels_build_;
    std::vector<std::string> forced_;
    std::string precision_ = "f16";
};

}  // namespace weft::ipu21
