#include "dag/ranks.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace weft {
namespace {

std::int64_t cost_sum(const Dag& dag, std::uint32_t task) {
    const auto costs = dag.costs(task);
    return std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
}

/// row[p] = max(row[p], min(next[p] + cost[p], elsewhere))
void raise(std::span<std::int64_t> row, std::span<const std::int64_t> next, std::span<const std::int64_t> cost, std::int64_t elsewhere) {
    for (std::size_t p = 0; p < row.size(); ++p) row[p] = std::max(row[p], std::min(next[p] + cost[p], elsewhere));
}

/// row[p] = max(row[p], min over q of next[q] + cost[q] + the edge from p to q)
void raise_by_links(const Dag& dag, std::uint32_t edge, std::span<std::int64_t> row, std::span<const std::int64_t> next,
                    std::span<const std::int64_t> cost) {
    for (std::uint32_t p = 0; p < dag.processor_count; ++p) {
        std::int64_t least = next[p] + cost[p];
        for (std::uint32_t q = 0; q < dag.processor_count; ++q) {
            least = std::min(least, next[q] + cost[q] + dag.communication_ns(edge, p, q));
        }
        row[p] = std::max(row[p], least);
    }
}

}  // namespace

std::vector<std::int64_t> optimistic_cost_table(const Dag& dag, std::span<const std::uint32_t> order,
                                                std::span<const std::int64_t> mean, OptimisticLinks links) {
    const std::size_t width = dag.processor_count;
    std::vector<std::int64_t> table(dag.task_count * width, 0);
    std::vector<std::int64_t> least(dag.task_count);   // min over q of OCT(j, q) + w(j, q)
    for (auto task = order.rbegin(); task != order.rend(); ++task) {
        const std::span<std::int64_t> row(table.data() + *task * width, width);
        for (std::uint32_t e = dag.successor_first[*task]; e < dag.successor_first[*task + 1U]; ++e) {
            const std::uint32_t next = dag.successors[e];
            const std::span<const std::int64_t> next_row(table.data() + next * width, width);
            if (links == OptimisticLinks::Actual && !dag.link_ps.empty()) {
                raise_by_links(dag, e, row, next_row, dag.costs(next));
            } else {
                raise(row, next_row, dag.costs(next), least[next] + mean[e]);
            }
        }
        const auto costs = dag.costs(*task);
        std::int64_t& smallest = least[*task];
        smallest = row[0] + costs[0];
        for (std::size_t q = 1; q < width; ++q) smallest = std::min(smallest, row[q] + costs[q]);
    }
    return table;
}

std::vector<std::int64_t> optimistic_ranks(const Dag& dag, std::span<const std::int64_t> table) {
    std::vector<std::int64_t> ranks(dag.task_count);
    const std::size_t width = dag.processor_count;
    for (std::size_t t = 0; t < ranks.size(); ++t) {
        const auto row = table.subspan(t * width, width);
        ranks[t] = std::accumulate(row.begin(), row.end(), std::int64_t{0});
    }
    return ranks;
}

std::vector<std::int64_t> upward_ranks(const Dag& dag, std::span<const std::uint32_t> order, std::span<const std::int64_t> mean) {
    std::vector<std::int64_t> ranks(dag.task_count, 0);
    for (auto task = order.rbegin(); task != order.rend(); ++task) {
        std::int64_t rest = 0;
        for (std::uint32_t e = dag.successor_first[*task]; e < dag.successor_first[*task + 1U]; ++e) {
            rest = std::max(rest, mean[e] * dag.processor_count + ranks[dag.successors[e]]);
        }
        ranks[*task] = cost_sum(dag, *task) + rest;
    }
    return ranks;
}

std::vector<std::int64_t> downward_ranks(const Dag& dag, std::span<const std::uint32_t> order, std::span<const std::int64_t> mean) {
    std::vector<std::int64_t> ranks(dag.task_count, 0);
    for (const std::uint32_t task : order) {
        const std::int64_t done = ranks[task] + cost_sum(dag, task);
        for (std::uint32_t e = dag.successor_first[task]; e < dag.successor_first[task + 1U]; ++e) {
            std::int64_t& rank = ranks[dag.successors[e]];
            rank = std::max(rank, done + mean[e] * dag.processor_count);
        }
    }
    return ranks;
}

}  // namespace weft
