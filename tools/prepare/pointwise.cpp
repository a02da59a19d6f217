#include <algorithm>
#include <limits>

#include "prepare/drafter.h"

namespace weft::preparation {
namespace {

Step unary_step(StepKind kind, float alpha = 0, float beta = 0) {
    return {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(OperandKind::None), 0, alpha, beta};
}

Step operand_step(StepKind kind) { return {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(OperandKind::None), 0, 0, 0}; }

struct BinaryKinds {
    StepKind left;      // the running value is the left operand
    StepKind right;     // the running value is the right operand
};

BinaryKinds binary_kinds(OperatorKind kind) {
    switch (kind) {
        case OperatorKind::Add: return {StepKind::AddOperand, StepKind::AddOperand};
        case OperatorKind::Sub: return {StepKind::SubOperand, StepKind::OperandSub};
        case OperatorKind::Mul: return {StepKind::MulOperand, StepKind::MulOperand};
        case OperatorKind::Max: return {StepKind::MaxOperand, StepKind::MaxOperand};
        case OperatorKind::Min: return {StepKind::MinOperand, StepKind::MinOperand};
        default: return {StepKind::PRelu, StepKind::PRelu};
    }
}

}  // namespace

void Drafter::add_pointwise(std::uint32_t node) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::uint32_t x = index_.input(node, 0);
    const auto alpha = [&](float missing) { return index_.real(node, AttributeKey::Alpha, missing); };
    switch (index_.kind(node)) {
        case OperatorKind::Relu: return add_unary(node, x, unary_step(StepKind::Relu));
        case OperatorKind::Sigmoid: return add_unary(node, x, unary_step(StepKind::Sigmoid));
        case OperatorKind::Tanh: return add_unary(node, x, unary_step(StepKind::Tanh));
        case OperatorKind::HardSwish: return add_unary(node, x, unary_step(StepKind::HardSwish));
        case OperatorKind::LeakyRelu: return add_unary(node, x, unary_step(StepKind::LeakyRelu, alpha(0.01F)));
        case OperatorKind::HardSigmoid:
            return add_unary(node, x, unary_step(StepKind::HardSigmoid, alpha(0.2F), index_.real(node, AttributeKey::Beta, 0.5F)));
        case OperatorKind::Clip: {
            const float minimum = index_.real(node, AttributeKey::Minimum, -infinity);
            const float maximum = index_.real(node, AttributeKey::Maximum, infinity);
            if (minimum == 0 && maximum == infinity) return add_unary(node, x, unary_step(StepKind::Relu));
            return add_unary(node, x, unary_step(StepKind::Clip, minimum, maximum));
        }
        default: return add_binary(node);
    }
}

/// The family that computes x, where steps may still join it; otherwise a new one that starts from x.
std::uint32_t Drafter::family_for_steps(std::uint32_t node, std::uint32_t x) {
    if (is_open(x)) return open_family_[x];
    const View view = view_of(x);
    return add_family(index_.node_name(node), FamilyKind::Pointwise, no_id, view.layout, {view.tensor});
}

void Drafter::append_step(std::uint32_t family, Step step, const Operand& operand) {
    DraftFamily& target = draft_.families[family];
    step.operand_kind = static_cast<std::uint32_t>(operand.kind);
    step.operand = operand.value;
    if (operand.kind == OperandKind::Input || operand.kind == OperandKind::InputBroadcast) {
        step.operand = static_cast<std::uint32_t>(target.inputs.size());
        target.inputs.push_back(operand.value);
    }
    target.steps.push_back(step);
}

/// `tensor` is what `family` computes now, in pixels that mean `layout` of it.
void Drafter::continue_result(std::uint32_t tensor, const View& view, std::uint32_t family) {
    const std::uint32_t output = draft_.families[family].row.output;
    TaskTensor& row = draft_.tensors[output];
    row.graph_tensor = tensor;
    row.row_stride = view.layout.row_stride;
    row.column_stride = view.layout.column_stride;
    row.channel_stride = view.layout.channel_stride;
    views_[tensor] = {output, view.layout};
    open_family_[tensor] = family;
}

void Drafter::add_unary(std::uint32_t node, std::uint32_t x, Step step) {
    if (shuffled_[x] != no_id) {
        const Shuffle shuffle = shuffles_[shuffled_[x]];
        const std::uint32_t family = is_open(x) ? open_family_[x] : add_family(index_.node_name(node), FamilyKind::Pointwise, no_id, shuffle.view.layout, {shuffle.view.tensor});
        append_step(family, step, {});
        return set_shuffled(index_.outputs(node)[0], family, shuffle.order);
    }
    const View view = view_of(x);
    const std::uint32_t family = family_for_steps(node, x);
    append_step(family, step, {});
    continue_result(index_.outputs(node)[0], view, family);
}

void Drafter::add_binary(std::uint32_t node) {
    if (silu_input_[node] != no_id) return add_unary(node, silu_input_[node], unary_step(StepKind::Silu));
    const std::uint32_t x = index_.input(node, 0);
    const std::uint32_t y = index_.input(node, 1);
    const BinaryKinds kinds = binary_kinds(index_.kind(node));
    if (index_.is_weight(y)) return add_constant_operand(node, x, y, kinds.left);
    if (index_.is_weight(x)) return add_constant_operand(node, y, x, kinds.right);
    add_activations(node, x, y, kinds.left, kinds.right);
}

void Drafter::add_constant_operand(std::uint32_t node, std::uint32_t x, std::uint32_t constant, StepKind kind) {
    const std::uint32_t output = index_.outputs(node)[0];
    const auto dims = index_.dims(output);
    const BroadcastIndex operand_index(dims, index_.dims(constant));
    const auto form_in = [&](const Layout& layout) {
        return linear_form(layout, [&](Place place) { return operand_index(layout.logical(place)); });
    };
    View view = view_of(x);
    std::uint32_t family = no_id;
    if (index_.elem_count(x) != index_.elem_count(output) || !form_in(view.layout)) {
        view.layout = default_layout(dims);
        family = expand(node, x, output, view.layout);
    } else {
        family = family_for_steps(node, x);
    }
    const auto form = form_in(view.layout);
    if (!form) {
        refuse("{} '{}': its constant operand repeats along axes that pixels of its shape cannot tell apart; reshape it to at most four axes",
               GraphIndex::kind_name(index_.kind(node)), index_.node_name(node));
    }
    const auto stride = [&](std::size_t axis) { return static_cast<std::uint32_t>((*form)[axis]); };
    draft_.constants.push_back({weight_row(constant), 0, stride(0), stride(1), stride(2), 1.0F, 0.0F});
    const bool per_channel = stride(0) == 0 && stride(1) == 0;
    append_step(family, operand_step(kind),
                {per_channel ? OperandKind::ChannelConstant : OperandKind::FullConstant, static_cast<std::uint32_t>(draft_.constants.size() - 1)});
    continue_result(output, view, family);
}

/// `tensor`, broadcast to the shape of `shape_of`, copied into pixels `layout`.
std::uint32_t Drafter::expand(std::uint32_t node, std::uint32_t tensor, std::uint32_t shape_of, const Layout& layout) {
    const auto dims = index_.dims(shape_of);
    const BroadcastIndex broadcast(dims, index_.dims(tensor));
    const auto strides = broadcast.strides();
    return add_copy(fmt::format("{}:expand", index_.node_name(node)), view_of(tensor), dims, {strides.begin(), strides.end()}, layout);
}

/// `operand` as it stands, for a running value of shape `shape_of` in the pixels of `view`; OperandKind::None where it has to be
/// copied first.
Drafter::Operand Drafter::direct_operand(std::uint32_t operand, std::uint32_t shape_of, const View& view) {
    const View other = view_of(operand);
    if (index_.elem_count(operand) == index_.elem_count(shape_of)) {
        if (other.layout == view.layout) return {OperandKind::Input, other.tensor};
        return {};
    }
    if (other.layout.positions() != 1 || other.layout.channels != view.layout.channels) return {};
    const BroadcastIndex broadcast(index_.dims(shape_of), index_.dims(operand));
    const auto form = linear_form(view.layout, [&](Place place) { return broadcast(view.layout.logical(place)); });
    if (!form || (*form)[0] != 0 || (*form)[1] != 0 || (*form)[2] != other.layout.channel_stride) return {};
    return {OperandKind::InputBroadcast, other.tensor};
}

/// Joins the family of the operand that is computed later, where it can; otherwise a family of its own; where pixels differ, the
/// operand is copied into those of the other and the copy carries the step.
void Drafter::add_activations(std::uint32_t node, std::uint32_t x, std::uint32_t y, StepKind x_first, StepKind y_first) {
    const std::uint32_t output = index_.outputs(node)[0];
    struct Way {
        std::uint32_t value;
        std::uint32_t other;
        StepKind kind;
    };
    const std::array<Way, 2> ways{{{x, y, x_first}, {y, x, y_first}}};
    const auto is_full = [&](std::uint32_t tensor) { return index_.elem_count(tensor) == index_.elem_count(output); };
    for (const bool join : {true, false}) {
        for (const Way& way : ways) {
            if (!is_full(way.value)) continue;
            const View view = view_of(way.value);
            const Operand operand = direct_operand(way.other, output, view);
            if (operand.kind == OperandKind::None) continue;
            const std::uint32_t producer = producer_of(way.other);
            if (join && !(is_open(way.value) && (producer == no_id || producer < open_family_[way.value]))) continue;
            std::uint32_t family = join ? open_family_[way.value] : no_id;
            if (!join) family = add_family(index_.node_name(node), FamilyKind::Pointwise, no_id, view.layout, {view.tensor});
            append_step(family, operand_step(way.kind), operand);
            return continue_result(output, view, family);
        }
    }
    // The second of `ways` is the one that is copied.
    Way way = is_full(x) ? ways[1] : ways[0];
    View value{no_id, default_layout(index_.dims(output))};
    if (is_full(way.other)) {
        value = view_of(way.other);
    } else {
        value.tensor = draft_.families[expand(node, way.other, output, value.layout)].row.output;
    }
    const std::uint32_t family = expand(node, way.value, output, value.layout);
    append_step(family, operand_step(way.kind), {OperandKind::Input, value.tensor});
    continue_result(output, value, family);
}

}  // namespace weft::preparation
