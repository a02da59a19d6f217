#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact/tasks.h"

namespace weft {

/// Families without weights (pooling, sums of partial results, pointwise work, moves) that depend on families with weights *follow*
/// them: they run where their inputs are made, so that most of what they read never crosses the network.
struct Followers {
    std::vector<std::uint32_t> first_leader;   // CSR, families + 1; no leaders: the family is placed on its own
    std::vector<std::uint32_t> leaders;        // families with weights, ascending

    [[nodiscard]] bool follows(std::uint32_t family) const { return first_leader[family] != first_leader[family + 1]; }
};

/// Families with a lane of more than `largest_ns` follow nobody.
[[nodiscard]] Followers find_followers(const Tasks& tasks, std::span<const std::int64_t> lane_ns, std::int64_t largest_ns);

/// What placed lanes leave of a core.
struct CoreUse {
    std::int64_t busy_ns = 0;
    std::int64_t free_elems = 0;     ///< local memory
};

/// Place the lanes of following families. A lane goes to a core that makes the middle of what it reads, as long as that core is not
/// busier than `level_ns` with it; then on where the lane before it went; then to the least busy core of the chip that has the memory.
/// `placement` holds the other lanes and gets these; `cores` is kept up to date.
void place_followers(const Tasks& tasks, const Followers& followers, std::span<const std::int64_t> lane_ns,
                     std::span<const std::int64_t> lane_elems, std::int64_t level_ns, std::vector<std::uint16_t>& placement,
                     std::vector<CoreUse>& cores);

}  // namespace weft
