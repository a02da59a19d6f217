#pragma once

#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/proto.h"

namespace weft::frontend {

struct GraphInput {
    std::string name;
    Shape shape;
    std::int32_t type = 0;
};

/// The graph's inputs without initializers' names, every dimension bound: by --shape, by --dim, by the model, or 1 for an
/// unknown first dimension (with a note). Throws Failure(bad_input) naming every dimension that stays unknown and every option
/// that names nothing.
[[nodiscard]] std::vector<GraphInput> bind_inputs(const onnx::GraphProto& graph, const FrontendOptions& options,
                                                  std::vector<std::string>& notes);

}  // namespace weft::frontend
