#pragma once

#include <vector>

#include "artifact/blob_store.h"
#include "artifact/graph.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "reference/tensor.h"

namespace weft::testing {

/// What a .tasks computes, read from its columns alone: lane after lane, every element read checked against the lane's demands,
/// every piece against its input's rows and gaps. The host's head and tail run by the reference executor. Outputs in the graph's
/// order. Throws std::logic_error where a lane reads what it does not demand.
[[nodiscard]] std::vector<HostTensor> run_tasks(const Graph& graph, const BlobStore& store, const Tasks& tasks,
                                                const std::vector<HostTensor>& inputs);

/// A chip like isaac-168x96 with other numbers of cores and crossbars.
[[nodiscard]] TargetColumns small_target(std::uint32_t cores, std::uint32_t crossbars);

}  // namespace weft::testing
