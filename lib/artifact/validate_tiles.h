#pragma once

#include "artifact/program.h"
#include "artifact/schedule.h"
#include "artifact/tasks.h"

namespace weft {

// The family Ipu21's columns of the kinds that have some; called by the kinds' validate().
void validate_tile_tasks(const Tasks& tasks, std::string_view file);
void validate_tile_schedule(const Schedule& schedule, std::string_view file);
void validate_tile_program(const Program& program, std::string_view file);

}  // namespace weft
