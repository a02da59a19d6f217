#include <doctest/doctest.h>

#include <numeric>

#include "dag/generate.h"

using namespace weft;

namespace {

/// Entry tasks, exit tasks.
std::pair<std::uint32_t, std::uint32_t> ends(const Dag& dag) {
    const Predecessors before = predecessors_of(dag);
    std::pair<std::uint32_t, std::uint32_t> count;
    for (std::uint32_t t = 0; t < dag.task_count; ++t) {
        count.first += before.first[t] == before.first[t + 1] ? 1U : 0U;
        count.second += dag.successor_first[t] == dag.successor_first[t + 1] ? 1U : 0U;
    }
    return count;
}

}  // namespace

TEST_CASE("shapes have the published sizes and ends") {
    Random random(5);
    CostOptions costs;
    const auto check = [&](const DagTopology& topology, std::uint32_t tasks, std::uint32_t entries, std::uint32_t exits) {
        CHECK(topology.kind.size() == topology.task_count);
        const DagColumns columns = add_costs(topology, costs, random);
        const Dag dag = view(columns);
        check_dag(dag);
        CHECK(dag.task_count == tasks);
        CHECK(ends(dag) == std::pair{entries, exits});
        CHECK(dag.successors.size() == topology.edges.size());   // none twice
    };
    for (const std::uint32_t points : {2U, 4U, 32U}) {
        std::uint32_t layers = 0;
        while ((1U << layers) < points) ++layers;
        check(fourier_topology(points), 2 * points - 1 + points * layers, 1, points);
    }
    for (const std::uint32_t size : {2U, 5U, 20U}) check(elimination_topology(size), (size * size + size - 2) / 2, 1, 1);
    for (const std::uint32_t lanes : {1U, 3U}) check(epigenomics_topology(lanes, 4), lanes * 18 + 3, lanes, 1);
    const DagTopology montage = montage_topology(10, random);
    check(montage, montage.task_count, 10, 1);
    CHECK(montage.task_count > 10 + 9 + 2 + 10 + 4 - 1);
}

TEST_CASE("layered graphs have the asked tasks, and edges reach back no further than allowed") {
    Random random(6);
    for (int round = 0; round < 100; ++round) {
        LayeredOptions options;
        options.tasks = 1 + random.below(300);
        options.fat_percent = 10 + random.below(80);
        options.jump = 1 + random.below(4);
        const DagTopology topology = layered_topology(options, random);
        CHECK(topology.task_count == options.tasks);
        for (const DagEdge& edge : topology.edges) CHECK(edge.from < edge.to);
        const DagColumns columns = add_costs(topology, {}, random);
        check_dag(view(columns));
    }
}

TEST_CASE("communication to computation is as asked") {
    Random random(7);
    LayeredOptions layers;
    layers.tasks = 400;
    const DagTopology topology = layered_topology(layers, random);
    for (const std::uint32_t ccr : {10U, 100U, 1000U}) {
        CostOptions costs;
        costs.ccr_percent = ccr;
        const DagColumns columns = add_costs(topology, costs, random);
        const double work = static_cast<double>(std::accumulate(columns.cost_ns.begin(), columns.cost_ns.end(), std::int64_t{0})) /
                            static_cast<double>(columns.cost_ns.size());
        const double data = static_cast<double>(std::accumulate(columns.edge_ns.begin(), columns.edge_ns.end(), std::int64_t{0})) /
                            static_cast<double>(columns.edge_ns.size());
        CHECK(data / work == doctest::Approx(ccr / 100.0).epsilon(0.05));
    }
}

TEST_CASE("tasks of a kind have the same mean time, and edges between two kinds carry the same") {
    Random random(8);
    CostOptions costs;
    costs.beta_percent = 0;
    const DagTopology topology = epigenomics_topology(3, 4);
    const DagColumns columns = add_costs(topology, costs, random);
    const Dag dag = view(columns);
    for (std::uint32_t a = 0; a < dag.task_count; ++a) {
        for (std::uint32_t b = 0; b < a; ++b) {
            if (topology.kind[a] == topology.kind[b]) CHECK(dag.costs(a)[0] == dag.costs(b)[0]);
        }
    }
    CHECK(dag.costs(1)[0] == dag.costs(5)[0]);   // two chains of one lane
    CHECK(dag.edge_ns[0] == dag.edge_ns[1]);     // from the split to each of them
    CHECK(dag.costs(0)[0] != dag.costs(1)[0]);
}
