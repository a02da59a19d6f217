#include "frontend/window.h"

#include <algorithm>

#include "base/checked.h"

namespace weft::frontend {
namespace {

// Far above real networks; keeps every product below 2^63.
constexpr std::int64_t window_limit = 1 << 16;
constexpr std::int64_t batch_limit = 32;

/// SAME_UPPER / SAME_LOWER: out = ceil(in / stride), the odd element of padding at the end or at the begin.
void pad_same(WindowAxis& axis, bool upper) {
    axis.out = ceil_divide(axis.in, axis.stride);
    const std::int64_t total = std::max<std::int64_t>(0, (axis.out - 1) * axis.stride + axis.reach() - axis.in);
    axis.pad_begin = upper ? total / 2 : total - total / 2;
    axis.pad_end = total - axis.pad_begin;
}

void count_positions(WindowAxis& axis, bool ceil_mode) {
    const std::int64_t padded = axis.in + axis.pad_begin + axis.pad_end;
    const std::int64_t free = padded - axis.reach();
    if (free < 0 && !(ceil_mode && free > -axis.stride)) {
        bad_input("a window of {} elements does not fit the padded input of {}", axis.reach(), padded);
    }
    axis.out = free < 0 ? 1 : free / axis.stride + 1;
    if (!ceil_mode) return;
    if (free >= 0) axis.out = ceil_divide(free, axis.stride) + 1;
    if ((axis.out - 1) * axis.stride >= axis.in + axis.pad_begin) --axis.out;
    const std::int64_t used = (axis.out - 1) * axis.stride + axis.reach();
    axis.overhang = std::max<std::int64_t>(0, used - padded);
    // The padding that only the dropped window covered goes with it, so that the extent follows from the padding again.
    if (used < padded) axis.pad_end = std::min(axis.pad_end, std::max<std::int64_t>(0, used - axis.in - axis.pad_begin));
}

}  // namespace

Shape spatial_attribute(const NodeContext& context, const char* name, std::size_t axes, std::int64_t standard) {
    Shape values = context.ints_attribute(name);
    if (values.empty()) values.assign(axes, standard);
    if (values.size() != axes) bad_input("attribute '{}' has {} values for {} spatial axes", name, values.size(), axes);
    for (const std::int64_t value : values) {
        if (value < 1) bad_input("attribute '{}' holds {}; it must be positive", name, value);
        if (value > window_limit) unsupported("attribute '{}' holds {}, more than {}", name, value, window_limit);
    }
    return values;
}

Window resolve_window(const NodeContext& context, const Shape& in, Shape kernel) {
    const std::size_t axes = in.size();
    WEFT_CHECK(axes == 1 || axes == 2);
    if (kernel.empty()) {
        if (!context.has_attribute("kernel_shape")) bad_input("attribute 'kernel_shape' is missing");
        kernel = spatial_attribute(context, "kernel_shape", axes, 1);
    } else if (context.has_attribute("kernel_shape") && context.ints_attribute("kernel_shape") != kernel) {
        bad_input("attribute 'kernel_shape' {} differs from the weight's {}",
                  shape_text(context.ints_attribute("kernel_shape")), shape_text(kernel));
    }
    const Shape strides = spatial_attribute(context, "strides", axes, 1);
    const Shape dilations = spatial_attribute(context, "dilations", axes, 1);
    Shape pads = context.ints_attribute("pads");
    if (pads.empty()) pads.assign(2 * axes, 0);
    if (pads.size() != 2 * axes) bad_input("attribute 'pads' has {} values for {} spatial axes", pads.size(), axes);
    const std::string auto_pad = context.text_attribute("auto_pad", "NOTSET");
    const bool ceil_mode = context.int_attribute("ceil_mode", 0) != 0;
    Window window;
    for (std::size_t k = 0; k < axes; ++k) {
        WindowAxis& axis = window[k];
        axis = {.in = in[k], .kernel = kernel[k], .stride = strides[k], .dilation = dilations[k]};
        if (axis.kernel > window_limit && axis.dilation > 1) unsupported("a dilated kernel of {} elements", axis.kernel);
        if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
            pad_same(axis, auto_pad == "SAME_UPPER");
            continue;
        }
        if (auto_pad == "NOTSET" || auto_pad.empty()) {
            axis.pad_begin = pads[k];
            axis.pad_end = pads[axes + k];
        } else if (auto_pad != "VALID") {
            bad_input("attribute 'auto_pad' is '{}'", auto_pad);
        }
        if (axis.pad_begin < 0 || axis.pad_end < 0) unsupported("negative pads {}", shape_text(pads));
        if (axis.pad_begin > window_limit || axis.pad_end > window_limit)
            unsupported("pads {} of more than {}", shape_text(pads), window_limit);
        count_positions(axis, ceil_mode);
    }
    return window;
}

std::vector<StepAttribute> window_attributes(const Window& window) {
    const auto& [h, w] = window;
    return {ints_attribute(AttributeKey::Kernel, Shape{h.kernel, w.kernel}),
            ints_attribute(AttributeKey::Strides, Shape{h.stride, w.stride}),
            ints_attribute(AttributeKey::Pads, Shape{h.pad_begin, w.pad_begin, h.pad_end + h.overhang, w.pad_end + w.overhang}),
            ints_attribute(AttributeKey::Dilations, Shape{h.dilation, w.dilation})};
}

ValueId per_sample_2d(NodeContext& context, ValueId x, const std::function<ValueId(ValueId)>& convert) {
    Builder& builder = context.builder;
    if (builder.is_constant(x)) unsupported("its input '{}' is constant", builder.at(x).name);
    const Shape in = builder.shape(x);
    if (in.size() != 3 && in.size() != 4)
        unsupported("its input has the shape {}; one or two spatial axes are supported", shape_text(in));
    if (in[0] > batch_limit) unsupported("a batch of {}; at most {} is supported (bind the batch to 1)", in[0], batch_limit);
    std::vector<ValueId> samples;
    for (std::int64_t n = 0; n < in[0]; ++n) {
        ValueId sample = builder.remap(x, {{static_cast<std::int32_t>(n)}});
        sample = builder.reshape(sample, {1, in[1], in[2], in.size() == 4 ? in[3] : 1});
        samples.push_back(convert(sample));
    }
    const ValueId joined = builder.concat(std::move(samples), 0);
    if (in.size() == 4) return joined;
    const Shape& out = builder.shape(joined);
    return builder.reshape(joined, {out[0], out[1], out[2]});
}

}  // namespace weft::frontend
