#include "dag/dag.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "base/checked.h"

namespace weft {

Dag view(const DagColumns& columns) {
    Dag dag;
    dag.task_count = columns.task_count;
    dag.processor_count = columns.processor_count;
    dag.successor_first = columns.successor_first;
    dag.successors = columns.successors;
    dag.edge_ns = columns.edge_ns;
    dag.edge_flits = columns.edge_flits;
    dag.link_ps = columns.link_ps;
    dag.cost_ns = columns.cost_ns;
    dag.task_weight = columns.task_weight;
    dag.weight_size = columns.weight_size;
    dag.weight_limit = columns.weight_limit;
    dag.capacity = columns.capacity;
    dag.task_space = columns.task_space;
    dag.space = columns.space;
    return dag;
}

void set_edges(DagColumns& columns, std::vector<DagEdge> edges) {
    std::sort(edges.begin(), edges.end(), [](const DagEdge& a, const DagEdge& b) {
        return a.from != b.from ? a.from < b.from : a.to < b.to;
    });
    const bool with_flits = std::any_of(edges.begin(), edges.end(), [](const DagEdge& edge) { return edge.flits != 0; });
    columns.successor_first.assign(columns.task_count + 1U, 0);
    columns.successors.clear();
    columns.edge_ns.clear();
    columns.edge_flits.clear();
    for (std::size_t e = 0; e < edges.size(); ++e) {
        const DagEdge& edge = edges[e];
        if (e > 0 && edges[e - 1].from == edge.from && edges[e - 1].to == edge.to) {
            columns.edge_ns.back() = checked_add(columns.edge_ns.back(), edge.ns);
            if (with_flits) columns.edge_flits.back() = checked_add(columns.edge_flits.back(), edge.flits);
            continue;
        }
        ++columns.successor_first[edge.from + 1U];
        columns.successors.push_back(edge.to);
        columns.edge_ns.push_back(edge.ns);
        if (with_flits) columns.edge_flits.push_back(edge.flits);
    }
    std::partial_sum(columns.successor_first.begin(), columns.successor_first.end(), columns.successor_first.begin());
}

Predecessors predecessors_of(const Dag& dag) {
    Predecessors result;
    result.first.assign(dag.task_count + 1U, 0);
    for (const std::uint32_t to : dag.successors) ++result.first[to + 1U];
    std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
    result.task.resize(dag.successors.size());
    result.edge.resize(dag.successors.size());
    std::vector<std::uint32_t> next(result.first.begin(), result.first.end() - 1);
    for (std::uint32_t from = 0; from < dag.task_count; ++from) {
        for (std::uint32_t e = dag.successor_first[from]; e < dag.successor_first[from + 1U]; ++e) {
            const std::uint32_t slot = next[dag.successors[e]]++;
            result.task[slot] = from;
            result.edge[slot] = e;
        }
    }
    return result;
}

std::vector<std::uint32_t> topological_order(const Dag& dag) {
    std::vector<std::uint32_t> missing(dag.task_count, 0);
    for (const std::uint32_t to : dag.successors) ++missing[to];
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t t = 0; t < dag.task_count; ++t) {
        if (missing[t] == 0) ready.push(t);
    }
    std::vector<std::uint32_t> order;
    order.reserve(dag.task_count);
    while (!ready.empty()) {
        const std::uint32_t task = ready.top();
        ready.pop();
        order.push_back(task);
        for (std::uint32_t e = dag.successor_first[task]; e < dag.successor_first[task + 1U]; ++e) {
            if (--missing[dag.successors[e]] == 0) ready.push(dag.successors[e]);
        }
    }
    WEFT_CHECK(order.size() == dag.task_count, "{} of {} tasks lie on or behind a cycle", dag.task_count - order.size(), dag.task_count);
    return order;
}

std::vector<std::int64_t> mean_communication(const Dag& dag) {
    std::vector<std::int64_t> mean(dag.edge_ns.begin(), dag.edge_ns.end());
    if (dag.processor_count < 2) {
        std::fill(mean.begin(), mean.end(), 0);
        return mean;
    }
    if (dag.link_ps.empty()) return mean;
    const std::int64_t pairs = std::int64_t{dag.processor_count} * (dag.processor_count - 1);
    std::int64_t sum_ps = 0;
    for (std::uint32_t p = 0; p < dag.processor_count; ++p) {
        for (std::uint32_t q = 0; q < dag.processor_count; ++q) {
            if (p != q) sum_ps += dag.link_ps[std::size_t{p} * dag.processor_count + q];
        }
    }
    // Half of the divisor is added first: rounds to the nearest. (2 * flits * sum + pairs * 1000) / (2 * pairs * 1000)
    for (std::size_t e = 0; e < mean.size(); ++e) {
        __extension__ using Wide = __int128;
        const Wide twice = Wide{2} * dag.edge_flits[e] * sum_ps + Wide{1000} * pairs;
        mean[e] += static_cast<std::int64_t>(twice / (Wide{2000} * pairs));
    }
    return mean;
}

namespace {

void check_shapes(const Dag& dag) {
    WEFT_CHECK(dag.processor_count > 0);
    WEFT_CHECK(dag.successor_first.size() == std::size_t{dag.task_count} + 1 && dag.successor_first.front() == 0);
    WEFT_CHECK(dag.successor_first.back() == dag.successors.size() && dag.edge_ns.size() == dag.successors.size());
    WEFT_CHECK(std::is_sorted(dag.successor_first.begin(), dag.successor_first.end()));
    WEFT_CHECK(dag.cost_ns.size() == std::size_t{dag.task_count} * dag.processor_count);
    WEFT_CHECK(dag.link_ps.empty() || (dag.link_ps.size() == std::size_t{dag.processor_count} * dag.processor_count &&
                                       dag.edge_flits.size() == dag.successors.size()));
    for (const std::uint32_t to : dag.successors) WEFT_CHECK(to < dag.task_count);
    WEFT_CHECK(dag.task_space.empty() || (dag.task_space.size() == dag.task_count && dag.space.size() == dag.processor_count));
    if (dag.task_weight.empty()) return;
    WEFT_CHECK(dag.task_weight.size() == dag.task_count && dag.capacity.size() == dag.processor_count);
    WEFT_CHECK(dag.weight_limit.empty() || dag.weight_limit.size() == dag.weight_size.size());
    for (const std::uint32_t weight : dag.task_weight) WEFT_CHECK(weight == no_id || weight < dag.weight_size.size());
}

}  // namespace

void check_dag(const Dag& dag) {
    check_shapes(dag);
    (void)topological_order(dag);
    // Every time that an algorithm forms is at most (all tasks one after the other, each at its dearest, all data moved over the
    // dearest link), times the number of processors where means are compared as sums, and twice that where two ranks are added.
    std::int64_t total = 0;
    for (std::uint32_t t = 0; t < dag.task_count; ++t) {
        const auto costs = dag.costs(t);
        const auto [least, most] = std::minmax_element(costs.begin(), costs.end());
        WEFT_CHECK(*least >= 0, "task {} has a negative cost", t);
        total = checked_add(total, *most);
    }
    const std::uint32_t dearest = dag.link_ps.empty() ? 0 : *std::max_element(dag.link_ps.begin(), dag.link_ps.end());
    for (std::size_t e = 0; e < dag.edge_ns.size(); ++e) {
        WEFT_CHECK(dag.edge_ns[e] >= 0, "edge {} has a negative cost", e);
        total = checked_add(total, dag.edge_ns[e]);
        if (!dag.link_ps.empty()) total = checked_add(total, Dag::flight_ns(dag.edge_flits[e], dearest));
    }
    (void)checked_multiply<std::int64_t>(checked_multiply<std::int64_t>(total, dag.processor_count), 4);
}

}  // namespace weft
