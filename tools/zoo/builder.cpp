#include "zoo/builder.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/checked.h"
#include "base/version.h"

namespace weft::zoo {
namespace {

constexpr std::int64_t ir_version = 7;

void set_int(onnx::NodeProto& node, std::string_view name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(std::string(name));
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
}

void set_float(onnx::NodeProto& node, std::string_view name, float value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(std::string(name));
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
}

void set_ints(onnx::NodeProto& node, std::string_view name, std::initializer_list<std::int64_t> values) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(std::string(name));
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
}

void set_type(onnx::ValueInfoProto& info, const Value& value) {
    info.set_name(value.name);
    onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t dim : value.dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
}

/// Raw little-endian bytes of `value` at the end of `text`, whatever the host.
template <class T>
void append_raw(std::string& text, T value) {
    const auto bits = std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(value);
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) text += static_cast<char>((bits >> (8 * byte)) & 0xffU);
}

std::int64_t product(std::span<const std::int64_t> dims) {
    std::int64_t result = 1;
    for (const std::int64_t dim : dims) result = checked_multiply(result, dim);
    return result;
}

/// Output positions of a window that slides over `size` + 2 `pad` positions.
std::int64_t window_positions(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad, bool ceil_mode) {
    const std::int64_t room = size + 2 * pad - kernel;
    if (room < 0) refuse("a {0} x {0} window is larger than its input of {1} positions; choose a larger --size", kernel, size);
    std::int64_t positions = (ceil_mode ? ceil_divide(room, stride) : room / stride) + 1;
    // ONNX and PyTorch alike: a last window that would start in the right padding is left out.
    if (ceil_mode && (positions - 1) * stride >= size + pad) --positions;
    return positions;
}

/// Variance of max(x, 0) for a standard normal x is 1/2 - 1/(2 pi): what a zero-mean filter sees behind a Relu.
constexpr double rectified_variance = 0.340845;

}  // namespace

Builder::Builder(std::string_view network, std::uint64_t seed, std::int64_t operator_set) : seed_(seed) {
    model_.set_ir_version(ir_version);
    model_.set_producer_name("weft-zoo");
    model_.set_producer_version(std::string(version_text));
    onnx::OperatorSetIdProto& set = *model_.add_opset_import();
    set.set_domain("");
    set.set_version(operator_set);
    model_.mutable_graph()->set_name(std::string(network));
}

Random Builder::next_stream() {
    Random mixer(seed_);
    Random other(mixer.next() + ++streams_);
    return Random(other.next());
}

Value Builder::fresh(std::string_view stem, std::vector<std::int64_t> dims, bool rectified) {
    return {std::string(stem) + "_" + std::to_string(++values_), std::move(dims), rectified};
}

onnx::NodeProto& Builder::node(std::string_view type, std::span<const std::string> inputs, const Value& result, std::string_view name) {
    onnx::NodeProto& made = *model_.mutable_graph()->add_node();
    made.set_name(name.empty() ? result.name : std::string(name));
    made.set_op_type(std::string(type));
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(result.name);
    return made;
}

std::string Builder::floats(const std::string& name, std::span<const std::int64_t> dims, std::span<const std::int64_t> integers,
                            double factor, double offset) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t dim : dims) tensor.add_dims(dim);
    std::string& raw = *tensor.mutable_raw_data();
    raw.reserve(integers.size() * sizeof(float));
    for (const std::int64_t integer : integers) append_raw(raw, static_cast<float>(static_cast<double>(integer) * factor + offset));
    return name;
}

std::string Builder::weights(const std::string& name, std::span<const std::int64_t> dims, std::int64_t fan_in, bool after_rectifier) {
    Random random = next_stream();
    std::vector<std::int64_t> integers(static_cast<std::size_t>(product(dims)));
    for (std::int64_t& integer : integers) integer = bell(random);
    // A depthwise filter keeps its mean: without it, it would be blind to a constant plane.
    constexpr std::int64_t smallest_centred = 16;
    const bool centred = fan_in >= smallest_centred;
    if (centred) {
        for (std::size_t first = 0; first < integers.size(); first += static_cast<std::size_t>(fan_in)) {
            const std::span<std::int64_t> filter(integers.data() + first, static_cast<std::size_t>(fan_in));
            std::int64_t sum = 0;
            for (const std::int64_t integer : filter) sum += integer;
            for (std::int64_t& integer : filter) integer -= sum / fan_in;
        }
    }
    const double input_power = !after_rectifier ? 1.0 : centred ? rectified_variance : 0.5;
    const double deviation = std::sqrt(1.0 / (input_power * static_cast<double>(fan_in)));
    return floats(name, dims, integers, deviation / bell_deviation);
}

std::string Builder::vector(const std::string& name, std::int64_t count, double mean, double deviation) {
    Random random = next_stream();
    std::vector<std::int64_t> integers(static_cast<std::size_t>(count));
    for (std::int64_t& integer : integers) integer = bell(random);
    const std::int64_t dims[] = {count};
    return floats(name, dims, integers, deviation / bell_deviation, mean);
}

std::string Builder::shape_constant(const std::string& name, std::span<const std::int64_t> dims) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(dims.size()));
    for (const std::int64_t dim : dims) append_raw(*tensor.mutable_raw_data(), dim);
    return name;
}

Value Builder::input(std::string_view name, std::vector<std::int64_t> dims) {
    Value value{std::string(name), std::move(dims), false};
    set_type(*model_.mutable_graph()->add_input(), value);
    return value;
}

void Builder::output(const Value& value) {
    onnx::GraphProto& graph = *model_.mutable_graph();
    WEFT_CHECK(graph.node_size() > 0 && graph.node(graph.node_size() - 1).output(0) == value.name);
    graph.mutable_node(graph.node_size() - 1)->set_output(0, "output");
    set_type(*graph.add_output(), {"output", value.dims, value.rectified});
}

Value Builder::conv(const Value& x, const std::string& name, const Conv& shape) {
    const std::int64_t group_channels = x.channels() / shape.groups;
    WEFT_CHECK(group_channels * shape.groups == x.channels() && shape.outputs % shape.groups == 0);
    const std::int64_t dims[] = {shape.outputs, group_channels, shape.kernel, shape.kernel};
    std::vector<std::string> inputs = {x.name, weights(name + ".weight", dims, group_channels * shape.kernel * shape.kernel, x.rectified)};
    if (shape.bias) inputs.push_back(vector(name + ".bias", shape.outputs, shape.bias_mean, 0.1));
    const auto positions = [&](std::int64_t size) { return window_positions(size, shape.kernel, shape.stride, shape.pad, false); };
    const Value result = fresh("conv", {1, shape.outputs, positions(x.dims[2]), positions(x.dims[3])}, false);
    onnx::NodeProto& made = node("Conv", inputs, result, name);
    set_ints(made, "dilations", {1, 1});
    set_int(made, "group", shape.groups);
    set_ints(made, "kernel_shape", {shape.kernel, shape.kernel});
    set_ints(made, "pads", {shape.pad, shape.pad, shape.pad, shape.pad});
    set_ints(made, "strides", {shape.stride, shape.stride});
    return result;
}

Value Builder::conv_transpose(const Value& x, const std::string& name, std::int64_t outputs, std::int64_t kernel) {
    // Each output position has one tap, so its fan-in is the channel count; the filters' order in `dims` makes no difference.
    const std::int64_t dims[] = {x.channels(), outputs, kernel, kernel};
    const std::string inputs[] = {x.name, weights(name + ".weight", dims, x.channels(), x.rectified),
                                  vector(name + ".bias", outputs, 0, 0.1)};
    const Value result = fresh("up", {1, outputs, x.dims[2] * kernel, x.dims[3] * kernel}, false);
    onnx::NodeProto& made = node("ConvTranspose", inputs, result, name);
    set_ints(made, "kernel_shape", {kernel, kernel});
    set_ints(made, "strides", {kernel, kernel});
    return result;
}

Value Builder::linear(const Value& x, const std::string& name, std::int64_t outputs) {
    const std::int64_t dims[] = {outputs, x.channels()};
    const std::string inputs[] = {x.name, weights(name + ".weight", dims, x.channels(), x.rectified),
                                  vector(name + ".bias", outputs, 0, 0.1)};
    const Value result = fresh("linear", {1, outputs}, false);
    set_int(node("Gemm", inputs, result, name), "transB", 1);
    return result;
}

Value Builder::batch_norm(const Value& x, const std::string& name, const BatchNorm& options) {
    const std::string inputs[] = {x.name, vector(name + ".weight", x.channels(), options.scale, options.scale * 0.1),
                                  vector(name + ".bias", x.channels(), 0, 0.1), vector(name + ".running_mean", x.channels(), 0, 0.1),
                                  vector(name + ".running_var", x.channels(), 1, 0.1)};
    const Value result = fresh("norm", x.dims, false);
    set_float(node("BatchNormalization", inputs, result, name), "epsilon", options.epsilon);
    return result;
}

Value Builder::relu(const Value& x) {
    const Value result = fresh("relu", x.dims, true);
    node("Relu", std::span(&x.name, 1), result);
    return result;
}

Value Builder::relu6(const Value& x) {
    const Value result = fresh("relu6", x.dims, true);
    const std::int64_t bounds[] = {0, 6};
    const std::string inputs[] = {x.name, floats(result.name + ".min", {}, std::span(bounds).first(1), 1),
                                  floats(result.name + ".max", {}, std::span(bounds).last(1), 1)};
    node("Clip", inputs, result);
    return result;
}

Value Builder::pool(std::string_view type, const Value& x, const Pool& shape) {
    if (shape.kernel > std::min(x.dims[2], x.dims[3]) + 2 * shape.pad) return x;
    const auto positions = [&](std::int64_t size) {
        return window_positions(size, shape.kernel, shape.stride, shape.pad, shape.ceil_mode);
    };
    const Value result = fresh("pool", {1, x.channels(), positions(x.dims[2]), positions(x.dims[3])}, x.rectified);
    onnx::NodeProto& made = node(type, std::span(&x.name, 1), result);
    if (type == "AveragePool") set_int(made, "count_include_pad", 1);   // as PyTorch
    set_int(made, "ceil_mode", shape.ceil_mode ? 1 : 0);
    set_ints(made, "kernel_shape", {shape.kernel, shape.kernel});
    set_ints(made, "pads", {shape.pad, shape.pad, shape.pad, shape.pad});
    set_ints(made, "strides", {shape.stride, shape.stride});
    return result;
}

Value Builder::max_pool(const Value& x, const Pool& shape) { return pool("MaxPool", x, shape); }

Value Builder::average_pool(const Value& x, const Pool& shape) { return pool("AveragePool", x, shape); }

Value Builder::global_average_pool(const Value& x) {
    const Value result = fresh("mean", {1, x.channels(), 1, 1}, x.rectified);
    node("GlobalAveragePool", std::span(&x.name, 1), result);
    return result;
}

Value Builder::add(const Value& a, const Value& b) {
    WEFT_CHECK(a.dims == b.dims);
    const Value result = fresh("add", a.dims, false);
    const std::string inputs[] = {a.name, b.name};
    node("Add", inputs, result);
    return result;
}

Value Builder::concat(std::span<const Value> parts) {
    Value result = fresh("concat", parts.front().dims, true);
    result.dims[1] = 0;
    std::vector<std::string> inputs;
    for (const Value& part : parts) {
        inputs.push_back(part.name);
        result.dims[1] += part.channels();
        result.rectified = result.rectified && part.rectified;
    }
    set_int(node("Concat", inputs, result), "axis", 1);
    return result;
}

Value Builder::reshape(const Value& x, std::vector<std::int64_t> dims) {
    const Value result = fresh("reshape", std::move(dims), x.rectified);
    const std::string inputs[] = {x.name, shape_constant(result.name + ".shape", result.dims)};
    node("Reshape", inputs, result);
    return result;
}

Value Builder::channel_shuffle(const Value& x, std::int64_t groups) {
    const std::int64_t each = x.channels() / groups;
    const Value split = reshape(x, {1, groups, each, x.dims[2], x.dims[3]});
    const Value exchanged = fresh("shuffle", {1, each, groups, x.dims[2], x.dims[3]}, x.rectified);
    set_ints(node("Transpose", std::span(&split.name, 1), exchanged), "perm", {0, 2, 1, 3, 4});
    return reshape(exchanged, x.dims);
}

Value Builder::flatten(const Value& x) {
    const Value result = fresh("flatten", {1, product(std::span(x.dims).subspan(1))}, x.rectified);
    set_int(node("Flatten", std::span(&x.name, 1), result), "axis", 1);
    return result;
}

Value Builder::dropout(const Value& x) {
    const Value result = fresh("dropout", x.dims, x.rectified);
    node("Dropout", std::span(&x.name, 1), result);
    return result;
}

Value Builder::softmax(const Value& x) {
    const Value result = fresh("softmax", x.dims, true);
    set_int(node("Softmax", std::span(&x.name, 1), result), "axis", 1);
    return result;
}

onnx::ModelProto Builder::take() { return std::move(model_); }

}  // namespace weft::zoo
