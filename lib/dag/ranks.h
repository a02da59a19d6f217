#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dag/dag.h"

namespace weft {

/// Which communication enters the optimistic cost table.
enum class OptimisticLinks : std::uint8_t {
    Mean,     ///< as published: the mean over all pairs; O(edges * processors)
    Actual,   ///< every pair at its own cost; O(edges * processors^2)
};

/// The optimistic cost table of PEFT (Arabnejad and Barbosa, IEEE TPDS 25(3), 2014), [task][processor], nanoseconds:
///     OCT(i, p) = max over successors j of min over processors q of OCT(j, q) + w(j, q) + (p == q ? 0 : c(i, j)),   0 for exit tasks.
/// With c the mean over pairs of processors the minimum over q is min(OCT(j, p) + w(j, p), c + min over q of OCT(j, q) + w(j, q)): where
/// the smallest q is p itself the first term is smaller still. So one minimum per task serves all its predecessors.
/// `order` is topological, `mean` is mean_communication(dag).
[[nodiscard]] std::vector<std::int64_t> optimistic_cost_table(const Dag& dag, std::span<const std::uint32_t> order,
                                                              std::span<const std::int64_t> mean,
                                                              OptimisticLinks links = OptimisticLinks::Mean);

// Ranks are means over processors; they are kept as sums, processors times the mean, so that comparing them is exact.

/// processors * rank_oct, where rank_oct(i) = mean over p of OCT(i, p).
[[nodiscard]] std::vector<std::int64_t> optimistic_ranks(const Dag& dag, std::span<const std::int64_t> table);

/// processors * rank_u, where rank_u(i) = mean cost of i + max over successors j of (c(i, j) + rank_u(j)) (Topcuoglu, Hariri and Wu, IEEE
/// TPDS 13(3), 2002).
[[nodiscard]] std::vector<std::int64_t> upward_ranks(const Dag& dag, std::span<const std::uint32_t> order,
                                                     std::span<const std::int64_t> mean);

/// processors * rank_d, where rank_d(i) = max over predecessors j of (rank_d(j) + mean cost of j + c(j, i)); 0 for entry tasks.
[[nodiscard]] std::vector<std::int64_t> downward_ranks(const Dag& dag, std::span<const std::uint32_t> order,
                                                       std::span<const std::int64_t> mean);

}  // namespace weft
