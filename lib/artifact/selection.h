#pragma once

#include "artifact/artifact.h"
#include "selection_columns.h"

namespace weft {

template <>
void validate<Selection>(const Selection& selection, std::string_view file);

}  // namespace weft
