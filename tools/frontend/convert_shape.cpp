// Constants, shape arithmetic, and operators that only rename elements: Reshape, Transpose and their relatives.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "frontend/arithmetic.h"
#include "frontend/converters.h"

namespace weft::frontend {
namespace {

/// Axes as a sorted list in [0, rank); bad input where two are equal.
std::vector<std::size_t> distinct_axes(const NodeContext& context, const std::vector<std::int64_t>& axes, std::size_t rank) {
    std::vector<std::size_t> result;
    for (const std::int64_t axis : axes) result.push_back(context.axis(axis, rank));
    std::sort(result.begin(), result.end());
    if (std::adjacent_find(result.begin(), result.end()) != result.end())
        bad_input("an axis is named twice in {}", shape_text(axes));
    return result;
}

void set_constant(NodeContext& context, Constant constant) {
    const std::int32_t type = constant.type;
    context.set_output(0, context.builder.constant(std::move(constant)), type);
}

}  // namespace

void convert_constant(NodeContext& context) {
    if (auto tensor = context.tensor_attribute("value")) return set_constant(context, std::move(*tensor));
    if (context.has_attribute("value_float"))
        return set_constant(context, make_f32({}, {context.float_attribute("value_float", 0)}));
    if (context.has_attribute("value_int")) return set_constant(context, make_i64({}, {context.int_attribute("value_int", 0)}));
    if (context.has_attribute("value_floats")) {
        auto values = context.floats_attribute("value_floats");
        const Shape shape = {static_cast<std::int64_t>(values.size())};  // before the move: arguments have no order
        return set_constant(context, make_f32(shape, std::move(values)));
    }
    if (context.has_attribute("value_ints")) {
        auto values = context.ints_attribute("value_ints");
        return set_constant(context, make_i64({static_cast<std::int64_t>(values.size())}, std::move(values)));
    }
    unsupported("a constant that is neither a dense tensor nor a number (text, sparse)");
}

void convert_constant_of_shape(NodeContext& context) {
    const Constant& dims = context.constant_input(0, "shape");
    if (dims.shape.size() != 1 || elem_count(dims.shape) > 64)
        bad_input("the shape input has shape {}", shape_text(dims.shape));
    const Shape shape = as_i64(dims);
    context.builder.check_shape(shape, true);
    Constant element = context.tensor_attribute("value").value_or(make_f32({1}, {0.0F}));
    if (elem_count(element.shape) != 1) bad_input("attribute 'value' must hold one element");
    set_constant(context, make_splat(element, shape));
}

void convert_shape(NodeContext& context) {
    const Shape shape = context.shape(0);
    const auto rank = static_cast<std::int64_t>(shape.size());
    const auto bound = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const std::int64_t start = bound(context.int_attribute("start", 0));
    const std::int64_t end = std::max(start, bound(context.int_attribute("end", rank)));
    std::vector<std::int64_t> part(shape.begin() + start, shape.begin() + end);
    set_constant(context, make_i64({end - start}, std::move(part)));
}

void convert_size(NodeContext& context) { set_constant(context, make_i64({}, {elem_count(context.shape(0))})); }

void convert_range(NodeContext& context) {
    const Constant& start = context.constant_input(0, "start");
    const Constant& limit = context.constant_input(1, "limit");
    const Constant& delta = context.constant_input(2, "delta");
    if (start.type != limit.type || start.type != delta.type) bad_input("operands of different types");
    for (const auto* scalar : {&start, &limit, &delta}) {
        if (elem_count(scalar->shape) != 1) bad_input("an operand is not a scalar");
    }
    const double first = as_f64(start)[0];
    const double step = as_f64(delta)[0];
    if (step == 0) bad_input("delta is zero");
    const double steps = std::ceil((as_f64(limit)[0] - first) / step);
    if (!(steps < 0x1p31)) unsupported("a range of {} elements", steps);
    const auto count = static_cast<std::int64_t>(std::max(0.0, steps));
    context.builder.charge({count}, start.type);
    if (is_floating(start.type)) {
        std::vector<double> values(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i) * step;
        return set_constant(context, from_f64(start.type, {count}, values));
    }
    const std::int64_t whole_first = as_i64(start)[0];
    const std::int64_t whole_step = as_i64(delta)[0];
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
        // Unsigned, because an extreme model may wrap.
        values[i] =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(whole_first) + i * static_cast<std::uint64_t>(whole_step));
    }
    set_constant(context, from_i64(start.type, {count}, values));
}

void convert_identity(NodeContext& context) { context.set_output(context.value(0)); }

void convert_dropout(NodeContext& context) {
    if (context.wants_output(1)) unsupported("its mask output is named; only inference is supported");
    if (context.has_input(2)) {
        const Constant& training = context.constant_input(2, "training_mode");
        if (elem_count(training.shape) != 1) bad_input("training_mode is not a scalar");
        if (as_i64(training)[0] != 0) unsupported("training_mode is true; only inference is supported");
    }
    context.set_output(context.value(0));
}

void convert_cast(NodeContext& context) {
    const std::int32_t from = context.input(0).type;
    std::int32_t to = 0;
    if (context.operator_name() == "CastLike") {
        to = context.input(1).type;
    } else {
        if (!context.has_attribute("to")) bad_input("attribute 'to' is missing");
        to = static_cast<std::int32_t>(std::clamp<std::int64_t>(context.int_attribute("to", 0), 0, 1000));
    }
    Builder& builder = context.builder;
    const ValueId x = context.value(0);
    if (element_size(to) == 0 || element_size(from) == 0) unsupported("a cast from {} to {}", type_name(from), type_name(to));
    if (builder.is_constant(x)) {
        const Constant& constant = builder.at(x).constant;
        if (from == to || (is_floating(from) && is_floating(to) && to == type_bfloat16)) return context.set_output(0, x, to);
        if (!constant.splat) builder.charge(constant.shape, to);
        return set_constant(context, compute_cast(constant, to));
    }
    // Values are f32 throughout: a cast matters only where a number becomes a whole number or a truth value.
    const bool keeps_values =
        is_floating(to) || (!is_floating(from) && element_size(to) >= element_size(from) && to != type_bool);
    if (keeps_values) return context.set_output(0, x, to);
    const std::int64_t target = to;
    context.set_output(
        0, builder.step(OperatorKind::Cast, {x}, context.shape(0), {ints_attribute(AttributeKey::To, std::span(&target, 1))}),
        to);
}

void convert_reshape(NodeContext& context) {
    const Shape in = context.shape(0);
    const auto wanted = context.ints_input_or_attribute(1, "shape");
    if (!wanted) bad_input("input 'shape' is missing");
    const bool zero_copies = context.int_attribute("allowzero", 0) == 0;
    Shape out = *wanted;
    std::int64_t known = 1;
    std::size_t free_axis = out.size();
    for (std::size_t k = 0; k < out.size(); ++k) {
        if (out[k] == 0 && zero_copies) {
            if (k >= in.size())
                bad_input("dimension {} of the new shape {} copies one that the input {} lacks", k, shape_text(*wanted),
                          shape_text(in));
            out[k] = in[k];
        }
        if (out[k] == -1) {
            if (free_axis != out.size()) bad_input("the new shape {} has two free dimensions", shape_text(*wanted));
            free_axis = k;
            continue;
        }
        if (out[k] < 0) bad_input("the new shape {} has a negative dimension", shape_text(*wanted));
        known = checked_multiply(known, out[k]);
    }
    const std::int64_t count = elem_count(in);
    if (free_axis != out.size()) {
        if (known == 0 || count % known != 0)
            bad_input("{} elements of {} cannot take the new shape {}", count, shape_text(in), shape_text(*wanted));
        out[free_axis] = count / known;
    }
    if (elem_count(out) != count)
        bad_input("{} elements of {} cannot take the new shape {}", count, shape_text(in), shape_text(*wanted));
    context.set_output(context.builder.reshape(context.value(0), std::move(out)));
}

void convert_flatten(NodeContext& context) {
    const Shape& in = context.shape(0);
    const std::size_t axis = context.axis(context.int_attribute("axis", 1), in.size(), true);
    const std::int64_t rows = elem_count(Shape(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(axis)));
    const std::int64_t columns = elem_count(Shape(in.begin() + static_cast<std::ptrdiff_t>(axis), in.end()));
    context.set_output(context.builder.reshape(context.value(0), {rows, columns}));
}

void convert_squeeze(NodeContext& context) {
    const Shape& in = context.shape(0);
    const auto listed = context.ints_input_or_attribute(1, "axes");
    std::vector<bool> drop(in.size(), false);
    if (listed) {
        for (const std::size_t axis : distinct_axes(context, *listed, in.size())) {
            if (in[axis] != 1) bad_input("axis {} of {} is squeezed but not 1", axis, shape_text(in));
            drop[axis] = true;
        }
    } else {
        for (std::size_t k = 0; k < in.size(); ++k) drop[k] = in[k] == 1;
    }
    Shape out;
    for (std::size_t k = 0; k < in.size(); ++k) {
        if (!drop[k]) out.push_back(in[k]);
    }
    context.set_output(context.builder.reshape(context.value(0), std::move(out)));
}

void convert_unsqueeze(NodeContext& context) {
    const Shape& in = context.shape(0);
    const auto listed = context.ints_input_or_attribute(1, "axes");
    if (!listed) bad_input("axes are missing");
    const std::size_t rank = in.size() + listed->size();
    const auto axes = distinct_axes(context, *listed, rank);
    Shape out;
    std::size_t next = 0;
    for (std::size_t k = 0; k < rank; ++k) {
        const bool inserted = std::binary_search(axes.begin(), axes.end(), k);
        out.push_back(inserted ? 1 : in[next++]);
    }
    context.set_output(context.builder.reshape(context.value(0), std::move(out)));
}

void convert_transpose(NodeContext& context) {
    const std::size_t rank = context.shape(0).size();
    auto perm = context.ints_attribute("perm");
    if (!context.has_attribute("perm")) {
        perm.resize(rank);
        std::iota(perm.rbegin(), perm.rend(), 0);
    }
    if (perm.size() != rank) bad_input("attribute 'perm' {} does not fit a tensor of {} dimensions", shape_text(perm), rank);
    auto sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t k = 0; k < rank; ++k) {
        if (sorted[k] != static_cast<std::int64_t>(k)) bad_input("attribute 'perm' {} is no permutation", shape_text(perm));
    }
    context.set_output(context.builder.transpose(context.value(0), std::move(perm)));
}

void convert_concat(NodeContext& context) {
    if (context.input_count() == 0) bad_input("it has no inputs");
    if (!context.has_attribute("axis") && context.opset() >= 4) bad_input("attribute 'axis' is missing");
    const std::size_t axis = context.axis(context.int_attribute("axis", 1), context.shape(0).size());
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < context.input_count(); ++i) {
        const Shape& first = context.shape(0);
        const Shape& shape = context.shape(i);
        bool fits = shape.size() == first.size() && context.input(i).type == context.input(0).type;
        for (std::size_t k = 0; fits && k < shape.size(); ++k) fits = k == axis || shape[k] == first[k];
        if (!fits)
            bad_input("input {} ({} {}) does not fit input 0 ({} {})", i, type_name(context.input(i).type), shape_text(shape),
                      type_name(context.input(0).type), shape_text(first));
        // Parts without elements only occur in shape arithmetic.
        if (elem_count(shape) > 0 || context.builder.is_constant(context.value(0))) parts.push_back(context.value(i));
    }
    if (parts.empty()) parts.push_back(context.value(0));
    context.set_output(context.builder.concat(std::move(parts), axis));
}

void convert_depth_to_space(NodeContext& context) {
    const Shape in = context.shape(0);
    const std::int64_t block = context.int_attribute("blocksize", 0);
    if (in.size() != 4 || block < 1 || block > 1 << 15 || in[1] % (block * block) != 0) {
        bad_input("blocksize {} does not fit the input {}", block, shape_text(in));
    }
    const std::string mode = context.text_attribute("mode", "DCR");
    const std::int64_t depth = in[1] / (block * block);
    Builder& builder = context.builder;
    const bool columns_first = mode == "CRD";
    if (!columns_first && mode != "DCR") bad_input("attribute 'mode' is '{}'", mode);
    ValueId x = builder.reshape(context.value(0), columns_first ? Shape{in[0], depth, block, block, in[2], in[3]}
                                                                : Shape{in[0], block, block, depth, in[2], in[3]});
    x = builder.transpose(
        x, columns_first ? std::vector<std::int64_t>{0, 1, 4, 2, 5, 3} : std::vector<std::int64_t>{0, 3, 4, 1, 5, 2});
    context.set_output(builder.reshape(x, {in[0], depth, in[2] * block, in[3] * block}));
}

void convert_space_to_depth(NodeContext& context) {
    const Shape in = context.shape(0);
    const std::int64_t block = context.int_attribute("blocksize", 0);
    if (in.size() != 4 || block < 1 || in[2] % block != 0 || in[3] % block != 0)
        bad_input("blocksize {} does not fit the input {}", block, shape_text(in));
    Builder& builder = context.builder;
    ValueId x = builder.reshape(context.value(0), {in[0], in[1], in[2] / block, block, in[3] / block, block});
    x = builder.transpose(x, {0, 3, 5, 1, 2, 4});
    context.set_output(
        builder.reshape(x, {in[0], checked_multiply(in[1], checked_multiply(block, block)), in[2] / block, in[3] / block}));
}

}  // namespace weft::frontend
