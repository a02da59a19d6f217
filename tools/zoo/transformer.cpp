// Blocks of transformers at their published sizes, as exporters write them: Gelu as a chain around Erf (or Tanh), heads split and
// joined by Reshape and Transpose.
#include <cmath>

#include "base/failure.h"
#include "zoo/networks.h"

namespace weft::zoo {

std::string Builder::scalar(const std::string& name, double value) {
    const std::int64_t one[] = {1};
    return floats(name, {}, one, value);
}

Value Builder::mat_mul(const Value& x, const std::string& name, std::int64_t outputs, bool bias) {
    const std::int64_t inner = x.dims.back();
    const std::int64_t dims[] = {inner, outputs};
    std::vector<std::int64_t> shape = x.dims;
    shape.back() = outputs;
    const std::string operands[] = {x.name, weights(name + ".weight", dims, inner, x.rectified)};
    const Value product = fresh("product", shape, false);
    node("MatMul", operands, product, name);
    if (!bias) return product;
    const std::string summands[] = {product.name, vector(name + ".bias", outputs, 0, 0.1)};
    const Value result = fresh("biased", shape, false);
    node("Add", summands, result, name + ".add");
    return result;
}

Value Builder::layer_norm(const Value& x, const std::string& name) {
    const std::string inputs[] = {x.name, vector(name + ".weight", x.dims.back(), 1, 0.1), vector(name + ".bias", x.dims.back(), 0, 0.1)};
    const Value result = fresh("norm", x.dims, false);
    onnx::NodeProto& made = node("LayerNormalization", inputs, result, name);
    onnx::AttributeProto& axis = *made.add_attribute();
    axis.set_name("axis");
    axis.set_type(onnx::AttributeProto::INT);
    axis.set_i(-1);
    return result;
}

Value Builder::elementwise(std::string_view type, const Value& a, const std::string& b, const std::string& name) {
    const std::string both[] = {a.name, b};
    const std::span<const std::string> inputs = std::span(both).first(b.empty() ? 1 : 2);
    const Value result = fresh("value", a.dims, false);
    node(type, inputs, result, name);
    return result;
}

Value Builder::gelu(const Value& x, const std::string& name, bool tanh_form) {
    if (tanh_form) {
        const Value cube = elementwise("Mul", elementwise("Mul", x, x.name, name + ".square"), x.name, name + ".cube");
        const Value scaled = elementwise("Mul", cube, scalar(name + ".cubic", 0.044715), name + ".scaled");
        const Value inner = elementwise("Mul", elementwise("Add", x, scaled.name, name + ".sum"), scalar(name + ".root", 0.7978845608028654), name + ".inner");
        const Value gate = elementwise("Add", elementwise("Tanh", inner, "", name + ".tanh"), scalar(name + ".one", 1), name + ".gate");
        return elementwise("Mul", elementwise("Mul", x, scalar(name + ".half", 0.5), name + ".halved"), gate.name, name);
    }
    const Value scaled = elementwise("Div", x, scalar(name + ".root", 1.4142135623730951), name + ".scaled");
    const Value gate = elementwise("Add", elementwise("Erf", scaled, "", name + ".erf"), scalar(name + ".one", 1), name + ".gate");
    return elementwise("Mul", elementwise("Mul", x, gate.name, name + ".gated"), scalar(name + ".half", 0.5), name);
}

Value Builder::heads(const Value& x, std::int64_t count, const std::string& name, std::initializer_list<std::int64_t> perm) {
    const std::int64_t columns = x.dims[2] / count;
    const Value split = reshape(x, {x.dims[0], x.dims[1], count, columns});
    std::vector<std::int64_t> dims;
    for (const std::int64_t axis : perm) dims.push_back(split.dims[static_cast<std::size_t>(axis)]);
    const Value result = fresh("heads", dims, false);
    onnx::NodeProto& made = node("Transpose", std::span(&split.name, 1), result, name);
    onnx::AttributeProto& attribute = *made.add_attribute();
    attribute.set_name("perm");
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t axis : perm) attribute.add_ints(axis);
    return result;
}

Value Builder::attention(const Value& x, const std::string& name, std::int64_t head_count) {
    const std::int64_t width = x.dims.back();
    if (width % head_count != 0) refuse("{} columns do not divide into {} heads", width, head_count);
    const Value q = heads(mat_mul(x, name + ".q", width), head_count, name + ".q_heads", {0, 2, 1, 3});
    const Value k = heads(mat_mul(x, name + ".k", width), head_count, name + ".k_heads", {0, 2, 3, 1});
    const Value v = heads(mat_mul(x, name + ".v", width), head_count, name + ".v_heads", {0, 2, 1, 3});
    const std::string score_inputs[] = {q.name, k.name};
    const Value scores = fresh("scores", {q.dims[0], head_count, q.dims[2], k.dims[3]}, false);
    node("MatMul", score_inputs, scores, name + ".scores");
    const double columns = static_cast<double>(width / head_count);
    const Value scaled = elementwise("Div", scores, scalar(name + ".scale", std::sqrt(columns)), name + ".scaled");
    const Value probabilities = fresh("probabilities", scaled.dims, true);
    onnx::NodeProto& softmax_node = node("Softmax", std::span(&scaled.name, 1), probabilities, name + ".softmax");
    onnx::AttributeProto& axis = *softmax_node.add_attribute();
    axis.set_name("axis");
    axis.set_type(onnx::AttributeProto::INT);
    axis.set_i(-1);
    const std::string mix_inputs[] = {probabilities.name, v.name};
    const Value mixed = fresh("mixed", v.dims, false);
    node("MatMul", mix_inputs, mixed, name + ".mix");
    const Value joined = fresh("joined", {v.dims[0], v.dims[2], v.dims[1], v.dims[3]}, false);
    onnx::NodeProto& transpose = node("Transpose", std::span(&mixed.name, 1), joined, name + ".join");
    onnx::AttributeProto& perm = *transpose.add_attribute();
    perm.set_name("perm");
    perm.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t to : {0, 2, 1, 3}) perm.add_ints(to);
    return mat_mul(reshape(joined, x.dims), name + ".out", width);
}

namespace {

struct BlockShape {
    std::int64_t width;
    std::int64_t hidden;
    std::int64_t heads;
    bool norm_first;
    bool tanh_gelu;
};

Value block(Builder& builder, const NetworkOptions& options, const BlockShape& shape) {
    const Value x = builder.input("input", {options.batch, options.size, shape.width});
    const auto mlp_part = [&](const Value& from) {
        return builder.mat_mul(builder.gelu(builder.mat_mul(from, "up", shape.hidden), "gelu", shape.tanh_gelu), "down", shape.width);
    };
    if (shape.norm_first) {
        const Value middle = builder.add(x, builder.attention(builder.layer_norm(x, "norm1"), "attention", shape.heads));
        return builder.add(middle, mlp_part(builder.layer_norm(middle, "norm2")));
    }
    const Value middle = builder.layer_norm(builder.add(x, builder.attention(x, "attention", shape.heads)), "norm1");
    return builder.layer_norm(builder.add(middle, mlp_part(middle)), "norm2");
}

}  // namespace

Value siglip_mlp(Builder& builder, const NetworkOptions& options) {
    const Value x = builder.input("input", {options.batch, options.size, 1152});
    const std::int64_t hidden = options.hidden == 4096 ? 4608 : options.hidden;
    return builder.mat_mul(builder.gelu(builder.mat_mul(x, "up", hidden, false), "gelu", false), "down", 1152, false);
}

Value siglip_attention(Builder& builder, const NetworkOptions& options) {
    const Value x = builder.input("input", {options.batch, options.size, 1152});
    return builder.add(x, builder.attention(builder.layer_norm(x, "norm1"), "attention", 16));
}

Value bert_block(Builder& builder, const NetworkOptions& options) { return block(builder, options, {768, 3072, 12, false, false}); }
Value gpt2_block(Builder& builder, const NetworkOptions& options) { return block(builder, options, {768, 3072, 12, true, true}); }
Value vit_block(Builder& builder, const NetworkOptions& options) { return block(builder, options, {768, 3072, 12, true, false}); }

}  // namespace weft::zoo
