// Maximum cycle ratio of graphs with a million edges: seconds, passes, and the ratio to Boost.Graph's Howard algorithm on the largest graph
// for which that takes a bearable time.
#include <fmt/format.h>

#include <ctime>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/howard_cycle_ratio.hpp>
#pragma GCC diagnostic pop

#include "analyse/check_cycle_ratio.h"
#include "analyse/random_graph.h"

namespace {

using namespace weft;

/// Processor time, so that a busy machine does not count.
double seconds_of(const auto& body) {
    const std::clock_t start = std::clock();
    body();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double by_boost(const TimedGraph& timed) {
    using Properties = boost::property<boost::edge_weight_t, double, boost::property<boost::edge_weight2_t, double>>;
    using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Properties>;
    Graph graph(timed.node_count);
    for (std::size_t edge = 0; edge < timed.edge_count(); ++edge) {
        boost::add_edge(timed.from[edge], timed.to[edge], Properties(static_cast<double>(timed.weight[edge]), static_cast<double>(timed.distance[edge])), graph);
    }
    return boost::maximum_cycle_ratio(graph, boost::get(boost::vertex_index, graph), boost::get(boost::edge_weight, graph), boost::get(boost::edge_weight2, graph));
}

void measure(const char* name, const TimedGraph& graph, bool against_boost) {
    CycleRatio answer;
    const double solving = seconds_of([&] { answer = maximum_cycle_ratio(graph); });
    std::string problem;
    const double checking = seconds_of([&] { problem = cycle_ratio_problem(graph, answer); });
    fmt::print("  {:<28} {:>8} nodes {:>8} edges  {:.3f} s, {} intervals, {} passes; check {:.3f} s; {}/{}, witness of {} edges{}{}\n", name, graph.node_count,
               graph.edge_count(), solving, answer.tests, answer.sweeps, checking, answer.numerator, answer.denominator, answer.cycle.size(),
               problem.empty() ? "" : "; WRONG: ", problem);
    if (!against_boost) return;
    double ratio = 0;
    const double boost_seconds = seconds_of([&] { ratio = by_boost(graph); });
    fmt::print("  {:<28} Boost.Graph {:.3f} s, {:.1f} times as long; ratio {:.3f} against {:.3f}\n", "", boost_seconds, boost_seconds / solving, ratio,
               static_cast<double>(answer.numerator) / static_cast<double>(answer.denominator));
}

}  // namespace

int main() {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        test::RandomGraph random(seed);
        measure("168 cores, messages", random.cores(168, 3000, 500'000), seed == 1);
        measure("168 cores, READY and FREE", random.tokens(168, 2000, 330'000), seed == 1);
        measure("1000 cores, READY and FREE", random.tokens(1000, 500, 250'000), false);
        measure("READY and FREE that bind", random.tokens(168, 2000, 330'000, 2'000'000), seed == 1);
        measure("few tokens", random.tokens(168, 5900, 5'000), false);
    }
}
