// Pooling.
#include "base/checked.h"
#include "frontend/converters.h"
#include "frontend/window.h"

namespace weft::frontend {
namespace {

/// A window that lies wholly in the padding has no maximum and no average.
void require_elements(const WindowAxis& axis) {
    for (std::int64_t o = 0; o < axis.out; ++o) {
        const std::int64_t start = o * axis.stride - axis.pad_begin;
        if (start >= 0) {
            const std::int64_t last = (axis.out - 1) * axis.stride - axis.pad_begin;
            if (last >= axis.in) unsupported("its last window lies wholly in the padding");
            return;
        }
        const std::int64_t tap = ceil_divide(-start, axis.dilation);
        if (tap >= axis.kernel || start + tap * axis.dilation >= axis.in)
            unsupported("its first window lies wholly in the padding");
    }
}

Shape spatial_shape(const NodeContext& context) {
    const Shape& x = context.shape(0);
    if (x.size() < 3) bad_input("the input {} has no spatial axis", shape_text(x));
    if (x.size() > 4) unsupported("{} spatial axes; one or two are supported", x.size() - 2);
    return {x.begin() + 2, x.end()};
}

ValueId pool(Builder& builder, OperatorKind kind, ValueId x, const Window& window, bool count_padding) {
    auto attributes = window_attributes(window);
    const std::int64_t count = count_padding ? 1 : 0;
    if (kind == OperatorKind::AveragePool)
        attributes.push_back(ints_attribute(AttributeKey::CountIncludePad, std::span(&count, 1)));
    return builder.step(kind, {x}, {1, builder.shape(x)[1], window[0].out, window[1].out}, std::move(attributes));
}

/// The padding of the model as zeros that are there, which leaves only the overhang of ceil_mode as padding.
ValueId padded(Builder& builder, ValueId x, Window& window) {
    std::vector<std::vector<std::int32_t>> maps(4);
    for (std::size_t k = 0; k < 2; ++k) {
        WindowAxis& axis = window[k];
        const std::int64_t length = axis.in + axis.pad_begin + axis.pad_end;
        builder.check_axis(length);
        for (std::int64_t at = 0; at < length; ++at) {
            const std::int64_t source = at - axis.pad_begin;
            maps[2 + k].push_back(source >= 0 && source < axis.in ? static_cast<std::int32_t>(source) : -1);
        }
        axis.in = length;
        axis.pad_begin = 0;
        axis.pad_end = 0;
    }
    return builder.remap(x, std::move(maps));
}

}  // namespace

void convert_max_pool(NodeContext& context) {
    context.require_floating(0);
    if (context.wants_output(1)) unsupported("its indices are asked for");
    const Window window = resolve_window(context, spatial_shape(context), {});
    for (const WindowAxis& axis : window) require_elements(axis);
    context.set_output(per_sample_2d(context, context.value(0), [&](ValueId sample) {
        return pool(context.builder, OperatorKind::MaxPool, sample, window, false);
    }));
}

void convert_average_pool(NodeContext& context) {
    context.require_floating(0);
    const Window window = resolve_window(context, spatial_shape(context), {});
    const bool count_padding = context.int_attribute("count_include_pad", 0) != 0;
    const bool overhangs = window[0].overhang > 0 || window[1].overhang > 0;
    if (!count_padding) {
        for (const WindowAxis& axis : window) require_elements(axis);
    }
    context.set_output(per_sample_2d(context, context.value(0), [&](ValueId sample) {
        Window own = window;
        // Padding counts in the divisor, what ceil_mode adds beyond it does not.
        const ValueId x = count_padding && overhangs ? padded(context.builder, sample, own) : sample;
        return pool(context.builder, OperatorKind::AveragePool, x, own, count_padding && !overhangs);
    }));
}

void convert_global_pool(NodeContext& context) {
    context.require_floating(0);
    const Shape in = context.shape(0);
    if (in.size() < 3) bad_input("the input {} has no spatial axis", shape_text(in));
    Builder& builder = context.builder;
    const OperatorKind kind = context.operator_name() == "GlobalMaxPool" ? OperatorKind::MaxPool : OperatorKind::AveragePool;
    const std::int64_t positions = elem_count(Shape(in.begin() + 2, in.end()));
    const ValueId plane = in.size() == 4 ? context.value(0) : builder.reshape(context.value(0), {in[0], in[1], positions, 1});
    const ValueId pooled = per_sample_2d(context, plane, [&](ValueId sample) {
        const Shape& shape = builder.shape(sample);
        const Window window = {WindowAxis{.in = shape[2], .kernel = shape[2]}, WindowAxis{.in = shape[3], .kernel = shape[3]}};
        return pool(builder, kind, sample, window, false);
    });
    Shape out(in.size(), 1);
    out[0] = in[0];
    out[1] = in[1];
    context.set_output(builder.reshape(pooled, std::move(out)));
}

}  // namespace weft::frontend
