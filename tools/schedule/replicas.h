#pragma once

#include <cstdint>
#include <vector>

#include "artifact/target.h"
#include "artifact/tasks.h"
#include "pim/timing.h"

namespace weft {

/// Runs of neighbouring lanes: lanes [first + lanes * i / parts, first + lanes * (i + 1) / parts) of a family.
struct LaneRun {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};
[[nodiscard]] LaneRun lane_run(const Family& family, std::uint32_t part, std::uint32_t parts);

/// Positions that a run of lanes reads of one input slot: from the first one any lane demands to the last one. count 0: none.
struct PositionHull {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};
[[nodiscard]] PositionHull demanded_hull(const Tasks& tasks, LaneRun run, std::uint32_t input_slot);

/// On how many cores every family should work for the shortest single inference: at least one, at most its lanes and the chip's cores,
/// all copies of weights together within `crossbar_budget`. Starting from one core each, the families on the longest path get more
/// cores, the largest gain per crossbar first, until no further core shortens the path or none can be paid. The time of a family on
/// n cores is its largest run of lanes and what the run's messages cost at both ends.
[[nodiscard]] std::vector<std::uint32_t> plan_replicas(const Tasks& tasks, const Target& target, const PimTiming& timing,
                                                       std::uint64_t crossbar_budget);

/// Sum over families of copies * crossbars.
[[nodiscard]] std::uint64_t replica_crossbars(const Tasks& tasks, const std::vector<std::uint32_t>& replicas);

}  // namespace weft
