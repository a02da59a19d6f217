#pragma once

#include "artifact/schedule.h"
#include "artifact/target.h"
#include "artifact/tasks.h"

namespace weft::ipu21 {

/// Throws Failure(bad_input) where a schedule does not choose among the plans of these tasks, or a chosen plan or conversion does not
/// fit its operator or the target: files are read one by one, and only this looks at them together.
void check_choice(const Tasks& tasks, const Schedule& schedule, const Target& target);

}  // namespace weft::ipu21
