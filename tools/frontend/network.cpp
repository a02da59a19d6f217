#include "frontend/network.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "frontend/arithmetic.h"

namespace weft::frontend {
namespace {

bool is_identity(std::span<const std::int64_t> perm) {
    for (std::size_t k = 0; k < perm.size(); ++k) {
        if (perm[k] != static_cast<std::int64_t>(k)) return false;
    }
    return true;
}

/// Whether a map takes its axis whole and in order.
bool takes_whole(std::span<const std::int32_t> map, std::int64_t dim) {
    if (static_cast<std::int64_t>(map.size()) != dim) return false;
    for (std::size_t i = 0; i < map.size(); ++i) {
        if (map[i] != static_cast<std::int32_t>(i)) return false;
    }
    return true;
}

constexpr std::size_t rank_limit = 32;
constexpr std::size_t map_axis_limit = 8;
constexpr std::int64_t map_length_limit = 1 << 26;

}  // namespace

void Builder::begin_node(std::string node_name, std::string output_name) {
    node_name_ = std::move(node_name);
    output_name_ = std::move(output_name);
    made_ = 0;
}

void Builder::check_shape(const Shape& shape, bool zero_allowed) const {
    if (shape.size() > rank_limit) unsupported("a tensor of {} dimensions; at most {} are supported", shape.size(), rank_limit);
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) {
        if (dim < 0) bad_input("the shape {} has a negative dimension", shape_text(shape));
        if (dim == 0 && !zero_allowed) unsupported("a tensor of shape {} has no elements", shape_text(shape));
        if (__builtin_mul_overflow(count, dim, &count) || count > options_.max_elems || dim > 0x7fffffff) {
            unsupported("a tensor of shape {} is larger than the limit of {} elements", shape_text(shape), options_.max_elems);
        }
    }
}

void Builder::check_axis(std::int64_t length) const {
    if (length > std::min(options_.max_elems, map_length_limit)) unsupported("an axis of {} elements", length);
}

void Builder::charge(const Shape& shape, std::int32_t type) {
    check_shape(shape, true);
    charged_bytes_ =
        checked_add(charged_bytes_, checked_multiply(elem_count(shape), static_cast<std::int64_t>(element_size(type))));
    if (charged_bytes_ > options_.folding_budget_bytes) {
        unsupported("folding constants would take more than {} bytes", options_.folding_budget_bytes);
    }
}

ValueId Builder::input(std::string name, Shape shape, std::int32_t type) {
    check_shape(shape);
    const ValueId id(network_.values.size());
    network_.values.push_back({.name = std::move(name),
                               .shape = std::move(shape),
                               .type = type,
                               .is_constant = false,
                               .constant = {},
                               .perm = {},
                               .scale = {},
                               .producer = {}});
    return id;
}

ValueId Builder::constant(Constant constant, std::string name) {
    const ValueId id(network_.values.size());
    if (name.empty()) name = fmt::format("{}/{}", output_name_, made_++);
    Shape shape = constant.shape;
    check_shape(shape, true);
    const std::int32_t type = constant.type;
    network_.values.push_back({.name = std::move(name),
                               .shape = std::move(shape),
                               .type = type,
                               .is_constant = true,
                               .constant = std::move(constant),
                               .perm = {},
                               .scale = {},
                               .producer = {}});
    return id;
}

ValueId Builder::permuted_weight(ValueId id, std::vector<std::int64_t> perm) {
    WEFT_CHECK(is_constant(id) && at(id).perm.empty() && at(id).scale == nullptr);
    Value value = at(id);
    for (std::size_t k = 0; k < perm.size(); ++k) value.shape[k] = at(id).shape[static_cast<std::size_t>(perm[k])];
    if (!is_identity(perm)) value.perm = std::move(perm);
    network_.values.push_back(std::move(value));
    return ValueId(network_.values.size() - 1);
}

ValueId Builder::step(OperatorKind kind, std::vector<ValueId> inputs, Shape shape, std::vector<StepAttribute> attributes) {
    check_shape(shape);
    const ValueId id(network_.values.size());
    const StepId step(network_.steps.size());
    const std::string suffix = fmt::format("/{}", made_++);
    network_.values.push_back({.name = output_name_ + suffix,
                               .shape = std::move(shape),
                               .type = type_float,
                               .is_constant = false,
                               .constant = {},
                               .perm = {},
                               .scale = {},
                               .producer = step});
    network_.steps.push_back({node_name_ + suffix, kind, std::move(inputs), id, std::move(attributes)});
    return id;
}

ValueId Builder::reshape(ValueId x, Shape shape) {
    WEFT_CHECK(elem_count(shape) == elem_count(this->shape(x)));
    if (shape == this->shape(x)) return x;
    if (is_constant(x)) return constant(reshaped(at(x).constant, std::move(shape)));
    const StepId producer = at(x).producer;
    if (!producer.is_none() && network_[producer].kind == OperatorKind::Reshape)
        return reshape(network_[producer].inputs[0], std::move(shape));
    return step(OperatorKind::Reshape, {x}, std::move(shape));
}

ValueId Builder::transpose(ValueId x, std::vector<std::int64_t> perm) {
    if (is_identity(perm)) return x;
    if (is_constant(x)) {
        charge(shape(x), at(x).constant.type);
        return constant(permuted(at(x).constant, perm));
    }
    const StepId producer = at(x).producer;
    if (!producer.is_none() && network_[producer].kind == OperatorKind::Transpose) {
        const auto& first = network_[producer].attributes[0].ints;
        for (std::int64_t& axis : perm) axis = first[static_cast<std::size_t>(axis)];
        return transpose(network_[producer].inputs[0], std::move(perm));
    }
    Shape out(perm.size());
    for (std::size_t k = 0; k < perm.size(); ++k) out[k] = shape(x)[static_cast<std::size_t>(perm[k])];
    const auto attribute = ints_attribute(AttributeKey::Perm, perm);
    return step(OperatorKind::Transpose, {x}, std::move(out), {attribute});
}

ValueId Builder::remap(ValueId x, std::vector<std::vector<std::int32_t>> maps, double fill) {
    Shape out = shape(x);
    bool moves = false;
    std::vector<StepAttribute> attributes;
    for (std::size_t axis = 0; axis < maps.size(); ++axis) {
        if (maps[axis].empty() || takes_whole(maps[axis], out[axis])) continue;
        moves = true;
        out[axis] = static_cast<std::int64_t>(maps[axis].size());
        if (axis >= map_axis_limit) unsupported("it moves along axis {}; at most {} axes are supported", axis, map_axis_limit);
        const auto key = static_cast<AttributeKey>(static_cast<std::size_t>(AttributeKey::MapAxis0) + axis);
        attributes.push_back({key, maps[axis], {}});
    }
    if (!moves) return x;
    check_shape(out, is_constant(x));
    if (is_constant(x)) {
        charge(out, at(x).constant.type);
        return constant(remapped(at(x).constant, maps, fill));
    }
    attributes.push_back(float_attribute(AttributeKey::Fill, static_cast<float>(fill)));
    return step(OperatorKind::Remap, {x}, std::move(out), std::move(attributes));
}

ValueId Builder::concat(std::vector<ValueId> parts, std::size_t axis) {
    WEFT_CHECK(!parts.empty());
    if (parts.size() == 1) return parts[0];
    Shape out = shape(parts[0]);
    out[axis] = 0;
    std::vector<Constant> constants;
    std::vector<ValueId> activations;
    for (const ValueId part : parts) {
        out[axis] = checked_add(out[axis], shape(part)[axis]);
        if (is_constant(part))
            constants.push_back(at(part).constant);
        else
            activations.push_back(part);
    }
    if (constants.size() == parts.size()) {
        charge(out, constants[0].type);
        return constant(concatenated(constants, axis));
    }
    check_shape(out);
    const std::int64_t axis_value = static_cast<std::int64_t>(axis);
    const auto attribute = ints_attribute(AttributeKey::Axis, std::span(&axis_value, 1));
    if (constants.empty()) return step(OperatorKind::Concat, std::move(parts), std::move(out), {attribute});
    // Constant parts: the computed parts move to their places among zeros, and a constant with the rest is added.
    std::vector<std::vector<std::int32_t>> maps(out.size());
    std::vector<ValueId> fillers;
    std::int32_t taken = 0;
    for (const ValueId part : parts) {
        const bool known = is_constant(part);
        for (std::int64_t i = 0; i < shape(part)[axis]; ++i) maps[axis].push_back(known ? -1 : taken++);
        Constant zero = make_splat(make_f32({1}, {0.0F}), shape(part));
        if (known && !is_floating(at(part).constant.type))
            unsupported("a constant part of type {}", type_name(at(part).constant.type));
        if (known) charge(shape(part), type_float);
        fillers.push_back(known ? constant(from_f64(type_float, shape(part), as_f64(at(part).constant)))
                                : constant(std::move(zero)));
    }
    const ValueId computed = concat(std::move(activations), axis);
    return binary(OperatorKind::Add, remap(computed, std::move(maps)), concat(std::move(fillers), axis));
}

ValueId Builder::binary(OperatorKind kind, ValueId a, ValueId b) {
    Shape out = broadcast(shape(a), shape(b));
    if (is_constant(a) && is_constant(b)) {
        if (at(a).constant.splat && at(b).constant.splat)
            check_shape(out, true);
        else
            charge(out, at(a).constant.type);
        return constant(compute_binary(kind, at(a).constant, at(b).constant, out));
    }
    // The chip multiplies and adds; division and subtraction by constants become that.
    const bool b_float = is_constant(b) && is_floating(at(b).constant.type);
    if (kind == OperatorKind::Sub && b_float) {
        charge(shape(b), type_float);
        return binary(OperatorKind::Add, a,
                      constant(compute_unary(UnaryFunction::negate, compute_cast(at(b).constant, type_float))));
    }
    if (kind == OperatorKind::Div && b_float) {
        charge(shape(b), type_float);
        return binary(OperatorKind::Mul, a,
                      constant(compute_unary(UnaryFunction::reciprocal, compute_cast(at(b).constant, type_float))));
    }
    return step(kind, {a, b}, std::move(out));
}

ValueId Builder::binary_scalar(OperatorKind kind, ValueId a, float scalar) {
    return binary(kind, a, constant_f32({}, {scalar}));
}

Shape broadcast(const Shape& a, const Shape& b) {
    Shape out(std::max(a.size(), b.size()), 1);
    for (std::size_t k = 0; k < out.size(); ++k) {
        const std::int64_t left = k < a.size() ? a[a.size() - 1 - k] : 1;
        const std::int64_t right = k < b.size() ? b[b.size() - 1 - k] : 1;
        if (left != right && left != 1 && right != 1)
            bad_input("the shapes {} and {} do not broadcast", shape_text(a), shape_text(b));
        out[out.size() - 1 - k] = left == 1 ? right : left;
    }
    return out;
}

StepAttribute ints_attribute(AttributeKey key, std::span<const std::int64_t> values) {
    StepAttribute attribute{key, {}, {}};
    for (const std::int64_t value : values) attribute.ints.push_back(narrow<std::int32_t>(value));
    return attribute;
}

StepAttribute float_attribute(AttributeKey key, float value) { return {key, {}, {value}}; }

}  // namespace weft::frontend
