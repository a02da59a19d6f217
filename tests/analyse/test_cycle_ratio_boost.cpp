// Large graphs: equal to Howard's algorithm as Boost.Graph has it.
#include <doctest/doctest.h>

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
#include "random_graph.h"

using namespace weft;
using namespace weft::test;

namespace {

double by_boost(const TimedGraph& timed) {
    using Properties = boost::property<boost::edge_weight_t, double, boost::property<boost::edge_weight2_t, double>>;
    using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Properties>;
    Graph graph(timed.node_count);
    for (std::size_t edge = 0; edge < timed.edge_count(); ++edge) {
        boost::add_edge(timed.from[edge], timed.to[edge], Properties(static_cast<double>(timed.weight[edge]), static_cast<double>(timed.distance[edge])), graph);
    }
    return boost::maximum_cycle_ratio(graph, boost::get(boost::vertex_index, graph), boost::get(boost::edge_weight, graph), boost::get(boost::edge_weight2, graph));
}

void check_equal(const TimedGraph& graph) {
    const CycleRatio answer = maximum_cycle_ratio(graph);
    REQUIRE(answer.status == RatioStatus::Found);
    REQUIRE(cycle_ratio_problem(graph, answer).empty());
    const double ratio = static_cast<double>(answer.numerator) / static_cast<double>(answer.denominator);
    // Boost stops where an improvement is below 0.005.
    CHECK(by_boost(graph) == doctest::Approx(ratio).epsilon(1e-6));
}

}  // namespace

TEST_CASE("chains of cores with messages") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        CAPTURE(seed);
        RandomGraph random(seed);
        check_equal(random.cores(4 + random.below(165), 60, 2000 + random.below(8000)));
    }
}

TEST_CASE("READY and FREE everywhere") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        CAPTURE(seed);
        RandomGraph random(seed);
        check_equal(random.tokens(4 + random.below(165), 60, 2000 + random.below(8000), seed % 2 == 0 ? 200 : 200'000));
    }
}

TEST_CASE("a large one of each kind") {
    RandomGraph random(99);
    check_equal(random.cores(168, 300, 50'000));
    check_equal(random.tokens(168, 300, 20'000));
}
