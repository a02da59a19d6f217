#pragma once

#include "artifact/artifact.h"
#include "timing_columns.h"

namespace weft {

template <>
void validate<Timing>(const Timing& timing, std::string_view file);

}  // namespace weft
