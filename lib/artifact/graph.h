#pragma once

#include "artifact/artifact.h"
#include "graph_columns.h"

namespace weft {

template <>
void validate<Graph>(const Graph& graph, std::string_view file);

}  // namespace weft
