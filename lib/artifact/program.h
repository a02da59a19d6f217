#pragma once

#include "artifact/artifact.h"
#include "program_columns.h"

namespace weft {

template <>
void validate<Program>(const Program& program, std::string_view file);

}  // namespace weft
