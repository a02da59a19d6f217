#include "packing/refine.h"

#include <algorithm>

#include "pim/memory_plan.h"
#include "placed_network.h"

using namespace weft;
using namespace weft::testing;

namespace {

struct Figures {
    std::int64_t busiest_ns = 0;
    std::uint32_t crossbars = 0;
    std::int64_t fullest_elems = 0;
};

Figures figures(const Tasks& tasks, const Target& target, const LanePlacement& placement, const Rhythm& rhythm) {
    const PimTiming timing(target);
    const CoreLoads loads = measure_cores(tasks, target, timing, placement, rhythm);
    const MemoryPlan memory = plan_memory(tasks, plan_actors(tasks, placement, rhythm), target.core_count);
    Figures found{*std::max_element(loads.occupied_ns.begin(), loads.occupied_ns.end()), *std::max_element(loads.crossbars.begin(), loads.crossbars.end()), 0};
    for (std::uint32_t core = 0; core < target.core_count; ++core) {
        found.fullest_elems = std::max(found.fullest_elems, memory.cores[core].used() + constants_on(tasks, timing, placement, core));
    }
    return found;
}

}  // namespace

TEST_CASE("refinement makes no placement worse, keeps to the crossbars, and comes near the mean") {
    const TargetColumns chip = small_target(8, 96);
    const Target target = view(chip);
    const PimTiming timing(target);
    Random random(11);
    for (unsigned seed = 1; seed <= 3; ++seed) {
        const TasksColumns columns = small_network(seed, chip);
        const Tasks tasks = view(columns);
        const std::vector<std::int64_t> constants = constant_elems(tasks, timing);
        for (const TestRhythm& rhythm : all_rhythms(tasks)) {
            const LanePlacement placement = random_placement(tasks.lanes.size(), target.core_count, random);
            const Figures before = figures(tasks, target, placement, rhythm.get());
            const std::int64_t elems = before.fullest_elems * 3;
            const LanePlacement refined = refine_placement(tasks, target, timing, placement, rhythm.get(), {before.crossbars, elems, constants, 200});
            const Figures after = figures(tasks, target, refined, rhythm.get());
            CHECK(after.busiest_ns < before.busiest_ns);
            CHECK(after.crossbars <= before.crossbars);
            CHECK(after.fullest_elems <= elems);
            const CoreLoads loads = measure_cores(tasks, target, timing, refined, rhythm.get());
            std::int64_t sum = 0;
            for (const std::int64_t ns : loads.occupied_ns) sum += ns;
            CHECK(after.busiest_ns * target.core_count <= sum + sum / 4);
            CHECK(refined == refine_placement(tasks, target, timing, placement, rhythm.get(), {before.crossbars, elems, constants, 200}));
        }
    }
}

TEST_CASE("refinement makes a placement that is too large fit") {
    const TargetColumns chip = small_target(8, 96);
    const Target target = view(chip);
    const PimTiming timing(target);
    const TasksColumns columns = small_network(1, chip);
    const Tasks tasks = view(columns);
    const std::vector<std::int64_t> constants = constant_elems(tasks, timing);
    for (const TestRhythm& rhythm : all_rhythms(tasks)) {
        const LanePlacement together(tasks.lanes.size(), 0);
        const Figures before = figures(tasks, target, together, rhythm.get());
        const std::int64_t elems = before.fullest_elems / 2;
        const LanePlacement refined = refine_placement(tasks, target, timing, together, rhythm.get(), {before.crossbars, elems, constants, 300});
        CHECK(figures(tasks, target, refined, rhythm.get()).fullest_elems <= elems);
    }
}

TEST_CASE("without trials, or on one core, everything stays where it is") {
    const TargetColumns chip = small_target(8, 96);
    const PimTiming timing(view(chip));
    const TasksColumns columns = small_network(1, chip);
    const Tasks tasks = view(columns);
    const TestRhythm rhythm = all_rhythms(tasks).front();
    Random random(2);
    const LanePlacement placement = random_placement(tasks.lanes.size(), 8, random);
    CHECK(refine_placement(tasks, view(chip), timing, placement, rhythm.get(), {1000, 1 << 30, {}, 0}) == placement);
    const TargetColumns one = small_target(1, 2000);
    const TasksColumns alone = small_network(1, one);
    const LanePlacement zero(alone.lanes.size(), 0);
    CHECK(refine_placement(view(alone), view(one), PimTiming(view(one)), zero, rhythm.get(), {5000, 1 << 30, {}, 100}) == zero);
}
