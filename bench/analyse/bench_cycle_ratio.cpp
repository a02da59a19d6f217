// Maximum cycle ratio of graphs with a million edges: seconds, passes, and the ratio to Boost.Graph's Howard algorithm on the largest graph
// for which that takes a bearable time.
#include <fmt/format.h>

#include <ctime>

#include "analyse/boost_howard.h"
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
    const double boost_seconds = seconds_of([&] { ratio = test::by_boost(graph); });
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
