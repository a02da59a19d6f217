#include "packing/load_model.h"

#include "pim/memory_plan.h"
#include "placed_network.h"

using namespace weft;
using namespace weft::testing;

namespace {

/// The model's figures against those of the whole plan.
void compare(const Tasks& tasks, const Target& target, const PimTiming& timing, const LoadModel& model, const Rhythm& rhythm) {
    const CoreLoads loads = measure_cores(tasks, target, timing, model.placement(), rhythm);
    const MemoryPlan memory = plan_memory(tasks, plan_actors(tasks, model.placement(), rhythm), target.core_count);
    for (std::uint32_t core = 0; core < target.core_count; ++core) {
        CHECK(model.occupied_ns(core) == loads.occupied_ns[core]);
        CHECK(model.crossbars(core) == loads.crossbars[core]);
        CHECK(model.used_elems(core) == memory.cores[core].used() + constants_on(tasks, timing, model.placement(), core));
    }
}

}  // namespace

TEST_CASE("the load model equals the whole plan, also after moves and after taking them back") {
    const TargetColumns chip = small_target(8, 96);
    const Target target = view(chip);
    const PimTiming timing(target);
    Random random(7);
    for (unsigned seed = 1; seed <= 4; ++seed) {
        const TasksColumns columns = small_network(seed, chip);
        const Tasks tasks = view(columns);
        for (const TestRhythm& rhythm : all_rhythms(tasks)) {
            CAPTURE(seed);
            CAPTURE(static_cast<int>(rhythm.exchange));
            LoadModel model(tasks, target, timing, random_placement(tasks.lanes.size(), target.core_count, random), rhythm.get(), constant_elems(tasks, timing));
            compare(tasks, target, timing, model, rhythm.get());
            for (int step = 0; step < 30; ++step) {
                const LanePlacement before = model.placement();
                for (std::uint32_t moves = 1 + random.below(3); moves > 0; --moves) {
                    const Family& family = tasks.families[random.below(static_cast<std::uint32_t>(tasks.families.size()))];
                    const std::uint32_t offset = random.below(family.lane_count);
                    model.move(family.first_lane + offset, 1 + random.below(family.lane_count - offset), static_cast<std::uint16_t>(random.below(target.core_count)));
                }
                const std::uint32_t end = random.below(3);
                if (end != 2) model.update();     // a change can be taken back before it was priced
                if (end == 0) {
                    model.commit();
                } else {
                    model.undo();
                    CHECK(model.placement() == before);
                }
                compare(tasks, target, timing, model, rhythm.get());
            }
        }
    }
}

TEST_CASE("the load model names every core whose figures change") {
    const TargetColumns chip = small_target(8, 96);
    const Target target = view(chip);
    const PimTiming timing(target);
    const TasksColumns columns = small_network(5, chip);
    const Tasks tasks = view(columns);
    Random random(3);
    for (const TestRhythm& rhythm : all_rhythms(tasks)) {
        LoadModel model(tasks, target, timing, random_placement(tasks.lanes.size(), target.core_count, random), rhythm.get(), constant_elems(tasks, timing));
        for (int step = 0; step < 50; ++step) {
            std::vector<std::pair<std::int64_t, std::int64_t>> before;
            for (std::uint32_t core = 0; core < target.core_count; ++core) before.emplace_back(model.occupied_ns(core), model.used_elems(core));
            const std::uint32_t lane = random.below(static_cast<std::uint32_t>(tasks.lanes.size()));
            model.move(lane, 1, static_cast<std::uint16_t>(random.below(target.core_count)));
            model.update();
            for (std::uint32_t core = 0; core < target.core_count; ++core) {
                const bool touched = std::find(model.touched().begin(), model.touched().end(), core) != model.touched().end();
                CHECK((touched || before[core] == std::pair(model.occupied_ns(core), model.used_elems(core))));
            }
            model.commit();
            CHECK(model.touched().empty());
        }
    }
}
