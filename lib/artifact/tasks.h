#pragma once

#include "artifact/artifact.h"
#include "tasks_columns.h"

namespace weft {

template <>
void validate<Tasks>(const Tasks& tasks, std::string_view file);

}  // namespace weft
