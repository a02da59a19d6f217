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

/// `problem` with the plans of every operator in another order, and all formats under other numbers. `plan_of` and `format_of` get the old
/// row and number of each new one.
PlanProblem permuted(const PlanProblem& problem, Random& random, std::vector<std::uint32_t>& plan_of, std::vector<std::uint32_t>& format_of) {
    const auto shuffle = [&](auto begin, auto end) {
        for (auto count = static_cast<std::uint32_t>(end - begin); count > 1; --count) std::swap(begin[count - 1], begin[random.below(count)]);
    };
    format_of.resize(problem.format_family.size());
    for (std::uint32_t f = 0; f < format_of.size(); ++f) format_of[f] = f;
    shuffle(format_of.begin(), format_of.end());
    std::vector<std::uint32_t> new_format(format_of.size());
    for (std::uint32_t f = 0; f < format_of.size(); ++f) new_format[format_of[f]] = f;
    plan_of.resize(problem.plans.size());
    for (std::uint32_t row = 0; row < plan_of.size(); ++row) plan_of[row] = row;
    PlanProblem result = problem;
    for (std::uint32_t op = 0; op < problem.operator_count(); ++op) shuffle(plan_of.begin() + problem.first_plan[op], plan_of.begin() + problem.first_plan[op + 1]);
    for (std::uint32_t row = 0; row < plan_of.size(); ++row) {
        result.plans[row] = problem.plans[plan_of[row]];
        result.plans[row].output_format = new_format[result.plans[row].output_format];
    }
    for (std::uint32_t& format : result.plan_formats) format = format == any_format ? any_format : new_format[format];
    for (std::uint32_t f = 0; f < format_of.size(); ++f) result.format_family[f] = problem.format_family[format_of[f]];
    result.change = [&problem, &format_of](std::uint32_t v, std::uint32_t f, std::uint32_t g) { return problem.change(v, format_of[f], format_of[g]); };
    result.bytes = [&problem, &format_of](std::uint32_t v, std::uint32_t f) { return problem.bytes(v, format_of[f]); };
    return result;
}

}  // namespace

TEST_CASE("permuting candidates changes nothing: the same finalists in the same order, at every cap") {
    Random random(21);
    int compared = 0;
    for (int round = 0; round < 200; ++round) {
        RandomProblem instance(random, 3 + random.below(3), 2 + random.below(4));
        // Cycles so large that no two sums tie.
        for (OperatorPlan& plan : instance.problem.plans) plan.cycles = plan.cycles << 40U | std::uint64_t{random.below(1U << 30U)} << 5U | random.below(32);
        for (auto& [key, change] : instance.changes) change.cycles = change.cycles << 40U | random.below(1U << 30U);
        const PlanFits fits = [&](const PlanObjectives& o) { return instance.fits(o); };
        std::vector<std::uint32_t> plan_of;
        std::vector<std::uint32_t> format_of;
        const PlanProblem other = permuted(instance.problem, random, plan_of, format_of);
        for (const std::size_t width : {std::size_t{1} << 30U, std::size_t{128}, std::size_t{8}, std::size_t{2}, std::size_t{1}}) {
            PlannerOptions options;
            options.width = width;
            PlannerCounts counts;
            PlannerCounts other_counts;
            const auto plans = plan_graph(instance.problem, fits, options, &counts);
            auto again = plan_graph(other, fits, options, &other_counts);
            REQUIRE(plans.size() == again.size());
            for (std::size_t i = 0; i < plans.size(); ++i) {
                for (std::uint32_t& row : again[i].plan) row = plan_of[row];
                for (ChosenConversion& c : again[i].conversions) {
                    c.from = format_of[c.from];
                    c.to = format_of[c.to];
                }
                CHECK(plans[i].plan == again[i].plan);
                CHECK(plans[i].conversions == again[i].conversions);
                CHECK(plans[i].objectives == again[i].objectives);
                ++compared;
            }
            CHECK(counts.expanded == other_counts.expanded);
            CHECK(counts.retention.dominated == other_counts.retention.dominated);
            CHECK(counts.retention.capped == other_counts.retention.capped);
            CHECK(counts.widest == other_counts.widest);
        }
    }
    CHECK(compared > 1000);
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
