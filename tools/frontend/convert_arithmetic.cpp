// Elementwise operators, reductions and normalisations.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "frontend/arithmetic.h"
#include "frontend/converters.h"

namespace weft::frontend {
namespace {

OperatorKind binary_kind(std::string_view name) {
    if (name == "Add" || name == "Sum" || name == "Mean") return OperatorKind::Add;
    if (name == "Sub") return OperatorKind::Sub;
    if (name == "Mul") return OperatorKind::Mul;
    if (name == "Div") return OperatorKind::Div;
    return name == "Max" ? OperatorKind::Max : OperatorKind::Min;
}

bool all_constant(const NodeContext& context) {
    for (std::size_t i = 0; i < context.input_count(); ++i) {
        if (context.has_input(i) && !context.builder.is_constant(context.value(i))) return false;
    }
    return true;
}

void set_constant(NodeContext& context, Constant constant) {
    const std::int32_t type = constant.type;
    context.set_output(0, context.builder.constant(std::move(constant)), type);
}

/// Constants that are operands of activations take part as f32.
ValueId as_operand(NodeContext& context, std::size_t index) {
    context.require_floating(index);
    return context.value(index);
}

ValueId activation(NodeContext& context, std::size_t index) {
    const ValueId x = as_operand(context, index);
    if (context.builder.is_constant(x)) unsupported("its input '{}' is constant", context.builder.at(x).name);
    return x;
}

ValueId elementwise(NodeContext& context, OperatorKind kind, std::vector<StepAttribute> attributes = {}) {
    const ValueId x = activation(context, 0);
    return context.builder.step(kind, {x}, context.builder.shape(x), std::move(attributes));
}

float scalar_input(const NodeContext& context, std::size_t index, const char* what) {
    const Constant& constant = context.constant_input(index, what);
    if (elem_count(constant.shape) != 1) bad_input("{} has the shape {}", what, shape_text(constant.shape));
    return static_cast<float>(as_f64(constant)[0]);
}

}  // namespace

void convert_binary(NodeContext& context) {
    if (context.input_count() != 2) bad_input("it has {} inputs instead of 2", context.input_count());
    if (context.input(0).type != context.input(1).type)
        bad_input("operands of types {} and {}", type_name(context.input(0).type), type_name(context.input(1).type));
    if (!all_constant(context)) {
        context.require_floating(0);
        context.require_floating(1);
    }
    context.set_output(context.builder.binary(binary_kind(context.operator_name()), context.value(0), context.value(1)));
}

void convert_variadic(NodeContext& context) {
    if (context.input_count() == 0) bad_input("it has no inputs");
    const OperatorKind kind = binary_kind(context.operator_name());
    ValueId result = context.value(0);
    if (!all_constant(context)) context.require_floating(0);
    for (std::size_t i = 1; i < context.input_count(); ++i) {
        if (context.input(i).type != context.input(0).type)
            bad_input("operands of types {} and {}", type_name(context.input(0).type), type_name(context.input(i).type));
        result = context.builder.binary(kind, result, context.value(i));
    }
    if (context.operator_name() == "Mean") {
        context.require_floating(0);
        const auto count = static_cast<double>(context.input_count());
        const ValueId divisor = context.builder.constant(
            from_f64(context.builder.is_constant(result) ? context.input(0).type : static_cast<std::int32_t>(type_float), {},
                     std::span(&count, 1)));
        result = context.builder.binary(OperatorKind::Div, result, divisor);
    }
    context.set_output(result);
}

void convert_negate(NodeContext& context) {
    if (all_constant(context)) return convert_unary_constant(context);
    context.set_output(context.builder.binary_scalar(OperatorKind::Mul, activation(context, 0), -1.0F));
}

void convert_unary_constant(NodeContext& context) {
    static constexpr std::pair<std::string_view, UnaryFunction> functions[] = {
        {"Abs", UnaryFunction::absolute},    {"Ceil", UnaryFunction::ceil},
        {"Exp", UnaryFunction::exp},         {"Floor", UnaryFunction::floor},
        {"Log", UnaryFunction::log},         {"Neg", UnaryFunction::negate},
        {"Not", UnaryFunction::logical_not}, {"Reciprocal", UnaryFunction::reciprocal},
        {"Round", UnaryFunction::round},     {"Sign", UnaryFunction::sign},
        {"Sqrt", UnaryFunction::sqrt}};
    const ValueId x = context.value(0);
    if (!context.builder.is_constant(x))
        unsupported("the operator is supported on constants only, and '{}' is computed by the network",
                    context.builder.at(x).name);
    for (const auto& [name, function] : functions) {
        if (name != context.operator_name()) continue;
        context.builder.charge(context.shape(0), context.input(0).type);
        return set_constant(context, compute_unary(function, context.builder.at(x).constant));
    }
    WEFT_CHECK(false, "{}", context.operator_name());
}

void convert_exp(NodeContext& context) {
    if (all_constant(context)) return convert_unary_constant(context);
    context.set_output(elementwise(context, OperatorKind::Exp));
}

void convert_power(NodeContext& context) {
    const Constant& exponent = context.constant_input(1, "exponent");
    if (context.builder.is_constant(context.value(0))) {
        const Shape out = broadcast(context.shape(0), context.shape(1));
        context.builder.charge(out, context.input(0).type);
        return set_constant(context, compute_power(context.builder.at(context.value(0)).constant, exponent, out));
    }
    const ValueId x = activation(context, 0);
    const float power = scalar_input(context, 1, "exponent");
    if (exponent.shape.size() > context.shape(0).size()) bad_input("the exponent has more dimensions than the base");
    if (power == 1.0F) return context.set_output(x);
    if (power != 2.0F) unsupported("exponent {}; only squares are supported", power);
    context.set_output(context.builder.binary(OperatorKind::Mul, x, x));
}

void convert_compare(NodeContext& context) {
    static constexpr std::pair<std::string_view, CompareFunction> functions[] = {
        {"And", CompareFunction::logical_and}, {"Equal", CompareFunction::equal},
        {"Greater", CompareFunction::greater}, {"GreaterOrEqual", CompareFunction::greater_or_equal},
        {"Less", CompareFunction::less},       {"LessOrEqual", CompareFunction::less_or_equal},
        {"Or", CompareFunction::logical_or},   {"Xor", CompareFunction::logical_xor}};
    const Constant& a = context.constant_input(0, "operand");
    const Constant& b = context.constant_input(1, "operand");
    const Shape out = broadcast(a.shape, b.shape);
    context.builder.charge(out, type_bool);
    for (const auto& [name, function] : functions) {
        if (name == context.operator_name()) return set_constant(context, compute_compare(function, a, b, out));
    }
    WEFT_CHECK(false, "{}", context.operator_name());
}

void convert_modulo(NodeContext& context) {
    const Constant& a = context.constant_input(0, "operand");
    const Constant& b = context.constant_input(1, "operand");
    const Shape out = broadcast(a.shape, b.shape);
    context.builder.charge(out, a.type);
    set_constant(context, compute_modulo(a, b, context.int_attribute("fmod", 0) != 0, out));
}

void convert_where(NodeContext& context) {
    const Constant& condition = context.constant_input(0, "condition");
    if (condition.type != type_bool) bad_input("the condition has the type {}", type_name(condition.type));
    const Shape out = broadcast(broadcast(context.shape(0), context.shape(1)), context.shape(2));
    // A condition that is one value everywhere chooses a whole operand.
    const auto chosen = as_i64(condition);
    const bool uniform =
        !chosen.empty() && std::all_of(chosen.begin(), chosen.end(), [&](std::int64_t value) { return value == chosen[0]; });
    if (uniform) {
        const std::size_t pick = chosen[0] != 0 ? 1 : 2;
        if (context.shape(pick) == out) return context.set_output(0, context.value(pick), context.input(pick).type);
    }
    const Constant& a = context.constant_input(1, "operand");
    const Constant& b = context.constant_input(2, "operand");
    context.builder.charge(out, a.type);
    set_constant(context, compute_where(condition, a, b, out));
}

void convert_activation(NodeContext& context) {
    const std::string& name = context.operator_name();
    context.set_output(elementwise(context, name == "Relu"      ? OperatorKind::Relu
                                            : name == "Sigmoid" ? OperatorKind::Sigmoid
                                                                : OperatorKind::Tanh));
}

void convert_leaky_relu(NodeContext& context) {
    context.set_output(elementwise(context, OperatorKind::LeakyRelu,
                                   {float_attribute(AttributeKey::Alpha, context.float_attribute("alpha", 0.01F))}));
}

void convert_hard_sigmoid(NodeContext& context) {
    context.set_output(elementwise(context, OperatorKind::HardSigmoid,
                                   {float_attribute(AttributeKey::Alpha, context.float_attribute("alpha", 0.2F)),
                                    float_attribute(AttributeKey::Beta, context.float_attribute("beta", 0.5F))}));
}

void convert_hard_swish(NodeContext& context) { context.set_output(elementwise(context, OperatorKind::HardSwish)); }

void convert_prelu(NodeContext& context) {
    const ValueId x = activation(context, 0);
    const ValueId slope = as_operand(context, 1);
    if (broadcast(context.shape(0), context.shape(1)) != context.shape(0)) {
        bad_input("the slope {} does not broadcast to the input {}", shape_text(context.shape(1)),
                  shape_text(context.shape(0)));
    }
    context.set_output(context.builder.step(OperatorKind::PRelu, {x, slope}, context.shape(0)));
}

void convert_clip(NodeContext& context) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    Builder& builder = context.builder;
    float low = -infinity;
    float high = infinity;
    ValueId x = activation(context, 0);
    if (context.opset() < 11) {
        low = context.float_attribute("min", low);
        high = context.float_attribute("max", high);
    } else {
        const auto computed = [&](std::size_t index) {
            return context.has_input(index) && !builder.is_constant(context.value(index));
        };
        if (context.has_input(1) && !computed(1)) low = scalar_input(context, 1, "min");
        if (context.has_input(2) && !computed(2)) high = scalar_input(context, 2, "max");
        // Bounds that the network computes are not Clip's attributes but plain operands.
        if (computed(1) || computed(2)) {
            if (context.has_input(1)) x = builder.binary(OperatorKind::Max, x, as_operand(context, 1));
            if (context.has_input(2)) x = builder.binary(OperatorKind::Min, x, as_operand(context, 2));
            return context.set_output(x);
        }
    }
    if (std::isnan(low) || std::isnan(high)) bad_input("a bound is not a number");
    if (low == -infinity && high == infinity) return context.set_output(x);
    if (low == 0 && high == infinity) return context.set_output(elementwise(context, OperatorKind::Relu));
    context.set_output(
        elementwise(context, OperatorKind::Clip,
                    {float_attribute(AttributeKey::Minimum, low), float_attribute(AttributeKey::Maximum, high)}));
}

void convert_softmax(NodeContext& context) {
    Builder& builder = context.builder;
    const OperatorKind kind = context.operator_name() == "Softmax" ? OperatorKind::Softmax : OperatorKind::LogSoftmax;
    const ValueId x = activation(context, 0);
    const Shape in = builder.shape(x);
    if (in.empty()) bad_input("a scalar has no axis");
    const bool early = context.opset() < 13;
    const std::size_t axis = context.axis(context.int_attribute("axis", early ? 1 : -1), in.size(), early);
    const auto along = [&](ValueId from, std::int64_t at) {
        return builder.step(kind, {from}, builder.shape(from), {ints_attribute(AttributeKey::Axis, std::span(&at, 1))});
    };
    // Before opset 13 all axes from `axis` on are normalised together, as one row of a matrix.
    const std::int64_t columns = elem_count(Shape(in.begin() + static_cast<std::ptrdiff_t>(axis), in.end()));
    if (!early || (axis < in.size() && columns == in[axis]))
        return context.set_output(along(x, static_cast<std::int64_t>(axis)));
    const std::int64_t rows = elem_count(in) / columns;
    context.set_output(builder.reshape(along(builder.reshape(x, {rows, columns}), 1), in));
}

void convert_batch_normalization(NodeContext& context) {
    if (context.int_attribute("training_mode", 0) != 0 || context.wants_output(1))
        unsupported("training mode; only inference is supported");
    if (context.int_attribute("spatial", 1) == 0) unsupported("statistics per position (spatial = 0)");
    const ValueId x = activation(context, 0);
    const Shape in = context.shape(0);
    if (in.empty()) bad_input("a scalar cannot be normalised");
    const std::int64_t channels = in.size() > 1 ? in[1] : 1;
    static constexpr const char* names[] = {"", "scale", "bias", "mean", "variance"};
    std::vector<std::vector<double>> statistics(5);
    for (std::size_t i = 1; i < 5; ++i) {
        const Constant& values = context.constant_input(i, names[i]);
        if (elem_count(values.shape) != channels)
            bad_input("{} has the shape {} for {} channels", names[i], shape_text(values.shape), channels);
        statistics[i] = as_f64(values);
    }
    const auto epsilon = static_cast<double>(context.float_attribute("epsilon", 1e-5F));
    std::vector<float> factor;
    std::vector<float> shift;
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
        const double scale = statistics[1][c] / std::sqrt(statistics[4][c] + epsilon);
        factor.push_back(static_cast<float>(scale));
        shift.push_back(static_cast<float>(statistics[2][c] - statistics[3][c] * scale));
    }
    Shape broadcast_shape(in.size() > 1 ? in.size() - 1 : 1, 1);
    broadcast_shape[0] = channels;
    // A pass folds these into the convolution that precedes.
    const ValueId scaled =
        context.builder.binary(OperatorKind::Mul, x, context.builder.constant_f32(broadcast_shape, std::move(factor)));
    context.set_output(
        context.builder.binary(OperatorKind::Add, scaled, context.builder.constant_f32(broadcast_shape, std::move(shift))));
}

namespace {

std::vector<bool> reduced_axes(const NodeContext& context, std::size_t rank) {
    const auto listed = context.ints_input_or_attribute(1, "axes");
    if (!listed || listed->empty()) return std::vector<bool>(rank, context.int_attribute("noop_with_empty_axes", 0) == 0);
    std::vector<bool> axes(rank, false);
    for (const std::int64_t axis : *listed) axes[context.axis(axis, rank)] = true;
    return axes;
}

ReduceFunction reduce_function(std::string_view name) {
    if (name == "ReduceSum") return ReduceFunction::sum;
    if (name == "ReduceMean") return ReduceFunction::mean;
    if (name == "ReduceProd") return ReduceFunction::product;
    return name == "ReduceMin" ? ReduceFunction::minimum : ReduceFunction::maximum;
}

/// Pool over the reduced axes: they come last by a transpose where they are not, then [1, kept, reduced, 1] is one window.
ValueId reduce_activation(Builder& builder, ValueId x, ReduceFunction function, const std::vector<bool>& axes) {
    const Shape in = builder.shape(x);
    std::vector<std::int64_t> perm;
    std::int64_t kept = 1;
    std::int64_t reduced = 1;
    for (const bool last : {false, true}) {
        for (std::size_t k = 0; k < in.size(); ++k) {
            if (axes[k] != last) continue;
            perm.push_back(static_cast<std::int64_t>(k));
            (last ? reduced : kept) *= in[k];
        }
    }
    const bool plane = in.size() == 4 && in[0] == 1 && axes == std::vector<bool>{false, false, true, true};
    const ValueId rows = plane ? x : builder.reshape(builder.transpose(x, perm), {1, kept, reduced, 1});
    const Shape& shape = builder.shape(rows);
    const OperatorKind kind = function == ReduceFunction::maximum ? OperatorKind::MaxPool : OperatorKind::AveragePool;
    std::vector<StepAttribute> attributes = {
        ints_attribute(AttributeKey::Kernel, Shape{shape[2], shape[3]}), ints_attribute(AttributeKey::Strides, Shape{1, 1}),
        ints_attribute(AttributeKey::Pads, Shape{0, 0, 0, 0}), ints_attribute(AttributeKey::Dilations, Shape{1, 1})};
    if (kind == OperatorKind::AveragePool) attributes.push_back(ints_attribute(AttributeKey::CountIncludePad, Shape{0}));
    ValueId result = builder.step(kind, {rows}, {1, shape[1], 1, 1}, std::move(attributes));
    if (function == ReduceFunction::sum) result = builder.binary_scalar(OperatorKind::Mul, result, static_cast<float>(reduced));
    return result;
}

}  // namespace

void convert_reduce(NodeContext& context) {
    const Shape in = context.shape(0);
    Builder& builder = context.builder;
    const auto axes = reduced_axes(context, in.size());
    const bool keep = context.int_attribute("keepdims", 1) != 0;
    const ReduceFunction function = reduce_function(context.operator_name());
    Shape out;
    for (std::size_t k = 0; k < in.size(); ++k) {
        if (!axes[k])
            out.push_back(in[k]);
        else if (keep)
            out.push_back(1);
    }
    if (all_constant(context)) {
        builder.charge(in, context.input(0).type);
        return set_constant(context, reshaped(compute_reduce(function, builder.at(context.value(0)).constant, axes), out));
    }
    const ValueId x = activation(context, 0);
    if (std::find(axes.begin(), axes.end(), true) == axes.end()) return context.set_output(x);
    if (function == ReduceFunction::product || function == ReduceFunction::minimum)
        unsupported("the operator is supported on constants only, and '{}' is computed by the network", builder.at(x).name);
    context.set_output(builder.reshape(reduce_activation(builder, x, function, axes), std::move(out)));
}

}  // namespace weft::frontend
