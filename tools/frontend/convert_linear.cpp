// Gemm, and MatMul with one constant side.
#include <algorithm>
#include <numeric>

#include "frontend/arithmetic.h"
#include "frontend/converters.h"

namespace weft::frontend {
namespace {

/// x [..., K] times weight [K, N] plus an optional bias [N].
ValueId linear(Builder& builder, ValueId x, ValueId weight, ValueId bias = {}) {
    Shape out = builder.shape(x);
    if (out.empty() || out.back() != builder.shape(weight)[0]) {
        bad_input("the inner sizes of {} and {} differ", shape_text(out), shape_text(builder.shape(weight)));
    }
    out.back() = builder.shape(weight)[1];
    std::vector<ValueId> inputs = {x, weight};
    if (!bias.is_none()) inputs.push_back(bias);
    return builder.step(OperatorKind::Linear, std::move(inputs), std::move(out));
}

ValueId swapped_last_two(Builder& builder, ValueId x) {
    std::vector<std::int64_t> perm(builder.shape(x).size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return builder.transpose(x, std::move(perm));
}

void scale_weight(Builder& builder, ValueId weight, float factor) {
    if (factor == 1.0F) return;
    Value& value = builder.network()[weight];
    value.scale = std::make_shared<std::vector<float>>(static_cast<std::size_t>(value.shape.back()), factor);
}

bool is_computed(const NodeContext& context, std::size_t index) { return !context.builder.is_constant(context.value(index)); }

void require_operands(const NodeContext& context) {
    context.require_floating(0);
    context.require_floating(1);
    if (!is_computed(context, 0) && !is_computed(context, 1)) unsupported("both sides are constant");
}

/// The weight's leading axes of size one, which broadcast away, dropped; [K] becomes [K, 1] on the right side.
ValueId as_matrix(Builder& builder, ValueId weight, bool right_side) {
    const Shape in = builder.shape(weight);
    if (in.empty()) bad_input("a scalar operand");
    if (in.size() == 1) return builder.reshape(weight, right_side ? Shape{in[0], 1} : Shape{1, in[0]});
    for (std::size_t k = 0; k + 2 < in.size(); ++k) {
        if (in[k] != 1) unsupported("a stack of constant matrices {}", shape_text(in));
    }
    return builder.reshape(weight, {in[in.size() - 2], in[in.size() - 1]});
}

Shape with_leading_ones(Shape shape, std::size_t rank) {
    if (shape.size() < rank) shape.insert(shape.begin(), rank - shape.size(), 1);
    return shape;
}

}  // namespace

void convert_matmul(NodeContext& context) {
    if (is_computed(context, 0) && is_computed(context, 1)) return convert_computed_matmul(context);
    require_operands(context);
    Builder& builder = context.builder;
    const ValueId a = context.value(0);
    const ValueId b = context.value(1);
    const Shape a_shape = context.shape(0);
    const Shape b_shape = context.shape(1);
    if (is_computed(context, 0)) {
        const ValueId weight = builder.permuted_weight(as_matrix(builder, b, true), {0, 1});
        const ValueId product = linear(builder, a, weight);
        Shape out = builder.shape(product);
        if (b_shape.size() == 1) out.pop_back();
        // Leading ones of the constant side may raise the rank.
        else if (a_shape.size() >= 2)
            out = with_leading_ones(std::move(out), b_shape.size());
        else
            out = with_leading_ones(std::move(out), b_shape.size() - 1);
        return context.set_output(0, builder.reshape(product, std::move(out)), context.input(0).type);
    }
    // A B = (B' A')'
    const ValueId weight = builder.permuted_weight(as_matrix(builder, a, false), {1, 0});
    if (b_shape.empty()) bad_input("a scalar operand");
    const ValueId columns = b_shape.size() == 1 ? builder.reshape(b, {1, b_shape[0]}) : swapped_last_two(builder, b);
    const ValueId product = swapped_last_two(builder, linear(builder, columns, weight));
    Shape out = builder.shape(product);
    if (b_shape.size() == 1) out.pop_back();
    if (a_shape.size() == 1)
        out.erase(out.end() - (b_shape.size() == 1 ? 1 : 2));
    else if (b_shape.size() >= 2)
        out = with_leading_ones(std::move(out), a_shape.size());
    else
        out = with_leading_ones(std::move(out), a_shape.size() - 1);
    context.set_output(0, builder.reshape(product, std::move(out)), context.input(1).type);
}

namespace {

void require_broadcast(const Shape& c, const Shape& out) {
    bool fits = c.size() <= out.size();
    for (std::size_t k = 1; fits && k <= c.size(); ++k) fits = c[c.size() - k] == 1 || c[c.size() - k] == out[out.size() - k];
    if (!fits) bad_input("C {} does not broadcast to {}", shape_text(c), shape_text(out));
}

/// C of Gemm as the bias of a Linear of N outputs, where it is one value or one per column.
ValueId gemm_bias(NodeContext& context, std::int64_t columns, float beta) {
    Builder& builder = context.builder;
    const ValueId c = context.value(2);
    if (!builder.is_constant(c)) return {};
    const Shape shape = builder.shape(c);
    const std::int64_t count = elem_count(shape);
    const bool per_column = count == 1 || (count == columns && shape.back() == columns);
    if (!per_column) return {};
    if (beta == 1.0F && count == columns) return builder.reshape(c, {columns});
    std::vector<float> values(static_cast<std::size_t>(columns));
    const auto source = as_f64(builder.at(c).constant);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(source[count == 1 ? 0 : i] * static_cast<double>(beta));
    return builder.constant_f32({columns}, std::move(values));
}

ValueId add_scaled(NodeContext& context, ValueId product, float beta) {
    Builder& builder = context.builder;
    ValueId c = context.value(2);
    require_broadcast(builder.shape(c), builder.shape(product));
    if (beta != 1.0F) {
        if (builder.is_constant(c)) {
            builder.charge(builder.shape(c), type_float);
            c = builder.constant(compute_cast(builder.at(c).constant, type_float));
        }
        c = builder.binary_scalar(OperatorKind::Mul, c, beta);
    }
    return builder.binary(OperatorKind::Add, product, c);
}

}  // namespace

void convert_gemm(NodeContext& context) {
    require_operands(context);
    Builder& builder = context.builder;
    if (context.shape(0).size() != 2 || context.shape(1).size() != 2) {
        bad_input("operands of shapes {} and {} are no matrices", shape_text(context.shape(0)), shape_text(context.shape(1)));
    }
    const bool transpose_a = context.int_attribute("transA", 0) != 0;
    const bool transpose_b = context.int_attribute("transB", 0) != 0;
    const float alpha = context.float_attribute("alpha", 1);
    const float beta = context.float_attribute("beta", 1);
    const bool has_c = context.has_input(2) && beta != 0;
    if (has_c) context.require_floating(2);
    ValueId product;
    if (is_computed(context, 0) && is_computed(context, 1)) {
        const ValueId a = transpose_a ? builder.transpose(context.value(0), {1, 0}) : context.value(0);
        const ValueId b = transpose_b ? builder.transpose(context.value(1), {1, 0}) : context.value(1);
        const Shape left = builder.shape(a);
        const Shape right = builder.shape(b);
        if (left[1] != right[0]) bad_input("the inner sizes of {} and {} differ", shape_text(left), shape_text(right));
        product = builder.step(OperatorKind::MatMul, {a, b}, {left[0], right[1]});
        if (alpha != 1) product = builder.binary_scalar(OperatorKind::Mul, product, alpha);
        if (has_c) product = add_scaled(context, product, beta);
    } else if (is_computed(context, 0)) {
        const ValueId x = transpose_a ? builder.transpose(context.value(0), {1, 0}) : context.value(0);
        const ValueId weight = builder.permuted_weight(context.value(1), transpose_b ? Shape{1, 0} : Shape{0, 1});
        scale_weight(builder, weight, alpha);
        const Shape& w = builder.shape(weight);
        const Shape& rows = builder.shape(x);
        // C is checked against [M, N], whichever way B lies.
        if (has_c) require_broadcast(context.shape(2), {rows[0], w[1]});
        const ValueId bias = has_c ? gemm_bias(context, w[1], beta) : ValueId::none();
        product = linear(builder, x, weight, bias);
        if (has_c && bias.is_none()) product = add_scaled(context, product, beta);
    } else {
        const ValueId x = transpose_b ? context.value(1) : builder.transpose(context.value(1), {1, 0});
        const ValueId weight = builder.permuted_weight(context.value(0), transpose_a ? Shape{0, 1} : Shape{1, 0});
        scale_weight(builder, weight, alpha);
        product = builder.transpose(linear(builder, x, weight), {1, 0});
        if (has_c) product = add_scaled(context, product, beta);
    }
    context.set_output(product);
}

}  // namespace weft::frontend
