#include "artifact/graph.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Graph>([[maybe_unused]] const Graph& graph, std::string_view file) {
    const Validator check(file);
}

}  // namespace weft
