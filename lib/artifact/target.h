#pragma once

#include "artifact/artifact.h"
#include "target_columns.h"

namespace weft {

template <>
void validate<Target>(const Target& target, std::string_view file);

}  // namespace weft
