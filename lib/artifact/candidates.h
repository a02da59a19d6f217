#pragma once

#include "artifact/artifact.h"
#include "candidates_columns.h"

namespace weft {

template <>
void validate<Candidates>(const Candidates& candidates, std::string_view file);

}  // namespace weft
