#pragma once

#include "artifact/artifact.h"
#include "constraint_columns.h"

namespace weft {

template <>
void validate<Constraint>(const Constraint& constraint, std::string_view file);

}  // namespace weft
