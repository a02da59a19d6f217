// Maximum cycle ratios: against all simple cycles of small graphs, invariances, and a checker that damaged answers do not pass.
#include <doctest/doctest.h>

#include <functional>
#include <numeric>
#include <optional>

#include "analyse/check_cycle_ratio.h"
#include "random_graph.h"

using namespace weft;
using namespace weft::test;

namespace {

struct Fraction {
    std::int64_t numerator = 0;
    std::int64_t denominator = 1;
};

/// Every simple cycle, by depth-first search from its lowest node. None: no cycle; denominator 0: one without distance.
std::optional<Fraction> by_enumeration(const TimedGraph& graph) {
    std::optional<Fraction> best;
    std::vector<bool> on_path(graph.node_count, false);
    std::uint32_t root = 0;
    const std::function<void(std::uint32_t, std::int64_t, std::int64_t)> extend = [&](std::uint32_t node, std::int64_t weight, std::int64_t distance) {
        on_path[node] = true;
        for (std::size_t edge = 0; edge < graph.edge_count(); ++edge) {
            if (graph.from[edge] != node || graph.to[edge] < root) continue;
            const std::int64_t sum = weight + graph.weight[edge];
            const std::int64_t rounds = distance + graph.distance[edge];
            if (graph.to[edge] == root) {
                const bool no_distance = rounds == 0 || (best && best->denominator == 0);
                if (no_distance) best = Fraction{0, 0};
                else if (!best || sum * best->denominator > best->numerator * rounds) best = Fraction{sum, rounds};
            } else if (!on_path[graph.to[edge]]) {
                extend(graph.to[edge], sum, rounds);
            }
        }
        on_path[node] = false;
    };
    for (root = 0; root < graph.node_count; ++root) extend(root, 0, 0);
    return best;
}

void check_against(const TimedGraph& graph, const CycleRatio& answer, const std::optional<Fraction>& expected) {
    REQUIRE(cycle_ratio_problem(graph, answer).empty());
    if (!expected) {
        REQUIRE(answer.status == RatioStatus::NoCycle);
    } else if (expected->denominator == 0) {
        REQUIRE(answer.status == RatioStatus::ZeroDistanceCycle);
    } else {
        REQUIRE(answer.status == RatioStatus::Found);
        const std::int64_t divisor = std::gcd(expected->numerator, expected->denominator);
        REQUIRE(answer.numerator == expected->numerator / divisor);
        REQUIRE(answer.denominator == expected->denominator / divisor);
    }
}

TimedGraph relabelled(const TimedGraph& graph, RandomGraph& random) {
    std::vector<std::uint32_t> name(graph.node_count);
    std::iota(name.begin(), name.end(), 0U);
    for (std::size_t at = name.size(); at > 1; --at) std::swap(name[at - 1], name[random.below(at)]);
    TimedGraph result;
    result.node_count = graph.node_count;
    for (std::size_t edge = graph.edge_count(); edge-- > 0;) {
        result.add(name[graph.from[edge]], name[graph.to[edge]], graph.weight[edge], graph.distance[edge]);
    }
    return result;
}

/// Every edge becomes two, with a node between them.
TimedGraph subdivided(const TimedGraph& graph, RandomGraph& random) {
    TimedGraph result;
    result.node_count = graph.node_count + static_cast<std::uint32_t>(graph.edge_count());
    for (std::uint32_t edge = 0; edge < graph.edge_count(); ++edge) {
        const std::int64_t part = random.below(50);
        result.add(graph.from[edge], graph.node_count + edge, part, graph.distance[edge]);
        result.add(graph.node_count + edge, graph.to[edge], graph.weight[edge] - part, 0);
    }
    return result;
}

}  // namespace

TEST_CASE("twenty thousand small graphs: the ratio of the best simple cycle") {
    unsigned found = 0;
    unsigned fractions = 0;
    unsigned deadlocks = 0;
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
        CAPTURE(seed);
        const TimedGraph graph = RandomGraph(seed).small(seed % 4 == 0);
        const CycleRatio answer = maximum_cycle_ratio(graph);
        check_against(graph, answer, by_enumeration(graph));
        found += answer.status == RatioStatus::Found ? 1 : 0;
        fractions += answer.denominator > 1 ? 1 : 0;
        deadlocks += answer.status == RatioStatus::ZeroDistanceCycle ? 1 : 0;
    }
    CHECK(found > 10'000);
    CHECK(fractions > 5'000);
    CHECK(deadlocks > 300);
}

TEST_CASE("names, scale and subdivision change nothing") {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        CAPTURE(seed);
        RandomGraph random(seed);
        const TimedGraph graph = seed % 2 == 0 ? random.small(false) : random.tokens(3, 20, 15);
        const CycleRatio answer = maximum_cycle_ratio(graph);
        const CycleRatio renamed = maximum_cycle_ratio(relabelled(graph, random));
        const TimedGraph cut = subdivided(graph, random);
        const CycleRatio longer = maximum_cycle_ratio(cut);
        TimedGraph scaled = graph;
        for (auto& weight : scaled.weight) weight *= 7;
        const CycleRatio larger = maximum_cycle_ratio(scaled);
        REQUIRE(renamed.status == answer.status);
        REQUIRE(longer.status == answer.status);
        if (answer.status != RatioStatus::Found) continue;
        REQUIRE(cycle_ratio_problem(cut, longer).empty());
        REQUIRE(renamed.numerator == answer.numerator);
        REQUIRE(renamed.denominator == answer.denominator);
        REQUIRE(longer.numerator == answer.numerator);
        REQUIRE(longer.denominator == answer.denominator);
        REQUIRE(larger.numerator * answer.denominator == 7 * answer.numerator * larger.denominator);
    }
}

TEST_CASE("the checker accepts no damaged answer") {
    unsigned damaged = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        CAPTURE(seed);
        RandomGraph random(seed);
        const TimedGraph graph = random.tokens(2 + random.below(4), 3 + random.below(8), random.below(20));
        const CycleRatio answer = maximum_cycle_ratio(graph);
        REQUIRE(answer.status == RatioStatus::Found);
        REQUIRE(cycle_ratio_problem(graph, answer).empty());
        CycleRatio mutant = answer;
        switch (random.below(6)) {
            case 0: mutant.numerator += random.below(2) == 0 ? 1 : -1; break;
            case 1: mutant.denominator += 1; break;
            case 2: mutant.cycle.erase(mutant.cycle.begin() + random.below(mutant.cycle.size())); break;
            case 3: mutant.cycle[random.below(mutant.cycle.size())] = static_cast<std::uint32_t>(graph.edge_count()); break;
            case 4: mutant.potential[graph.from[mutant.cycle.front()]] += 1; break;   // the cycle is tight, so no node of it can move alone
            default: mutant.potential.pop_back(); break;
        }
        const bool self_loop = answer.cycle.size() == 1 && mutant.potential.size() == answer.potential.size();
        if (self_loop && mutant.cycle == answer.cycle && mutant.numerator == answer.numerator && mutant.denominator == answer.denominator) continue;
        ++damaged;
        REQUIRE_FALSE(cycle_ratio_problem(graph, mutant).empty());
        // Another graph: a critical edge that takes longer.
        TimedGraph slower = graph;
        slower.weight[answer.cycle.front()] += 1;
        REQUIRE_FALSE(cycle_ratio_problem(slower, answer).empty());
    }
    CHECK(damaged > 2500);
}

TEST_CASE("a smaller cycle is no maximum, whatever it calls itself") {
    TimedGraph graph;
    graph.node_count = 2;
    graph.add(0, 0, 3, 1);
    graph.add(1, 1, 5, 1);
    CycleRatio claim;
    claim.status = RatioStatus::Found;
    claim.numerator = 3;
    claim.cycle = {0};
    claim.potential = {0, 1'000'000};
    CHECK_FALSE(cycle_ratio_problem(graph, claim).empty());
    CHECK(maximum_cycle_ratio(graph).numerator == 5);
}

TEST_CASE("what 63 bits do not hold has a name") {
    TimedGraph graph;
    graph.node_count = 2;
    graph.add(0, 1, std::int64_t{1} << 62U, 0);
    graph.add(1, 0, std::int64_t{1} << 62U, 1);
    CHECK(maximum_cycle_ratio(graph).status == RatioStatus::Overflow);
    graph.weight = {std::int64_t{1} << 40U, 3};
    graph.distance = {0, 1U << 30U};
    CHECK(maximum_cycle_ratio(graph).status == RatioStatus::Overflow);
    graph.distance = {4, 1};
    const CycleRatio fits = maximum_cycle_ratio(graph);
    CHECK(fits.status == RatioStatus::Found);
    CHECK(fits.numerator == (std::int64_t{1} << 40U) + 3);
    CHECK(fits.denominator == 5);
    CHECK(maximum_cycle_ratio({}).status == RatioStatus::NoCycle);
}
