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

Value Builder::transpose(const Value& x, std::string_view stem, const std::string& name, std::initializer_list<std::int64_t> perm) {
    std::vector<std::int64_t> dims;
    for (const std::int64_t axis : perm) dims.push_back(x.dims[static_cast<std::size_t>(axis)]);
    const Value result = fresh(stem, dims, false);
    onnx::NodeProto& made = node("Transpose", std::span(&x.name, 1), result, name);
    onnx::AttributeProto& attribute = *made.add_attribute();
    attribute.set_name("perm");
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t axis : perm) attribute.add_ints(axis);
    return result;
}

Value Builder::matrix_product(const Value& a, const Value& b, std::string_view stem, const std::string& name) {
    std::vector<std::int64_t> dims = a.dims;
    dims.back() = b.dims.back();
    const Value result = fresh(stem, std::move(dims), false);
    const std::string inputs[] = {a.name, b.name};
    node("MatMul", inputs, result, name);
    return result;
}

Value Builder::softmax_rows(const Value& x, const std::string& name) {
    const Value result = fresh("probabilities", x.dims, true);
    onnx::NodeProto& made = node("Softmax", std::span(&x.name, 1), result, name);
    onnx::AttributeProto& axis = *made.add_attribute();
    axis.set_name("axis");
    axis.set_type(onnx::AttributeProto::INT);
    axis.set_i(-1);
    return result;
}

Value Builder::heads(const Value& x, std::int64_t count, const std::string& name, std::initializer_list<std::int64_t> perm) {
    if (x.dims[2] % count != 0) refuse("{} columns do not divide into {} heads", x.dims[2], count);
    return transpose(reshape(x, {x.dims[0], x.dims[1], count, x.dims[2] / count}), "heads", name, perm);
}

Value Builder::joined_heads(const Value& x, const std::string& name) {
    const Value joined = transpose(x, "joined", name, {0, 2, 1, 3});
    return reshape(joined, {joined.dims[0], joined.dims[1], joined.dims[2] * joined.dims[3]});
}

Value Builder::attention(const Value& x, const std::string& name, std::int64_t head_count) {
    const std::int64_t width = x.dims.back();
    const Value q = heads(mat_mul(x, name + ".q", width), head_count, name + ".q_heads", {0, 2, 1, 3});
    const Value k = heads(mat_mul(x, name + ".k", width), head_count, name + ".k_heads", {0, 2, 3, 1});
    const Value v = heads(mat_mul(x, name + ".v", width), head_count, name + ".v_heads", {0, 2, 1, 3});
    const Value scores = matrix_product(q, k, "scores", name + ".scores");
    const double columns = static_cast<double>(width / head_count);
    const Value scaled = elementwise("Div", scores, scalar(name + ".scale", std::sqrt(columns)), name + ".scaled");
    const Value mixed = matrix_product(softmax_rows(scaled, name + ".softmax"), v, "mixed", name + ".mix");
    return mat_mul(joined_heads(mixed, name + ".join"), name + ".out", width);
}

Value Builder::efficient_attention(const Value& x, const std::string& name, std::int64_t head_count) {
    const std::int64_t width = x.dims.back();
    const Value q = heads(mat_mul(x, name + ".q", width), head_count, name + ".q_heads", {0, 2, 1, 3});
    const Value k = heads(mat_mul(x, name + ".k", width), head_count, name + ".k_heads", {0, 2, 3, 1});
    const Value v = heads(mat_mul(x, name + ".v", width), head_count, name + ".v_heads", {0, 2, 1, 3});
    const Value context = matrix_product(softmax_rows(k, name + ".k_softmax"), v, "context", name + ".context");
    const Value mixed = matrix_product(softmax_rows(q, name + ".q_softmax"), context, "mixed", name + ".mix");
    return mat_mul(joined_heads(mixed, name + ".join"), name + ".out", width);
}

Value Builder::mixed_tokens(const Value& x, const std::string& name, std::int64_t hidden) {
    const Value columns = transpose(x, "columns", name + ".columns", {0, 2, 1});
    const Value up = gelu(mat_mul(columns, name + ".up", hidden), name + ".gelu", false);
    return transpose(mat_mul(up, name + ".down", x.dims[1]), "rows", name + ".rows", {0, 2, 1});
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


Value mixer_block(Builder& builder, const NetworkOptions& options) {
    const Value x = builder.input("input", {options.batch, options.size, 768});
    const Value middle = builder.add(x, builder.mixed_tokens(builder.layer_norm(x, "norm1"), "tokens", 384));
    const Value up = builder.mat_mul(builder.layer_norm(middle, "norm2"), "up", 3072);
    return builder.add(middle, builder.mat_mul(builder.gelu(up, "gelu", false), "down", 768));
}

Value efficient_attention(Builder& builder, const NetworkOptions& options) {
    const Value x = builder.input("input", {options.batch, options.size, 768});
    return builder.add(x, builder.efficient_attention(builder.layer_norm(x, "norm1"), "attention", 12));
}

}  // namespace weft::zoo
