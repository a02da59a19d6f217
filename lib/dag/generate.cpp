#include "dag/generate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/checked.h"

namespace weft {
namespace {

std::int64_t between(Random& random, std::int64_t least, std::int64_t most) {
    return least + random.below(narrow<std::uint32_t>(most - least + 1));
}

/// First task of each layer, then the number of tasks.
std::vector<std::uint32_t> draw_layers(const LayeredOptions& options, Random& random) {
    const double mean = std::pow(static_cast<double>(options.tasks), options.fat_percent / 100.0);
    const double spread = (100.0 - options.regularity_percent) / 100.0;
    std::vector<std::uint32_t> first = {0};
    while (first.back() < options.tasks) {
        const double share = 1.0 + spread * (static_cast<double>(between(random, 0, 2000)) / 1000.0 - 1.0);
        const auto width = static_cast<std::uint32_t>(std::max(1.0, std::floor(mean * share)));
        first.push_back(std::min(options.tasks, first.back() + width));
    }
    return first;
}

}  // namespace

DagTopology layered_topology(const LayeredOptions& options, Random& random) {
    DagTopology topology;
    topology.task_count = options.tasks;
    const std::vector<std::uint32_t> first = draw_layers(options, random);
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t layer = 1; layer + 1 < first.size(); ++layer) {
        const std::uint32_t width = first[layer] - first[layer - 1];
        for (std::uint32_t task = first[layer]; task < first[layer + 1]; ++task) {
            const std::uint32_t most = std::max(1U, width * options.density_percent / 100);
            const auto wanted = static_cast<std::uint32_t>(between(random, 1, most));
            std::vector<std::uint32_t> parents;
            for (std::uint32_t i = 0; i < wanted; ++i) {
                const std::uint32_t back = std::min<std::uint32_t>(layer, 1 + random.below(std::max(1U, options.jump)));
                const std::uint32_t from_layer = layer - back;
                parents.push_back(first[from_layer] + random.below(first[from_layer + 1] - first[from_layer]));
            }
            std::sort(parents.begin(), parents.end());
            parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
            for (const std::uint32_t parent : parents) topology.edges.push_back({parent, task, 0, 0});
        }
    }
    return topology;
}

DagColumns add_costs(const DagTopology& topology, const CostOptions& options, Random& random) {
    constexpr std::int64_t mean_ns = 10000;
    DagColumns columns;
    columns.task_count = topology.task_count;
    columns.processor_count = options.processors;
    std::int64_t total = 0;
    std::map<std::uint32_t, std::int64_t> task_means;
    for (std::uint32_t t = 0; t < topology.task_count; ++t) {
        std::int64_t mean = between(random, 1, 2 * mean_ns);
        if (!topology.kind.empty()) mean = task_means.try_emplace(topology.kind[t], mean).first->second;
        const std::int64_t half = mean * options.beta_percent / 200;
        for (std::uint32_t p = 0; p < options.processors; ++p) {
            columns.cost_ns.push_back(std::max<std::int64_t>(1, between(random, mean - half, mean + half)));
        }
        total += mean;
    }
    std::vector<DagEdge> edges = topology.edges;
    std::int64_t drawn = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> edge_means;
    for (DagEdge& edge : edges) {
        edge.ns = between(random, 1, 2 * mean_ns);
        if (!topology.kind.empty()) {
            edge.ns = edge_means.try_emplace({topology.kind[edge.from], topology.kind[edge.to]}, edge.ns).first->second;
        }
        drawn += edge.ns;
    }
    // Scale so that mean edge / mean task is the ratio exactly, up to rounding.
    for (DagEdge& edge : edges) {
        const std::int64_t target = multiply_divide(total * options.ccr_percent / 100, static_cast<std::int64_t>(edges.size()),
                                                    std::max<std::int64_t>(1, topology.task_count));
        edge.ns = multiply_divide(edge.ns, target, drawn);
    }
    set_edges(columns, std::move(edges));
    return columns;
}

DagColumns renumber(const Dag& dag, std::span<const std::uint32_t> new_number) {
    DagColumns columns;
    columns.task_count = dag.task_count;
    columns.processor_count = dag.processor_count;
    columns.link_ps.assign(dag.link_ps.begin(), dag.link_ps.end());
    columns.weight_size.assign(dag.weight_size.begin(), dag.weight_size.end());
    columns.weight_limit.assign(dag.weight_limit.begin(), dag.weight_limit.end());
    columns.capacity.assign(dag.capacity.begin(), dag.capacity.end());
    columns.space.assign(dag.space.begin(), dag.space.end());
    columns.task_space.resize(dag.task_space.size());
    columns.cost_ns.resize(dag.cost_ns.size());
    columns.task_weight.resize(dag.task_weight.size());
    std::vector<DagEdge> edges;
    for (std::uint32_t t = 0; t < dag.task_count; ++t) {
        const auto costs = dag.costs(t);
        std::copy(costs.begin(), costs.end(), columns.cost_ns.begin() + std::ptrdiff_t{new_number[t]} * dag.processor_count);
        if (!dag.task_space.empty()) columns.task_space[new_number[t]] = dag.task_space[t];
        if (!dag.task_weight.empty()) columns.task_weight[new_number[t]] = dag.task_weight[t];
        for (std::uint32_t e = dag.successor_first[t]; e < dag.successor_first[t + 1U]; ++e) {
            const std::uint32_t flits = dag.edge_flits.empty() ? 0 : dag.edge_flits[e];
            edges.push_back({new_number[t], new_number[dag.successors[e]], dag.edge_ns[e], flits});
        }
    }
    set_edges(columns, std::move(edges));
    return columns;
}

}  // namespace weft
