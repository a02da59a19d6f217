#include "frontend/passes.h"

#include <algorithm>

#include "frontend/arithmetic.h"

namespace weft::frontend {
namespace {

// Merging constants larger than this would cost more than it saves.
constexpr std::int64_t merge_limit = 1 << 20;

/// How many steps and outputs read each value.
std::vector<std::uint32_t> count_uses(const Network& network) {
    std::vector<std::uint32_t> uses(network.values.size(), 0);
    for (const Step& step : network.steps) {
        for (const ValueId input : step.inputs) {
            if (!input.is_none()) ++uses[input.index()];
        }
    }
    for (const ValueId output : network.outputs) ++uses[output.index()];
    return uses;
}

/// A multiplication or addition of an activation and a constant that does not change its shape.
struct Affine {
    bool valid = false;
    bool multiplies = false;
    ValueId x;
    ValueId constant;
};

Affine as_affine(const Network& network, const Step& step) {
    if (step.kind != OperatorKind::Mul && step.kind != OperatorKind::Add) return {};
    const bool first = network[step.inputs[0]].is_constant;
    const ValueId x = step.inputs[first ? 1 : 0];
    const ValueId constant = step.inputs[first ? 0 : 1];
    if (!network[constant].is_constant || network[x].is_constant) return {};
    if (network[x].shape != network[step.output].shape) return {};
    return {true, step.kind == OperatorKind::Mul, x, constant};
}

/// The constant's values along `axis` of a tensor of shape `shape`, one per index; empty where it varies along another axis.
std::vector<double> per_channel(const Constant& constant, const Shape& shape, std::size_t axis) {
    const std::int64_t channels = shape[axis];
    const std::int64_t count = elem_count(constant.shape);
    if (count == 1) return std::vector<double>(static_cast<std::size_t>(channels), as_f64(constant)[0]);
    const std::size_t offset = shape.size() - constant.shape.size();
    for (std::size_t k = 0; k < constant.shape.size(); ++k) {
        if (offset + k != axis && constant.shape[k] != 1) return {};
    }
    return count == channels ? as_f64(constant) : std::vector<double>{};
}

class AffineFolder {
public:
    explicit AffineFolder(Network& network) : network_(network), uses_(count_uses(network)), alias_(network.values.size()) {
        for (std::size_t i = 0; i < alias_.size(); ++i) alias_[i] = ValueId(i);
    }

    void run() {
        for (std::size_t i = 0; i < network_.steps.size(); ++i) {
            for (ValueId& input : network_.steps[i].inputs) {
                if (!input.is_none()) input = alias_[input.index()];
            }
            visit(StepId(i));
        }
        for (ValueId& output : network_.outputs) output = alias_[output.index()];
    }

private:
    void visit(StepId id) {
        const Affine affine = as_affine(network_, network_[id]);
        if (!affine.valid || uses_[affine.x.index()] != 1) return;
        const StepId producer = network_[affine.x].producer;
        if (producer.is_none()) return;
        if (fold_into_weights(id, affine, producer)) return;
        merge_with(id, affine, producer);
    }

    /// The convolution or linear map behind `producer`, through the reshape of a 1-D convolution; none where there is none.
    [[nodiscard]] StepId weighted_step(StepId producer) const {
        const Step& step = network_[producer];
        if (step.kind == OperatorKind::Conv || step.kind == OperatorKind::Linear) return producer;
        if (step.kind != OperatorKind::Reshape) return StepId::none();
        const ValueId inner = step.inputs[0];
        const StepId before = network_[inner].producer;
        if (before.is_none() || network_[before].kind != OperatorKind::Conv || uses_[inner.index()] != 1) return StepId::none();
        const Shape& in = network_[inner].shape;
        const Shape& out = network_[step.output].shape;
        return out.size() >= 2 && out[0] == in[0] && out[1] == in[1] ? before : StepId::none();
    }

    bool fold_into_weights(StepId id, const Affine& affine, StepId producer) {
        const StepId weighted = weighted_step(producer);
        if (weighted.is_none()) return false;
        Step& step = network_[weighted];
        const Shape& shape = network_[affine.x].shape;
        const std::size_t axis = step.kind == OperatorKind::Conv ? 1 : shape.size() - 1;
        const auto factors = per_channel(network_[affine.constant].constant, shape, axis);
        if (factors.empty()) return false;
        if (affine.multiplies) scale_weight(step, factors);
        change_bias(step, factors, affine.multiplies);
        replace(id, affine.x);
        return true;
    }

    // The weight may serve several steps, so the scaled one is a value of its own.
    void scale_weight(Step& step, const std::vector<double>& factors) {
        Value weight = network_[step.inputs[1]];
        std::vector<float> scale(factors.begin(), factors.end());
        for (std::size_t i = 0; weight.scale != nullptr && i < scale.size(); ++i) scale[i] *= (*weight.scale)[i];
        weight.scale = std::make_shared<const std::vector<float>>(std::move(scale));
        step.inputs[1] = add_value(std::move(weight));
    }

    void change_bias(Step& step, const std::vector<double>& factors, bool multiply) {
        const bool present = step.inputs.size() > 2 && !step.inputs[2].is_none();
        if (!present && multiply) return;
        std::vector<float> bias(factors.size());
        const auto old = present ? as_f64(network_[step.inputs[2]].constant) : std::vector<double>(factors.size(), 0.0);
        for (std::size_t i = 0; i < bias.size(); ++i)
            bias[i] = static_cast<float>(multiply ? old[i] * factors[i] : old[i] + factors[i]);
        step.inputs.resize(2);
        const Shape shape = {static_cast<std::int64_t>(bias.size())};  // before the move: arguments have no order
        step.inputs.push_back(add_constant(make_f32(shape, std::move(bias)), step.name + "/bias"));
    }

    /// `id` follows another multiplication or addition by a constant.
    void merge_with(StepId id, const Affine& affine, StepId producer) {
        const Affine before = as_affine(network_, network_[producer]);
        if (!before.valid) return;
        const Constant& a = network_[before.constant].constant;
        const Constant& b = network_[affine.constant].constant;
        const Shape out = broadcast(a.shape, b.shape);
        if (elem_count(out) > merge_limit) return;
        const Constant left = compute_cast(a, type_float);
        const Constant right = compute_cast(b, type_float);
        if (before.multiplies == affine.multiplies) {
            const OperatorKind kind = affine.multiplies ? OperatorKind::Mul : OperatorKind::Add;
            const ValueId merged = add_constant(compute_binary(kind, left, right, out), network_[before.constant].name);
            network_[producer].inputs = {before.x, merged};
            replace(id, affine.x);
            return;
        }
        if (before.multiplies) return;
        // (x + a) * b = x * b + a * b: the multiplication goes first, where it may meet another.
        const ValueId product =
            add_constant(compute_binary(OperatorKind::Mul, left, right, out), network_[before.constant].name);
        network_[producer].kind = OperatorKind::Mul;
        network_[producer].inputs = {before.x, affine.constant};
        network_[id].kind = OperatorKind::Add;
        network_[id].inputs = {affine.x, product};
        visit(producer);
        network_[id].inputs[0] = alias_[affine.x.index()];
    }

    /// Readers of `id` read `value`, which takes over its name.
    void replace(StepId id, ValueId value) {
        const ValueId output = network_[id].output;
        uses_[value.index()] = uses_[output.index()];
        uses_[output.index()] = 0;
        network_[value].name = network_[output].name;
        alias_[output.index()] = value;
    }

    ValueId add_value(Value value) {
        network_.values.push_back(std::move(value));
        const ValueId id(network_.values.size() - 1);
        uses_.push_back(1);
        alias_.push_back(id);
        return id;
    }

    ValueId add_constant(Constant constant, std::string name) {
        Value value;
        value.name = std::move(name);
        value.shape = constant.shape;
        value.type = constant.type;
        value.is_constant = true;
        value.constant = std::move(constant);
        return add_value(std::move(value));
    }

    Network& network_;
    std::vector<std::uint32_t> uses_;
    std::vector<ValueId> alias_;
};

}  // namespace

void remove_dead_steps(Network& network) {
    std::vector<bool> needed(network.values.size(), false);
    for (const ValueId output : network.outputs) needed[output.index()] = true;
    for (std::size_t i = network.steps.size(); i-- > 0;) {
        const Step& step = network.steps[i];
        if (!needed[step.output.index()]) continue;
        for (const ValueId input : step.inputs) {
            if (!input.is_none()) needed[input.index()] = true;
        }
    }
    std::vector<Step> kept;
    for (Step& step : network.steps) {
        if (!needed[step.output.index()]) continue;
        network[step.output].producer = StepId(kept.size());
        kept.push_back(std::move(step));
    }
    network.steps = std::move(kept);
}

void fold_affine_steps(Network& network) { AffineFolder(network).run(); }

void simplify(Network& network) {
    remove_dead_steps(network);
    fold_affine_steps(network);
    remove_dead_steps(network);
}

}  // namespace weft::frontend
