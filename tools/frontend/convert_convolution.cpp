// Conv and ConvTranspose.
#include <algorithm>

#include "base/checked.h"
#include "frontend/converters.h"
#include "frontend/window.h"

namespace weft::frontend {
namespace {

/// Checks weight and bias of a (transposed) convolution and returns the group count.
std::int64_t check_operands(const NodeContext& context, bool transposed) {
    context.require_floating(0);
    const Shape& x = context.shape(0);
    const Shape& w = context.shape(1);
    const auto& weight = context.constant_input(1, "weight");
    if (!is_floating(weight.type)) bad_input("the weight has the type {}", type_name(weight.type));
    if (x.size() < 3) bad_input("the input {} has no spatial axis", shape_text(x));
    if (x.size() > 4) unsupported("{} spatial axes; one or two are supported", x.size() - 2);
    if (w.size() != x.size()) bad_input("the weight {} does not fit the input {}", shape_text(w), shape_text(x));
    const std::int64_t group = context.int_attribute("group", 1);
    const std::int64_t channels = x[1];
    const std::int64_t weight_channels = transposed ? w[0] : checked_multiply(w[1], std::max<std::int64_t>(group, 1));
    if (group < 1 || channels % group != 0 || weight_channels != channels || (!transposed && w[0] % group != 0)) {
        bad_input("the weight {} in {} groups does not fit the input {}", shape_text(w), group, shape_text(x));
    }
    const std::int64_t outputs = transposed ? checked_multiply(w[1], group) : w[0];
    if (context.has_input(2)) {
        const Constant& bias = context.constant_input(2, "bias");
        if (bias.shape != Shape{outputs} || !is_floating(bias.type))
            bad_input("the bias {} does not fit {} output channels", shape_text(bias.shape), outputs);
    }
    return group;
}

Shape two_spatial(Shape shape) {
    if (shape.size() == 3) shape.push_back(1);
    return shape;
}

ValueId convolve(Builder& builder, ValueId x, ValueId weight, ValueId bias, const Window& window, std::int64_t group) {
    auto attributes = window_attributes(window);
    attributes.push_back(ints_attribute(AttributeKey::Group, std::span(&group, 1)));
    std::vector<ValueId> inputs = {x, weight};
    if (!bias.is_none()) inputs.push_back(bias);
    return builder.step(OperatorKind::Conv, std::move(inputs), {1, builder.shape(weight)[3], window[0].out, window[1].out},
                        std::move(attributes));
}

/// Transposed convolution's axis: zeros between the inputs, then a plain convolution of stride one.
struct TransposedAxis {
    std::vector<std::int32_t> map;  // with padding, cropping and output padding
    WindowAxis window;
};

TransposedAxis transposed_axis(const Builder& builder, const WindowAxis& axis, std::int64_t pad_begin, std::int64_t out) {
    TransposedAxis result;
    // Output o sums x[i] w[k] over i * stride + k * dilation = o + pad_begin: a correlation with the mirrored kernel over the
    // spread input, whose first position lies reach - 1 - pad_begin zeros before x[0].
    const std::int64_t first = axis.reach() - 1 - pad_begin;
    const std::int64_t length = out + axis.reach() - 1;
    builder.check_axis(length);
    for (std::int64_t at = -first; at < length - first; ++at) {
        const bool hit = at >= 0 && at % axis.stride == 0 && at / axis.stride < axis.in;
        result.map.push_back(hit ? static_cast<std::int32_t>(at / axis.stride) : -1);
    }
    result.window = {.in = length, .kernel = axis.kernel, .stride = 1, .dilation = axis.dilation, .out = out};
    return result;
}

/// [C, M/g, KH, KW] as the weight of the plain convolution, [KH, KW, C/g, M], mirrored.
Constant mirrored_weight(const Constant& weight, std::int64_t group) {
    const Shape in = two_spatial(weight.shape);
    const std::int64_t outputs = in[1];
    const std::int64_t inputs = in[0] / group;
    const auto source = as_f64(weight);
    std::vector<float> out(source.size());
    std::size_t at = 0;
    for (std::int64_t kh = in[2]; kh-- > 0;) {
        for (std::int64_t kw = in[3]; kw-- > 0;) {
            for (std::int64_t c = 0; c < inputs; ++c) {
                for (std::int64_t m = 0; m < group * outputs; ++m) {
                    const std::int64_t channel = m / outputs * inputs + c;
                    out[at++] = static_cast<float>(
                        source[static_cast<std::size_t>(((channel * outputs + m % outputs) * in[2] + kh) * in[3] + kw)]);
                }
            }
        }
    }
    return make_f32({in[2], in[3], inputs, group * outputs}, std::move(out));
}

/// Output sizes and begin pads of a transposed convolution, after ONNX's rules.
struct TransposedGeometry {
    Shape out;
    Shape pad_begin;
};

TransposedGeometry transposed_geometry(const NodeContext& context, const Window& window, std::size_t axes) {
    const std::string auto_pad = context.text_attribute("auto_pad", "NOTSET");
    Shape pads = context.ints_attribute("pads");
    Shape padding = context.ints_attribute("output_padding");
    const Shape wanted = context.ints_attribute("output_shape");
    if (pads.empty()) pads.assign(2 * axes, 0);
    if (padding.empty()) padding.assign(axes, 0);
    if (pads.size() != 2 * axes || padding.size() != axes) bad_input("pads or output_padding do not fit {} spatial axes", axes);
    // Some writers give the whole shape.
    if (!wanted.empty() && wanted.size() != axes && wanted.size() != axes + 2)
        bad_input("output_shape {} does not fit {} spatial axes", shape_text(wanted), axes);
    TransposedGeometry result{Shape(2, 1), Shape(2, 0)};
    for (std::size_t k = 0; k < axes; ++k) {
        const WindowAxis& axis = window[k];
        if (padding[k] < 0 || padding[k] > 1 << 16) bad_input("output_padding {}", padding[k]);
        const auto far = [](std::int64_t pad) { return pad > 1 << 16 || pad < -(1 << 16); };
        if (far(pads[k]) || far(pads[axes + k])) unsupported("pads {}", shape_text(pads));
        const std::int64_t full = (axis.in - 1) * axis.stride + padding[k] + axis.reach();
        const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
        if (!wanted.empty() || same) {
            result.out[k] = wanted.empty() ? axis.in * axis.stride : wanted[wanted.size() - axes + k];
            if (result.out[k] < 1) bad_input("output_shape {}", shape_text(wanted));
            context.builder.check_axis(result.out[k]);
            const std::int64_t total = std::max<std::int64_t>(0, full - result.out[k]);
            result.pad_begin[k] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        } else {
            if (auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty())
                bad_input("attribute 'auto_pad' is '{}'", auto_pad);
            const bool valid = auto_pad == "VALID";
            result.pad_begin[k] = valid ? 0 : pads[k];
            result.out[k] = full - (valid ? 0 : pads[k] + pads[axes + k]);
            if (result.out[k] < 1) bad_input("pads {} leave no output", shape_text(pads));
        }
    }
    return result;
}

}  // namespace

void convert_conv(NodeContext& context) {
    const std::int64_t group = check_operands(context, false);
    Builder& builder = context.builder;
    const Shape x = context.shape(0);
    const Shape w = context.shape(1);
    const Window window = resolve_window(context, Shape(x.begin() + 2, x.end()), Shape(w.begin() + 2, w.end()));
    ValueId weight = context.value(1);
    if (w.size() == 3) weight = builder.reshape(weight, two_spatial(w));
    weight = builder.permuted_weight(weight, {2, 3, 1, 0});
    const ValueId bias = context.has_input(2) ? context.value(2) : ValueId::none();
    context.set_output(per_sample_2d(context, context.value(0),
                                     [&](ValueId sample) { return convolve(builder, sample, weight, bias, window, group); }));
}

void convert_conv_transpose(NodeContext& context) {
    const std::int64_t group = check_operands(context, true);
    Builder& builder = context.builder;
    const Shape x = context.shape(0);
    const Shape w = context.shape(1);
    const std::size_t axes = x.size() - 2;
    const Shape kernel(w.begin() + 2, w.end());
    if (context.has_attribute("kernel_shape") && context.ints_attribute("kernel_shape") != kernel)
        bad_input("attribute 'kernel_shape' differs from the weight's {}", shape_text(kernel));
    const Shape strides = spatial_attribute(context, "strides", axes, 1);
    const Shape dilations = spatial_attribute(context, "dilations", axes, 1);
    Window window;
    for (std::size_t k = 0; k < axes; ++k)
        window[k] = {.in = x[2 + k], .kernel = kernel[k], .stride = strides[k], .dilation = dilations[k]};
    const TransposedGeometry geometry = transposed_geometry(context, window, axes);
    std::vector<std::vector<std::int32_t>> maps(4);
    for (std::size_t k = 0; k < axes; ++k) {
        TransposedAxis axis = transposed_axis(builder, window[k], geometry.pad_begin[k], geometry.out[k]);
        maps[2 + k] = std::move(axis.map);
        window[k] = axis.window;
    }
    builder.charge(w, type_float);
    const ValueId weight =
        builder.constant(mirrored_weight(context.constant_input(1, "weight"), group), builder.at(context.value(1)).name);
    const ValueId bias = context.has_input(2) ? context.value(2) : ValueId::none();
    context.set_output(per_sample_2d(context, context.value(0), [&](ValueId sample) {
        return convolve(builder, builder.remap(sample, maps), weight, bias, window, group);
    }));
}

}  // namespace weft::frontend
