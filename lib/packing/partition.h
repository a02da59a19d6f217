#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact/tasks.h"
#include "packing/workload.h"

namespace weft {

/// Families that stay in one stage, in dependency order.
struct PartitionGroup {
    std::int64_t work_ns = 0;
    std::uint64_t crossbars = 0;
    std::int64_t cut_elems = 0;     ///< elements that pass the border behind the group, every inference
};

struct PartitionLimits {
    std::uint32_t cores = 0;
    std::uint32_t core_crossbars = 0;
    std::uint32_t stages = 1;
    std::size_t frontier = 8;       ///< trade-offs between cores and cut kept per state
};

/// Groups in consecutive stages, each on cores of its own.
struct Partition {
    std::vector<std::uint32_t> stage_end;       ///< groups, ascending
    std::vector<std::uint32_t> stage_cores;     ///< all of the chip's
    std::int64_t bottleneck_ns = 0;             ///< largest stage work / cores, rounded up
    std::int64_t cut_elems = 0;                 ///< sum over the borders between stages
    bool operator==(const Partition&) const = default;
};

/// Partitions into exactly `stages` stages, the shortest bottleneck first, then with less cut at up to an eighth more time; none dominates another.
/// Empty where there are fewer groups than stages or the crossbars do not suffice.
///
/// Method: a stage needs as many cores as its work takes in a time T and as its crossbars fill; for each state (stages, groups) the dynamic
/// programme keeps the non-dominated pairs of cores and cut, at most `frontier`: the fewest cores, the least cut, and an even choice between. T is
/// bisected on the fewest cores, which are exact whatever the frontier; the cut is exact with an unlimited one.
[[nodiscard]] std::vector<Partition> partition_groups(std::span<const PartitionGroup> groups, const PartitionLimits& limits);

/// No partition is faster: all work spread evenly over all cores.
[[nodiscard]] std::int64_t partition_bound(std::span<const PartitionGroup> groups, const PartitionLimits& limits);

/// A group for every family that follows nobody, with the work of those that follow it; `families` in the same order.
struct FamilyGroups {
    std::vector<PartitionGroup> groups;
    std::vector<std::uint32_t> families;
};
[[nodiscard]] FamilyGroups family_groups(const Tasks& tasks, const Workload& workload);

}  // namespace weft
