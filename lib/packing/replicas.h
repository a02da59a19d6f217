#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "artifact/target.h"
#include "artifact/tasks.h"
#include "dag/list_schedule.h"
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

/// On how many cores every family works.
struct ReplicaPlan {
    std::vector<std::uint32_t> replicas;   ///< per family: at least one, at most its lanes and the chip's cores
    std::vector<Residence> residences;     ///< cores for all copies of weights (weight: family), largest first
    std::int64_t path_ns = 0;              ///< the longest path that is left
};

/// The plan for the shortest single inference; none where not even one copy of every family finds a core. Starting from one core each,
/// one level of the network after another takes a step: its longest families on the longest path get so many cores more that their largest
/// run of lanes gets shorter, and so do those beside them that would then be in the way. The step with the largest gain per crossbar
/// comes first; steps whose copies find no room on the cores are left out. The time of a family on n cores is its largest run of
/// lanes, and what the run's messages and memory requests cost.
[[nodiscard]] std::optional<ReplicaPlan> plan_replicas(const Tasks& tasks, const Target& target, const PimTiming& timing);

}  // namespace weft
