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

/// Place the lanes of following families: each on the least busy of the cores that make the middle of what it reads. `placement` holds
/// the other lanes and gets these; `busy_ns` per core is kept up to date with `lane_ns`.
void place_followers(const Tasks& tasks, const Followers& followers, std::span<const std::int64_t> lane_ns,
                     std::vector<std::uint16_t>& placement, std::vector<std::int64_t>& busy_ns);

}  // namespace weft
