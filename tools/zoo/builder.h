#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zoo/random.h"

namespace weft::zoo {

/// A tensor of the network being built.
struct Value {
    std::string name;
    std::vector<std::int64_t> dims;
    /// All values are at least zero, as after a Relu: decides the scale of the next layer's weights.
    bool rectified = false;

    [[nodiscard]] std::int64_t channels() const { return dims.at(1); }
};

struct Conv {
    std::int64_t outputs;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t pad = 0;
    std::int64_t groups = 1;
    bool bias = false;
    double bias_mean = 0;
};

struct Pool {
    std::int64_t kernel;
    std::int64_t stride;
    std::int64_t pad = 0;
    bool ceil_mode = false;
};

struct BatchNorm {
    float epsilon = 1e-5F;
    /// Mean of the seeded scales. Below one for the last layer of a residual branch, so that sums do not grow with depth.
    double scale = 1.0;
};

/// Writes one ONNX model (opset 13, batch 1, f32), node by node in topological order, with seeded weights. Layers are scaled
/// so that activations keep unit variance (He initialisation); filters of a dense layer have zero mean, so that what differs
/// between two inputs does not drown in what they share. Same calls and seed, same bytes.
class Builder {
public:
    Builder(std::string_view network, std::uint64_t seed, std::int64_t operator_set = 13);

    Value input(std::string_view name, std::vector<std::int64_t> dims);
    /// Renames the value to "output" by making it the last node's output, and ends the model.
    void output(const Value& value);

    Value conv(const Value& x, const std::string& name, const Conv& shape);
    /// Transposed convolution with kernel = stride, as a U-Net grows its maps.
    Value conv_transpose(const Value& x, const std::string& name, std::int64_t outputs, std::int64_t kernel);
    Value linear(const Value& x, const std::string& name, std::int64_t outputs);
    Value batch_norm(const Value& x, const std::string& name, const BatchNorm& options = {});
    Value relu(const Value& x);
    Value relu6(const Value& x);
    /// A window larger than its (padded) input leaves the pool out, so that small inputs pass through deep networks.
    Value max_pool(const Value& x, const Pool& shape);
    Value average_pool(const Value& x, const Pool& shape);
    Value global_average_pool(const Value& x);
    Value add(const Value& a, const Value& b);
    Value concat(std::span<const Value> parts);
    /// Reshape [1, g x n, h, w] to [1, g, n, h, w], exchange g and n, and back.
    Value channel_shuffle(const Value& x, std::int64_t groups);
    Value flatten(const Value& x);
    Value dropout(const Value& x);
    Value softmax(const Value& x);

    // Transformers: values are [batch, rows, columns].
    Value mat_mul(const Value& x, const std::string& name, std::int64_t outputs, bool bias = true);
    Value layer_norm(const Value& x, const std::string& name);
    /// As a chain of elementwise nodes around Erf, or around Tanh.
    Value gelu(const Value& x, const std::string& name, bool tanh_form);
    /// Scaled dot-product self-attention with its four projections.
    Value attention(const Value& x, const std::string& name, std::int64_t head_count);
    /// Self-attention that multiplies keys with values first: two products of activations with a softmax before each.
    Value efficient_attention(const Value& x, const std::string& name, std::int64_t head_count);
    /// A perceptron over the rows of every column, between two transposes.
    Value mixed_tokens(const Value& x, const std::string& name, std::int64_t hidden);

    [[nodiscard]] onnx::ModelProto take();

private:
    onnx::NodeProto& node(std::string_view type, std::span<const std::string> inputs, const Value& result, std::string_view name = {});
    Value fresh(std::string_view stem, std::vector<std::int64_t> dims, bool rectified);
    Value pool(std::string_view type, const Value& x, const Pool& shape);
    Value reshape(const Value& x, std::vector<std::int64_t> dims);
    std::string scalar(const std::string& name, double value);
    Value elementwise(std::string_view type, const Value& a, const std::string& b, const std::string& name);
    Value transpose(const Value& x, std::string_view stem, const std::string& name, std::initializer_list<std::int64_t> perm);
    Value matrix_product(const Value& a, const Value& b, std::string_view stem, const std::string& name);
    Value softmax_rows(const Value& x, const std::string& name);
    /// [batch, rows, columns] split into heads and transposed.
    Value heads(const Value& x, std::int64_t count, const std::string& name, std::initializer_list<std::int64_t> perm);
    /// And back.
    Value joined_heads(const Value& x, const std::string& name);
    /// Adds an f32 initializer of integers times a factor.
    std::string floats(const std::string& name, std::span<const std::int64_t> dims, std::span<const std::int64_t> integers, double factor,
                       double offset = 0);
    /// `filters` filters of `fan_in` weights each, in the order of `dims`, scaled for an input of unit variance.
    std::string weights(const std::string& name, std::span<const std::int64_t> dims, std::int64_t fan_in, bool after_rectifier);
    /// `count` values, almost normal around `mean`.
    std::string vector(const std::string& name, std::int64_t count, double mean, double deviation);
    std::string shape_constant(const std::string& name, std::span<const std::int64_t> dims);
    Random next_stream();

    onnx::ModelProto model_;
    std::uint64_t seed_;
    std::uint64_t streams_ = 0;
    std::uint64_t values_ = 0;
};

}  // namespace weft::zoo
