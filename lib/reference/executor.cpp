#include "reference/executor.h"

#include "base/failure.h"
#include "reference/kernels.h"

namespace weft {
namespace {

const GraphAttribute* find_attribute(const NodeContext& context, AttributeKey key) {
    for (std::uint32_t i = 0; i < context.node.attribute_count; ++i) {
        const GraphAttribute& attribute = context.graph.attributes[context.node.first_attribute + i];
        if (attribute.key == static_cast<std::uint32_t>(key)) return &attribute;
    }
    return nullptr;
}

void load_weight(const Graph& graph, const BlobStore& store, TensorId tensor, HostTensor& value) {
    const GraphTensor& row = graph.tensors[tensor.index()];
    const auto dims = tensor_dims(graph, tensor);
    const Blob& blob = graph.blobs[row.blob];
    value.values = store.get_f32({blob.hash_high, blob.hash_low}, elem_count(dims));
    value.dims.assign(dims.begin(), dims.end());
}

bool has_value(const Graph& graph, TensorId tensor, const HostTensor& value) {
    const auto dims = tensor_dims(graph, tensor);
    return value.dims.size() == dims.size() && std::equal(dims.begin(), dims.end(), value.dims.begin()) &&
           value.values.size() == elem_count(dims);
}

void run_kernel(const NodeContext& context, HostTensor& output) {
    switch (context.kind()) {
        case OperatorKind::Conv: return run_convolution(context, output);
        case OperatorKind::Linear: return run_linear(context, output);
        case OperatorKind::MaxPool:
        case OperatorKind::AveragePool: return run_pool(context, output);
        case OperatorKind::Add:
        case OperatorKind::Sub:
        case OperatorKind::Mul:
        case OperatorKind::Div:
        case OperatorKind::Max:
        case OperatorKind::Min:
        case OperatorKind::PRelu: return run_binary(context, output);
        case OperatorKind::Relu:
        case OperatorKind::LeakyRelu:
        case OperatorKind::Clip:
        case OperatorKind::HardSigmoid:
        case OperatorKind::HardSwish:
        case OperatorKind::Sigmoid:
        case OperatorKind::Tanh:
        case OperatorKind::Exp:
        case OperatorKind::Gelu:
        case OperatorKind::Erf:
        case OperatorKind::Sqrt:
        case OperatorKind::Cast: return run_unary(context, output);
        case OperatorKind::Concat: return run_concat(context, output);
        case OperatorKind::Remap: return run_remap(context, output);
        case OperatorKind::Transpose: return run_transpose(context, output);
        case OperatorKind::Reshape: return run_reshape(context, output);
        case OperatorKind::Softmax:
        case OperatorKind::LogSoftmax: return run_softmax(context, output);
        case OperatorKind::MatMul: return run_matmul(context, output);
        case OperatorKind::LayerNorm: return run_layer_norm(context, output);
        case OperatorKind::HostOther: break;
    }
    refuse("node '{}': its operator has no reference implementation", context.name());
}

void run_node(const Graph& graph, const BlobStore& store, const GraphNode& node, std::vector<HostTensor>& values) {
    NodeContext context{graph, node, {}};
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
        const std::uint32_t operand = graph.operands[node.first_input + i];
        if (operand == no_id) {
            context.inputs.push_back(nullptr);
            continue;
        }
        const TensorId tensor{operand};
        HostTensor& value = values[operand];
        if (graph.tensors[operand].role == static_cast<std::uint32_t>(TensorRole::Weight) && !has_value(graph, tensor, value)) {
            load_weight(graph, store, tensor, value);
        }
        if (!has_value(graph, tensor, value)) {
            bad_input("node '{}': its input '{}' has no value of shape {}", context.name(),
                      pool_text(graph.name_pool, graph.tensors[operand].name), dims_text(tensor_dims(graph, tensor)));
        }
        context.inputs.push_back(&value);
    }
    context.require(node.output_count == 1, "exactly one output");
    const TensorId result{graph.operands[node.first_output]};
    HostTensor output;
    const auto dims = tensor_dims(graph, result);
    output.dims.assign(dims.begin(), dims.end());
    output.values.resize(elem_count(dims));
    run_kernel(context, output);
    values[result.index()] = std::move(output);
}

}  // namespace

std::span<const std::int32_t> NodeContext::ints(AttributeKey key) const {
    const GraphAttribute* attribute = find_attribute(*this, key);
    return attribute == nullptr ? std::span<const std::int32_t>{} : graph.ints.subspan(attribute->first, attribute->count);
}

std::optional<float> NodeContext::number(AttributeKey key) const {
    const GraphAttribute* attribute = find_attribute(*this, key);
    if (attribute == nullptr) return std::nullopt;
    require(attribute->count == 1, "one value per number attribute");
    return graph.floats[attribute->first];
}

std::int32_t NodeContext::integer(AttributeKey key, std::int32_t otherwise) const {
    const auto values = ints(key);
    require(values.size() <= 1, "one value per integer attribute");
    return values.empty() ? otherwise : values.front();
}

const HostTensor& NodeContext::input(std::size_t index) const {
    require(has_input(index), "every required input is present");
    return *inputs[index];
}

std::size_t NodeContext::axis(std::size_t rank) const {
    const auto values = ints(AttributeKey::Axis);
    require(values.size() == 1 && values.front() >= 0 && static_cast<std::size_t>(values.front()) < rank,
            "attribute axis names an axis of the input");
    return static_cast<std::size_t>(values.front());
}

void NodeContext::require(bool condition, std::string_view rule) const {
    if (!condition) bad_input("node '{}': broken rule: {}; the .graph is not one that weft-frontend writes", name(), rule);
}

std::span<const std::uint32_t> tensor_dims(const Graph& graph, TensorId tensor) {
    const GraphTensor& row = graph.tensors[tensor.index()];
    return graph.dims.subspan(row.first_dim, row.rank);
}

void run_nodes(const Graph& graph, const BlobStore& store, std::span<const std::uint32_t> nodes, std::vector<HostTensor>& values) {
    values.resize(graph.tensors.size());
    for (const std::uint32_t node : nodes) {
        WEFT_CHECK(node < graph.nodes.size());
        run_node(graph, store, graph.nodes[node], values);
    }
}

std::vector<HostTensor> run_graph(const Graph& graph, const BlobStore& store, std::span<const HostTensor> inputs,
                                  std::vector<HostTensor>& values) {
    if (inputs.size() != graph.inputs.size()) bad_input("{} input tensors given, the network has {}", inputs.size(), graph.inputs.size());
    values.resize(graph.tensors.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const TensorId tensor{graph.inputs[i]};
        if (!has_value(graph, tensor, inputs[i])) {
            bad_input("input '{}' has shape {}, the network wants {}", pool_text(graph.name_pool, graph.tensors[tensor.index()].name),
                      dims_text(inputs[i].dims), dims_text(tensor_dims(graph, tensor)));
        }
        values[tensor.index()] = inputs[i];
    }
    std::vector<std::uint32_t> nodes(graph.nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<std::uint32_t>(i);
    run_nodes(graph, store, nodes, values);
    std::vector<HostTensor> outputs;
    for (const std::uint32_t output : graph.outputs) {
        const TensorId tensor{output};
        if (graph.tensors[output].role == static_cast<std::uint32_t>(TensorRole::Weight)) load_weight(graph, store, tensor, values[output]);
        if (!has_value(graph, tensor, values[output])) {
            bad_input("output '{}' is made by no node", pool_text(graph.name_pool, graph.tensors[output].name));
        }
        outputs.push_back(values[output]);
    }
    return outputs;
}

}  // namespace weft
