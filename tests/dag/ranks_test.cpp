#include "dag/ranks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/failure.h"
#include "dag/generate.h"

using namespace weft;

namespace {

DagColumns small_dag(Random& random, bool with_links) {
    LayeredOptions layers;
    layers.tasks = 1 + random.below(8);
    layers.fat_percent = 20 + random.below(60);
    layers.density_percent = 20 + random.below(80);
    layers.jump = 1 + random.below(3);
    CostOptions costs;
    costs.processors = 1 + random.below(4);
    costs.ccr_percent = 10 + random.below(500);
    costs.beta_percent = 10 + random.below(190);
    DagColumns columns = add_costs(layered_topology(layers, random), costs, random);
    if (!with_links) return columns;
    for (std::uint32_t i = 0; i < costs.processors * costs.processors; ++i) columns.link_ps.push_back(random.below(90000));
    for (std::size_t e = 0; e < columns.successors.size(); ++e) columns.edge_flits.push_back(random.below(300));
    return columns;
}

/// The definition of the optimistic table, without table and without collapsed minimum.
std::int64_t optimistic(const Dag& dag, std::span<const std::int64_t> mean, bool actual, std::uint32_t task, std::uint32_t p) {
    std::int64_t worst = 0;
    for (std::uint32_t e = dag.successor_first[task]; e < dag.successor_first[task + 1]; ++e) {
        const std::uint32_t next = dag.successors[e];
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (std::uint32_t q = 0; q < dag.processor_count; ++q) {
            const std::int64_t delay = q == p ? 0 : actual ? dag.communication_ns(e, p, q) : mean[e];
            least = std::min(least, optimistic(dag, mean, actual, next, q) + dag.costs(next)[q] + delay);
        }
        worst = std::max(worst, least);
    }
    return worst;
}

}  // namespace

TEST_CASE("the optimistic table equals its definition") {
    Random random(11);
    for (int round = 0; round < 300; ++round) {
        const DagColumns columns = small_dag(random, round % 2 == 1);
        const Dag dag = view(columns);
        check_dag(dag);
        const auto mean = mean_communication(dag);
        const auto order = topological_order(dag);
        for (const auto links : {OptimisticLinks::Mean, OptimisticLinks::Actual}) {
            const auto table = optimistic_cost_table(dag, order, mean, links);
            const auto ranks = optimistic_ranks(dag, table);
            for (std::uint32_t t = 0; t < dag.task_count; ++t) {
                std::int64_t sum = 0;
                for (std::uint32_t p = 0; p < dag.processor_count; ++p) {
                    const std::int64_t expected = optimistic(dag, mean, links == OptimisticLinks::Actual, t, p);
                    CHECK(table[t * dag.processor_count + p] == expected);
                    sum += expected;
                }
                CHECK(ranks[t] == sum);
            }
        }
    }
}

TEST_CASE("upward and downward ranks are the longest paths") {
    Random random(12);
    for (int round = 0; round < 200; ++round) {
        const DagColumns columns = small_dag(random, false);
        const Dag dag = view(columns);
        const auto mean = mean_communication(dag);
        const auto order = topological_order(dag);
        const auto up = upward_ranks(dag, order, mean);
        const auto down = downward_ranks(dag, order, mean);
        std::vector<std::int64_t> own(dag.task_count, 0);
        for (std::uint32_t t = 0; t < dag.task_count; ++t) {
            for (const std::int64_t cost : dag.costs(t)) own[t] += cost;
        }
        // Every path that starts at `task`; `length` is the path before it.
        std::vector<std::int64_t> longest_to(dag.task_count, 0);
        const std::function<std::int64_t(std::uint32_t, std::int64_t)> walk = [&](std::uint32_t task, std::int64_t length) {
            longest_to[task] = std::max(longest_to[task], length);
            std::int64_t rest = 0;
            for (std::uint32_t e = dag.successor_first[task]; e < dag.successor_first[task + 1]; ++e) {
                const std::int64_t edge = mean[e] * dag.processor_count;
                rest = std::max(rest, edge + walk(dag.successors[e], length + own[task] + edge));
            }
            return own[task] + rest;
        };
        std::vector<std::int64_t> longest_from(dag.task_count);
        for (std::uint32_t t = 0; t < dag.task_count; ++t) longest_from[t] = walk(t, 0);
        CHECK(up == longest_from);
        CHECK(down == longest_to);
    }
}

TEST_CASE("the mean over links is over pairs of different processors and rounds to the nearest") {
    DagColumns columns;
    columns.task_count = 2;
    columns.processor_count = 2;
    columns.cost_ns = {1, 1, 1, 1};
    columns.link_ps = {777777, 1000, 2000, 777777};
    set_edges(columns, {{0, 1, 5, 3}});
    CHECK(mean_communication(view(columns)) == std::vector<std::int64_t>{5 + 5});   // 3 flits * 1.5 ns = 4.5
    CHECK(view(columns).communication_ns(0, 0, 1) == 5 + 3);
    CHECK(view(columns).communication_ns(0, 1, 0) == 5 + 6);
    CHECK(view(columns).communication_ns(0, 1, 1) == 0);
}

TEST_CASE("edges between one pair of tasks are joined") {
    DagColumns columns;
    columns.task_count = 3;
    columns.processor_count = 1;
    set_edges(columns, {{0, 2, 7, 1}, {0, 1, 1, 0}, {0, 2, 3, 4}});
    CHECK(columns.successor_first == std::vector<std::uint32_t>{0, 2, 2, 2});
    CHECK(columns.successors == std::vector<std::uint32_t>{1, 2});
    CHECK(columns.edge_ns == std::vector<std::int64_t>{1, 10});
    CHECK(columns.edge_flits == std::vector<std::uint32_t>{0, 5});
}

TEST_CASE("cycles and sums beyond 64 bits are found") {
    DagColumns columns;
    columns.task_count = 2;
    columns.processor_count = 2;
    columns.cost_ns = {1, 1, 1, 1};
    set_edges(columns, {{0, 1, 1, 0}, {1, 0, 1, 0}});
    CHECK_THROWS_AS(check_dag(view(columns)), Failure);
    set_edges(columns, {{0, 1, std::numeric_limits<std::int64_t>::max() / 8, 0}});
    CHECK_THROWS_AS(check_dag(view(columns)), Failure);
    set_edges(columns, {{0, 1, std::numeric_limits<std::int64_t>::max() / 16, 0}});
    CHECK_NOTHROW(check_dag(view(columns)));
}
