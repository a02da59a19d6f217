// Large graphs: equal to Howard's algorithm as Boost.Graph has it.
#include <doctest/doctest.h>

#include "analyse/check_cycle_ratio.h"
#include "boost_howard.h"
#include "random_graph.h"

using namespace weft;
using namespace weft::test;

namespace {

void check_equal(const TimedGraph& graph) {
    const CycleRatio answer = maximum_cycle_ratio(graph);
    REQUIRE(answer.status == RatioStatus::Found);
    REQUIRE(cycle_ratio_problem(graph, answer).empty());
    const double ratio = static_cast<double>(answer.numerator) / static_cast<double>(answer.denominator);
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
