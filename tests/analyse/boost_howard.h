#pragma once

// Howard's algorithm as Boost.Graph has it: the other answer on large graphs. Its headers do not pass weft's warnings.
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

#include "analyse/cycle_ratio.h"

namespace weft::test {

/// The maximum cycle ratio; Boost stops where an improvement is below 0.005.
inline double by_boost(const TimedGraph& timed) {
    using Properties = boost::property<boost::edge_weight_t, double, boost::property<boost::edge_weight2_t, double>>;
    using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Properties>;
    Graph graph(timed.node_count);
    for (std::size_t edge = 0; edge < timed.edge_count(); ++edge) {
        boost::add_edge(timed.from[edge], timed.to[edge], Properties(static_cast<double>(timed.weight[edge]), static_cast<double>(timed.distance[edge])), graph);
    }
    return boost::maximum_cycle_ratio(graph, boost::get(boost::vertex_index, graph), boost::get(boost::edge_weight, graph), boost::get(boost::edge_weight2, graph));
}

}  // namespace weft::test
