#pragma once

#include "artifact/artifact.h"
#include "kernels_columns.h"

namespace weft {

template <>
void validate<Kernels>(const Kernels& kernels, std::string_view file);

}  // namespace weft
