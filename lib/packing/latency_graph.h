#pragma once

#include <vector>

#include "dag/dag.h"
#include "packing/replicas.h"

namespace weft {

/// The list-scheduling problem of one inference.
struct LatencyGraph {
    DagColumns dag;                          ///< weight w is the weights of family w; limits are the planned copies
    std::vector<std::uint32_t> task_family;
    std::vector<LaneRun> task_lanes;
};

/// `parts` per family: runs of lanes and at most as many cores that hold the family's weights. See place_for_latency for the costs.
[[nodiscard]] LatencyGraph make_latency_graph(const Tasks& tasks, const Target& target, const PimTiming& timing,
                                              const std::vector<std::uint32_t>& parts);

}  // namespace weft
