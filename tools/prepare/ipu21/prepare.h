#pragma once

#include <string>
#include <utility>
#include <vector>

#include "artifact/graph.h"
#include "artifact/hash.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "kernels/kernel_table.h"
#include "prepare/ipu21/candidates.h"

namespace weft::ipu21 {

struct PrepareOptions {
    CandidateOptions candidates;
    /// (operator, plan key): only this plan is listed for the operator, whatever memory it needs.
    std::vector<std::pair<std::string, std::string>> forced;
    const KernelTable* kernels = nullptr;   ///< measured kernels; null: all analytical
    Hash128 graph_hash;
};

struct PrepareFigures {
    CandidateCounts counts;
    std::uint64_t measured = 0;        ///< plans whose local cost is measured, interpolated, analytical
    std::uint64_t interpolated = 0;
    std::uint64_t analytical = 0;
};

/// Operators, layouts and legal plans with their costs. Pure. Throws Failure(refused) with the complete list of operators that have
/// no plan, Failure(bad_input) for a forced plan that is not legal.
[[nodiscard]] TasksColumns prepare(const Graph& graph, const Target& target, const PrepareOptions& options, PrepareFigures* figures = nullptr);

}  // namespace weft::ipu21
