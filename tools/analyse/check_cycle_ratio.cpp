#include "check_cycle_ratio.h"

#include <fmt/format.h>

#include <numeric>

namespace weft {
namespace {

__extension__ using Wide = __int128;

/// The witness: a closed walk over existing edges.
std::string walk_problem(const TimedGraph& graph, const CycleRatio& answer) {
    if (answer.cycle.empty()) return "no witness cycle";
    for (std::size_t at = 0; at < answer.cycle.size(); ++at) {
        if (answer.cycle[at] >= graph.edge_count()) return fmt::format("witness edge {} does not exist", answer.cycle[at]);
    }
    for (std::size_t at = 0; at < answer.cycle.size(); ++at) {
        const std::uint32_t next = answer.cycle[(at + 1) % answer.cycle.size()];
        if (graph.to[answer.cycle[at]] != graph.from[next]) return fmt::format("witness edges {} and {} do not meet", answer.cycle[at], next);
    }
    return {};
}

std::string ratio_problem(const TimedGraph& graph, const CycleRatio& answer) {
    Wide weight = 0;
    Wide distance = 0;
    for (const std::uint32_t edge : answer.cycle) {
        weight += graph.weight[edge];
        distance += graph.distance[edge];
    }
    if (answer.status == RatioStatus::ZeroDistanceCycle) return distance == 0 ? "" : "the cycle without distance has one";
    if (answer.denominator <= 0) return "the denominator is not positive";
    if (std::gcd(answer.numerator, answer.denominator) != 1) return "the fraction is not in lowest terms";
    if (distance <= 0) return "the witness has no distance";
    return weight * answer.denominator == distance * answer.numerator ? "" : "the witness has another ratio";
}

std::string potential_problem(const TimedGraph& graph, const CycleRatio& answer) {
    if (answer.potential.size() != graph.node_count) return "one potential per node is needed";
    for (std::size_t edge = 0; edge < graph.edge_count(); ++edge) {
        const Wide needed = Wide{answer.potential[graph.from[edge]]} + Wide{answer.denominator} * graph.weight[edge] - Wide{answer.numerator} * graph.distance[edge];
        if (answer.potential[graph.to[edge]] < needed) return fmt::format("the potentials do not hold on edge {}", edge);
    }
    return {};
}

/// Potentials at interval -infinity: without cycles, nodes can be numbered so that every edge rises.
std::string order_problem(const TimedGraph& graph, const CycleRatio& answer) {
    if (answer.potential.size() != graph.node_count) return "one potential per node is needed";
    for (std::size_t edge = 0; edge < graph.edge_count(); ++edge) {
        if (answer.potential[graph.to[edge]] <= answer.potential[graph.from[edge]]) return fmt::format("edge {} does not rise", edge);
    }
    return {};
}

}  // namespace

std::string cycle_ratio_problem(const TimedGraph& graph, const CycleRatio& answer) {
    switch (answer.status) {
        case RatioStatus::Overflow: return {};   // claims nothing
        case RatioStatus::NoCycle: return order_problem(graph, answer);
        case RatioStatus::ZeroDistanceCycle:
        case RatioStatus::Found: break;
    }
    std::string problem = walk_problem(graph, answer);
    if (problem.empty()) problem = ratio_problem(graph, answer);
    if (problem.empty() && answer.status == RatioStatus::Found) problem = potential_problem(graph, answer);
    return problem;
}

}  // namespace weft
