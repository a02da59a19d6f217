// Operators that copy elements by position along the axes: Slice, Split, Pad, Gather, Expand, Tile.
#include <algorithm>

#include "base/checked.h"
#include "frontend/converters.h"

namespace weft::frontend {
namespace {

using Maps = std::vector<std::vector<std::int32_t>>;

constexpr std::int64_t pad_limit = 1 << 26;

std::vector<std::int32_t> counted(const Builder& builder, std::int64_t first, std::int64_t step, std::int64_t count) {
    builder.check_axis(count);
    std::vector<std::int32_t> map;
    map.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) map.push_back(static_cast<std::int32_t>(first + i * step));
    return map;
}

/// remap() takes an empty map for "whole", so a selection of nothing is handled here: only constants may have no elements.
ValueId empty_selection(NodeContext& context, Shape shape) {
    const ValueId x = context.value(0);
    if (!context.builder.is_constant(x)) unsupported("its output has the shape {}, without elements", shape_text(shape));
    Constant nothing = context.builder.at(x).constant;
    nothing.bytes = {};
    nothing.splat = false;
    nothing.shape = std::move(shape);
    return context.builder.constant(std::move(nothing));
}

struct SliceArguments {
    std::vector<std::int64_t> starts, ends, axes, steps;
};

SliceArguments slice_arguments(const NodeContext& context) {
    const auto list = [&](std::size_t index, const char* name) {
        return context.opset() >= 10 ? context.ints_input_or_attribute(index, name)
                                     : std::optional(context.ints_attribute(name));
    };
    SliceArguments result;
    result.starts = list(1, "starts").value_or(Shape{});
    result.ends = list(2, "ends").value_or(Shape{});
    result.axes = list(3, "axes").value_or(Shape{});
    result.steps = context.opset() >= 10 ? context.ints_input_or_attribute(4, "steps").value_or(Shape{}) : Shape{};
    if (result.axes.empty()) {
        for (std::size_t k = 0; k < result.starts.size(); ++k) result.axes.push_back(static_cast<std::int64_t>(k));
    }
    if (result.steps.empty()) result.steps.assign(result.starts.size(), 1);
    const std::size_t count = result.starts.size();
    if (result.ends.size() != count || result.axes.size() != count || result.steps.size() != count) {
        bad_input("starts, ends, axes and steps have different lengths");
    }
    return result;
}

}  // namespace

void convert_slice(NodeContext& context) {
    const Shape in = context.shape(0);
    const SliceArguments arguments = slice_arguments(context);
    Maps maps(in.size());
    Shape out = in;
    std::vector<bool> seen(in.size(), false);
    for (std::size_t i = 0; i < arguments.starts.size(); ++i) {
        const std::size_t axis = context.axis(arguments.axes[i], in.size());
        if (seen[axis]) bad_input("axis {} is sliced twice", axis);
        seen[axis] = true;
        const std::int64_t dim = in[axis];
        const std::int64_t step = std::clamp<std::int64_t>(arguments.steps[i], -(std::int64_t{1} << 32), std::int64_t{1} << 32);
        if (step == 0) bad_input("a step is zero");
        const auto counted_from_end = [&](std::int64_t at) { return at < 0 ? at + dim : at; };
        // Going down, positions run from dim - 1 to -1 (exclusive end before the first element).
        const std::int64_t low = step > 0 ? 0 : -1;
        const std::int64_t high = step > 0 ? dim : dim - 1;
        const std::int64_t start = std::clamp(counted_from_end(arguments.starts[i]), std::max<std::int64_t>(low, 0), high);
        const std::int64_t end = std::clamp(counted_from_end(arguments.ends[i]), low, high + (step > 0 ? 0 : 1));
        const std::int64_t distance = step > 0 ? end - start : start - end;
        const std::int64_t count = dim == 0 || distance <= 0 ? 0 : ceil_divide(distance, step > 0 ? step : -step);
        out[axis] = count;
        if (count > 0) maps[axis] = counted(context.builder, start, step, count);
    }
    if (elem_count(out) == 0) return context.set_output(empty_selection(context, std::move(out)));
    context.set_output(context.builder.remap(context.value(0), std::move(maps)));
}

void convert_split(NodeContext& context) {
    const Shape in = context.shape(0);
    const std::size_t axis = context.axis(context.int_attribute("axis", 0), in.size());
    const auto parts = static_cast<std::int64_t>(context.output_count());
    auto sizes = context.ints_input_or_attribute(1, "split").value_or(Shape{});
    if (sizes.empty()) {
        const std::int64_t named = context.int_attribute("num_outputs", parts);
        if (named != parts) bad_input("attribute 'num_outputs' is {}, but it has {} outputs", named, parts);
        if (in[axis] % parts != 0 && !context.has_attribute("num_outputs"))
            bad_input("axis {} of {} does not split into {} equal parts", axis, shape_text(in), parts);
        const std::int64_t each = ceil_divide(in[axis], parts);
        for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<std::int64_t>(in[axis] - i * each, 0, each));
    }
    if (static_cast<std::int64_t>(sizes.size()) != parts) bad_input("{} sizes for {} outputs", sizes.size(), parts);
    std::int64_t total = 0;
    for (const std::int64_t size : sizes) {
        if (size < 0 || size > in[axis]) bad_input("a part of size {} of {}", size, in[axis]);
        total += size;
    }
    if (total != in[axis]) bad_input("parts of sizes {} do not fill axis {} of {}", shape_text(sizes), axis, shape_text(in));
    std::int64_t first = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (context.wants_output(i)) {
            Maps maps(in.size());
            Shape out = in;
            out[axis] = sizes[i];
            maps[axis] = counted(context.builder, first, 1, sizes[i]);
            const ValueId part =
                elem_count(out) == 0 ? empty_selection(context, out) : context.builder.remap(context.value(0), std::move(maps));
            context.set_output(i, part, context.input(0).type);
        }
        first += sizes[i];
    }
}

namespace {

/// The source position of padded position `at` (before the begin padding where negative), or -1 for the fill value.
std::int64_t padded_source(const std::string& mode, std::int64_t at, std::int64_t dim) {
    if (at >= 0 && at < dim) return at;
    if (mode == "edge") return at < 0 ? 0 : dim - 1;
    if (mode == "wrap") return (at % dim + dim) % dim;
    if (mode != "reflect") return -1;
    if (dim == 1) return 0;
    const std::int64_t period = 2 * (dim - 1);
    const std::int64_t phase = (at % period + period) % period;
    return phase < dim ? phase : period - phase;
}

double pad_value(const NodeContext& context) {
    if (context.opset() < 11) return static_cast<double>(context.float_attribute("value", 0));
    if (!context.has_input(2)) return 0;
    const Constant& value = context.constant_input(2, "constant_value");
    if (elem_count(value.shape) != 1) bad_input("constant_value has the shape {}", shape_text(value.shape));
    double result = 0;
    if (is_floating(value.type))
        result = as_f64(value)[0];
    else
        result = static_cast<double>(as_i64(value)[0]);
    return result;
}

}  // namespace

void convert_pad(NodeContext& context) {
    const Shape in = context.shape(0);
    const auto listed =
        context.opset() >= 11 ? context.ints_input_or_attribute(1, "pads") : std::optional(context.ints_attribute("pads"));
    const std::string mode = context.text_attribute("mode", "constant");
    if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
        bad_input("attribute 'mode' is '{}'", mode);
    std::vector<std::int64_t> axes;
    for (std::size_t k = 0; k < in.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
    if (context.has_input(3)) axes = *context.ints_input_or_attribute(3, "axes");
    if (!listed || listed->size() != 2 * axes.size())
        bad_input("pads {} for {} axes", shape_text(listed.value_or(Shape{})), axes.size());
    Maps maps(in.size());
    std::vector<bool> seen(in.size(), false);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::size_t axis = context.axis(axes[i], in.size());
        if (seen[axis]) bad_input("axis {} is padded twice", axis);
        seen[axis] = true;
        const std::int64_t begin = (*listed)[i];
        const std::int64_t end = (*listed)[axes.size() + i];
        if (begin > pad_limit || begin < -pad_limit || end > pad_limit || end < -pad_limit)
            unsupported("pads {}", shape_text(*listed));
        const std::int64_t length = in[axis] + begin + end;
        if (length <= 0) unsupported("pads {} leave nothing of {}", shape_text(*listed), shape_text(in));
        context.builder.check_axis(length);
        for (std::int64_t at = -begin; at < length - begin; ++at)
            maps[axis].push_back(static_cast<std::int32_t>(padded_source(mode, at, in[axis])));
    }
    context.set_output(context.builder.remap(context.value(0), std::move(maps), pad_value(context)));
}

void convert_gather(NodeContext& context) {
    const Shape in = context.shape(0);
    const Constant& indices = context.constant_input(1, "indices");
    const std::size_t axis = context.axis(context.int_attribute("axis", 0), in.size());
    context.builder.check_axis(elem_count(indices.shape));
    Maps maps(in.size());
    for (const std::int64_t index : as_i64(indices)) {
        const std::int64_t at = index < 0 ? index + in[axis] : index;
        if (at < 0 || at >= in[axis]) bad_input("index {} is outside axis {} of {}", index, axis, shape_text(in));
        maps[axis].push_back(static_cast<std::int32_t>(at));
    }
    Shape out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(axis));
    out.insert(out.end(), indices.shape.begin(), indices.shape.end());
    out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(axis) + 1, in.end());
    if (elem_count(out) == 0) return context.set_output(empty_selection(context, std::move(out)));
    const ValueId picked = context.builder.remap(context.value(0), std::move(maps));
    context.set_output(context.builder.reshape(picked, std::move(out)));
}

namespace {

/// `x` repeated to `out`, which has at least its rank; axes of size one are copied.
ValueId expanded(Builder& builder, ValueId x, const Shape& out) {
    Shape in = builder.shape(x);
    in.insert(in.begin(), out.size() - in.size(), 1);
    const ValueId aligned = builder.reshape(x, in);
    Maps maps(out.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
        if (in[k] != out[k]) maps[k] = counted(builder, 0, 0, out[k]);
    }
    return builder.remap(aligned, std::move(maps));
}

}  // namespace

void convert_expand(NodeContext& context) {
    const auto wanted = context.ints_input_or_attribute(1, "shape");
    if (!wanted) bad_input("input 'shape' is missing");
    context.builder.check_shape(*wanted, true);
    const Shape out = broadcast(context.shape(0), *wanted);
    if (elem_count(out) == 0) return context.set_output(empty_selection(context, out));
    context.set_output(expanded(context.builder, context.value(0), out));
}

void convert_tile(NodeContext& context) {
    const Shape in = context.shape(0);
    const auto repeats = context.ints_input_or_attribute(1, "repeats");
    if (!repeats || repeats->size() != in.size()) bad_input("repeats do not fit a tensor of {} dimensions", in.size());
    Maps maps(in.size());
    for (std::size_t k = 0; k < in.size(); ++k) {
        if ((*repeats)[k] < 1) unsupported("repeats {}", shape_text(*repeats));
        if ((*repeats)[k] == 1) continue;
        const std::int64_t length = checked_multiply(in[k], (*repeats)[k]);
        context.builder.check_axis(length);
        for (std::int64_t i = 0; i < length; ++i) maps[k].push_back(static_cast<std::int32_t>(i % in[k]));
    }
    context.set_output(context.builder.remap(context.value(0), std::move(maps)));
}

}  // namespace weft::frontend
