#pragma once

#include <optional>

#include "analyse/ipu21/timing.h"
#include "lower/ipu21/lower.h"
#include "prepare/ipu21/prepare.h"
#include "schedule/ipu21/graph_planning.h"

namespace weft::test {

/// prepare, schedule, lower and analyse in one go.
struct Chain {
    TasksColumns tasks;
    std::vector<ScheduleColumns> schedules;
    ipu21::LoweredProgram lowered;
    TimingColumns timing;
    PlannerCounts counts;
    ipu21::PrepareFigures figures;

    Chain(const GraphColumns& graph, const TargetColumns& target, const ipu21::PrepareOptions& prepare = {}, const ipu21::PlanningOptions& plan = {},
          std::size_t candidate = 0) {
        tasks = ipu21::prepare(view(graph), view(target), prepare, &figures);
        validate(view(tasks), "tasks");
        schedules = ipu21::make_schedules(view(tasks), view(target), plan, {}, &counts);
        for (const ScheduleColumns& schedule : schedules) validate(view(schedule), "schedule");
        lowered = ipu21::lower(view(tasks), view(schedules[candidate]), view(target));
        if (lowered.failure) return;
        validate(view(lowered.program), "program");
        timing = ipu21::analyse(view(lowered.program), view(target), {});
        validate(view(timing), "timing");
    }

    [[nodiscard]] std::string key(std::size_t op, std::size_t candidate = 0) const {
        return std::string(pool_text(tasks.name_pool, tasks.tile_plans[schedules[candidate].plan_choice[op]].key));
    }
    [[nodiscard]] std::string name(std::size_t op) const { return std::string(pool_text(tasks.name_pool, tasks.tile_operators[op].name)); }
};

inline const std::string original_up = "output-stationary 81x18x1 columns-fast owners=columns-fast k64 n128 interleaved weights=18x1x1 panels=1 fan-in=2 split=1x1 direct normal f16";
inline const std::string original_down = "panel-reduction 81x1x18 columns-fast owners=columns-fast k64 n64 interleaved weights=72x1x1 panels=4 fan-in=3 split=1x1 direct normal f16";

/// The same plan on a rows-fast grid with the columns-fast owners of the weights.
inline std::string rows_fast(std::string key) {
    const std::string from = "columns-fast owners";
    return key.replace(key.find(from), from.size(), "rows-fast owners");
}

}  // namespace weft::test
