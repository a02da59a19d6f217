#pragma once

#include "artifact/schedule.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "pim/timing.h"

namespace weft {

/// Fill in everything that follows from lane_core, family_level and slots_per_round: execution order, stages, depth, and the evaluation
/// columns. Throws Failure(bug) where a core's resident weights pass its capacity.
void evaluate(const Tasks& tasks, const Target& target, const PimTiming& timing, ScheduleColumns& schedule);

}  // namespace weft
