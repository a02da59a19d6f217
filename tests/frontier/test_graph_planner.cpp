#include <doctest/doctest.h>

#include <algorithm>

#include "random_problem.h"

using namespace weft;
using test::Exhaustive;
using test::RandomProblem;

TEST_CASE("an unlimited frontier finds what exhaustive search finds, on 1,000 random graphs; the default cap is measured") {
    Random random(1);
    int feasible = 0;
    int lost = 0;
    double worst = 1;
    for (int round = 0; round < 1000; ++round) {
        RandomProblem instance(random, 2 + random.below(3), 2 + random.below(3));
        const PlanFits fits = [&](const PlanObjectives& o) { return instance.fits(o); };
        PlannerOptions options;
        options.width = 1U << 30U;
        PlannerCounts counts;
        const auto plans = plan_graph(instance.problem, fits, options, &counts);
        const auto best = Exhaustive(instance).best();
        REQUIRE(plans.empty() == !best.has_value());
        if (!best) {
            CHECK(counts.stuck_operator != no_id);
            continue;
        }
        ++feasible;
        CHECK(plans[0].objectives.cycles == *best);
        // Without dominance nothing changes either.
        options.retention = false;
        CHECK(plan_graph(instance.problem, fits, options)[0].objectives.cycles == *best);
        options.retention = true;
        options.width = 4;
        const auto capped = plan_graph(instance.problem, fits, options);
        if (capped.empty()) {
            ++lost;
            continue;
        }
        CHECK(capped[0].objectives.cycles >= *best);
        worst = std::max(worst, static_cast<double>(capped[0].objectives.cycles) / static_cast<double>(*best));
        options.width = 64;
        const auto standard = plan_graph(instance.problem, fits, options);
        REQUIRE(!standard.empty());
        CHECK(standard[0].objectives.cycles == *best);
    }
    MESSAGE(feasible << " of 1000 feasible; width 4: " << lost << " lost, worst ratio " << worst);
    CHECK(feasible > 300);
    CHECK(lost * 20 < feasible);
}

TEST_CASE("finalists are in order, distinct in their choices, and repeatable") {
    Random random(7);
    for (int round = 0; round < 50; ++round) {
        RandomProblem instance(random, 4, 4);
        const PlanFits fits = [&](const PlanObjectives& o) { return instance.fits(o); };
        const auto plans = plan_graph(instance.problem, fits, {});
        const auto again = plan_graph(instance.problem, fits, {});
        REQUIRE(plans.size() == again.size());
        CHECK(plans.size() <= 11);
        for (std::size_t i = 0; i < plans.size(); ++i) {
            CHECK(plans[i].plan == again[i].plan);
            CHECK(plans[i].conversions == again[i].conversions);
            if (i > 0) CHECK(plans[i - 1].objectives.cycles <= plans[i].objectives.cycles);
            if (i > 0) CHECK((plans[i - 1].plan != plans[i].plan || plans[i - 1].conversions != plans[i].conversions));
        }
    }
}

namespace {

/// Two operators by hand: the first has a cheap plan in format 0 and one a little slower in format 1; the second wants format 1.
PlanProblem two_operators(std::uint64_t slower_cycles, std::uint64_t slower_bytes) {
    PlanProblem p;
    p.value_producer = {no_id, 0, 1};
    p.value_kept = {0, 0, 1};
    p.first_input = {0, 1, 2};
    p.inputs = {0, 1};
    p.output = {1, 2};
    p.first_plan = {0, 2, 3};
    p.plan_formats = {0, 0, 1};
    p.plans = {{.first_format = 0, .output_format = 0, .cycles = 1000, .resident = {}, .temporary = {}},
               {.first_format = 1, .output_format = 1, .cycles = slower_cycles, .resident = {}, .temporary = {slower_bytes, 0}},
               {.first_format = 2, .output_format = 0, .cycles = 1000, .resident = {}, .temporary = {}}};
    p.format_family = {0, 1};
    p.change = [](std::uint32_t, std::uint32_t, std::uint32_t) { return FormatChange{.cycles = 100, .temporary = {}}; };
    p.bytes = [](std::uint32_t, std::uint32_t) { return MemoryBytes{10, 0}; };
    return p;
}

}  // namespace

TEST_CASE("a plan that is 1 % slower and saves a conversion worth 10 % is kept and chosen") {
    const auto plans = plan_graph(two_operators(1010, 0), [](const PlanObjectives&) { return true; }, {});
    REQUIRE(!plans.empty());
    CHECK(plans[0].plan == std::vector<std::uint32_t>{1, 2});
    CHECK(plans[0].objectives.cycles == 2010);
    CHECK(plans[0].conversions.empty());
    // Dearer than the conversion: not chosen.
    const auto other = plan_graph(two_operators(1110, 0), [](const PlanObjectives&) { return true; }, {});
    CHECK(other[0].plan == std::vector<std::uint32_t>{0, 2});
    CHECK(other[0].conversions.size() == 1);
}

TEST_CASE("a lower-memory state survives to avoid infeasibility; a network that cannot fit says where it stopped") {
    const PlanProblem problem = two_operators(1010, 1000);
    const auto small = [](const PlanObjectives& o) { return o.peak_first <= 100; };
    const auto plans = plan_graph(problem, small, {});
    REQUIRE(!plans.empty());
    CHECK(plans[0].plan == std::vector<std::uint32_t>{0, 2});
    PlannerCounts counts;
    CHECK(plan_graph(problem, [](const PlanObjectives& o) { return o.peak_first <= 5; }, {}, &counts).empty());
    CHECK(counts.stuck_operator == 0);
    CHECK(counts.stuck_least.peak_first == 20);
}
