#include "frontend/inputs.h"

#include <algorithm>
#include <set>

#include "base/failure.h"
#include "frontend/constant.h"

namespace weft::frontend {
namespace {

/// What is learnt about the symbolic dimensions while the inputs are bound.
struct Binding {
    const FrontendOptions& options;
    std::vector<std::string>& notes;
    std::set<std::string> symbols;
    std::vector<std::string> unbound;
};

std::int64_t bind_dimension(const onnx::TensorShapeProto::Dimension& dim, const std::string& input, int axis,
                            Binding& binding) {
    const std::string& symbol = dim.dim_param();
    if (dim.has_dim_value() && dim.dim_value() > 0) return dim.dim_value();
    if (!symbol.empty()) {
        binding.symbols.insert(symbol);
        for (const auto& [name, size] : binding.options.dims) {
            if (name == symbol) return size;
        }
    }
    const std::string shown =
        symbol.empty() ? fmt::format("dimension {}", axis) : fmt::format("dimension {} ('{}')", axis, symbol);
    if (axis == 0) {
        binding.notes.push_back(fmt::format("input '{}': {} is taken as 1", input, shown));
        return 1;
    }
    binding.unbound.push_back(fmt::format("input '{}': {} is unknown; give {}--shape {}=...", input, shown,
                                          symbol.empty() ? std::string() : fmt::format("--dim {}=N or ", symbol), input));
    return 1;
}

Shape bind_shape(const onnx::ValueInfoProto& input, Binding& binding) {
    const auto& tensor = input.type().tensor_type();
    for (const auto& [name, shape] : binding.options.shapes) {
        if (name != input.name()) continue;
        const bool rank_known = tensor.has_shape();
        if (rank_known && static_cast<std::size_t>(tensor.shape().dim_size()) != shape.size()) {
            bad_input("input '{}' has {} dimensions, but --shape gives {}", name, tensor.shape().dim_size(), shape.size());
        }
        for (const auto& dim : tensor.shape().dim()) binding.symbols.insert(dim.dim_param());
        return shape;
    }
    if (!tensor.has_shape()) {
        binding.unbound.push_back(
            fmt::format("input '{}': its shape is unknown; give --shape {}=...", input.name(), input.name()));
        return {};
    }
    Shape shape;
    for (int axis = 0; axis < tensor.shape().dim_size(); ++axis)
        shape.push_back(bind_dimension(tensor.shape().dim(axis), input.name(), axis, binding));
    return shape;
}

}  // namespace

std::vector<GraphInput> bind_inputs(const onnx::GraphProto& graph, const FrontendOptions& options,
                                    std::vector<std::string>& notes) {
    std::set<std::string> initialized;
    for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
    Binding binding{options, notes, {}, {}};
    std::vector<GraphInput> inputs;
    std::vector<std::string> problems;
    for (const auto& input : graph.input()) {
        if (initialized.count(input.name()) != 0) continue;
        if (!input.type().has_tensor_type()) {
            refuse("input '{}' is no tensor; sequences, maps and optional values are not supported", input.name());
        }
        const std::int32_t type = input.type().tensor_type().elem_type();
        if (element_size(type) == 0)
            refuse("input '{}' has the type {}, which is not supported", input.name(), type_name(type));
        inputs.push_back({input.name(), bind_shape(input, binding), type});
    }
    problems = binding.unbound;
    for (const auto& [name, size] : options.dims) {
        if (binding.symbols.count(name) == 0) {
            binding.symbols.erase("");
            problems.push_back(fmt::format("--dim {}={}: no input has a dimension of that name (there are: {})", name, size,
                                           fmt::join(binding.symbols, ", ")));
        }
    }
    for (const auto& given : options.shapes) {
        const bool known =
            std::any_of(inputs.begin(), inputs.end(), [&](const GraphInput& input) { return input.name == given.first; });
        if (!known)
            problems.push_back(fmt::format("--shape {}={}: no input has that name", given.first, fmt::join(given.second, "x")));
    }
    if (!problems.empty()) bad_input("{}", fmt::join(problems, "\n  "));
    return inputs;
}

}  // namespace weft::frontend
