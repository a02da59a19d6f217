#pragma once

#include "artifact/artifact.h"
#include "schedule_columns.h"

namespace weft {

template <>
void validate<Schedule>(const Schedule& schedule, std::string_view file);

}  // namespace weft
