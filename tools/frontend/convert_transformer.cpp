// Operators of transformers that have no place in convolutional networks.
#include <algorithm>

#include "frontend/converters.h"

namespace weft::frontend {
namespace {

ValueId activation(NodeContext& context, std::size_t index) {
    context.require_floating(index);
    return context.value(index);
}

}  // namespace

void convert_erf(NodeContext& context) {
    if (context.builder.is_constant(context.value(0))) unsupported("erf of a constant");
    context.set_output(context.builder.step(OperatorKind::Erf, {activation(context, 0)}, context.shape(0)));
}

void convert_sqrt(NodeContext& context) {
    if (context.builder.is_constant(context.value(0))) return convert_unary_constant(context);
    context.set_output(context.builder.step(OperatorKind::Sqrt, {activation(context, 0)}, context.shape(0)));
}

void convert_gelu(NodeContext& context) {
    const std::string form = context.text_attribute("approximate", "none");
    if (form != "none" && form != "tanh") bad_input("approximation '{}' is neither none nor tanh", form);
    if (context.builder.is_constant(context.value(0))) unsupported("gelu of a constant");
    context.set_output(context.builder.step(OperatorKind::Gelu, {activation(context, 0)}, context.shape(0),
                                            {float_attribute(AttributeKey::Alpha, form == "tanh" ? 1.0F : 0.0F)}));
}

void convert_layer_normalization(NodeContext& context) {
    Builder& builder = context.builder;
    if (context.wants_output(1) || context.wants_output(2)) unsupported("mean and deviation as outputs");
    const ValueId x = activation(context, 0);
    const Shape in = builder.shape(x);
    if (in.empty()) bad_input("a scalar cannot be normalised");
    if (builder.is_constant(x)) unsupported("normalisation of a constant");
    const std::size_t axis = context.axis(context.int_attribute("axis", -1), in.size());
    std::int64_t columns = 1;
    for (std::size_t k = axis; k < in.size(); ++k) columns *= in[k];
    std::vector<ValueId> inputs = {axis + 1 == in.size() ? x : builder.reshape(x, {elem_count(in) / columns, columns})};
    for (std::size_t i = 1; i < 3; ++i) {
        if (!context.has_input(i)) {
            if (i == 1) bad_input("the scale is missing");
            continue;
        }
        static_cast<void>(context.constant_input(i, i == 1 ? "scale" : "offset"));
        if (elem_count(context.shape(i)) != columns) {
            bad_input("{} of shape {} for {} columns", i == 1 ? "a scale" : "an offset", shape_text(context.shape(i)), columns);
        }
        inputs.push_back(builder.permuted_weight(builder.reshape(context.value(i), {columns}), {0}));
    }
    const Shape matrix = builder.shape(inputs[0]);
    const ValueId result = builder.step(OperatorKind::LayerNorm, std::move(inputs), matrix,
                                        {float_attribute(AttributeKey::Alpha, context.float_attribute("epsilon", 1e-5F))});
    context.set_output(builder.reshape(result, in));
}

/// Two activations.
void convert_computed_matmul(NodeContext& context) {
    Builder& builder = context.builder;
    const ValueId a = activation(context, 0);
    const ValueId b = activation(context, 1);
    const Shape& left = builder.shape(a);
    const Shape& right = builder.shape(b);
    if (left.size() < 2 || right.size() < 2) unsupported("a vector times a computed operand");
    if (left.back() != right[right.size() - 2]) bad_input("the inner sizes of {} and {} differ", shape_text(left), shape_text(right));
    Shape out = broadcast(Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2));
    out.push_back(left[left.size() - 2]);
    out.push_back(right.back());
    context.set_output(builder.step(OperatorKind::MatMul, {a, b}, std::move(out)));
}

}  // namespace weft::frontend
