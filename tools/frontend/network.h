#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/graph.h"
#include "base/id.h"
#include "frontend/constant.h"

namespace weft::frontend {

using ValueId = Id<struct ValueTag>;  // row of Network::values
using StepId = Id<struct StepTag>;    // row of Network::steps

/// An activation or a constant.
struct Value {
    std::string name;
    Shape shape;
    std::int32_t type = type_float;  ///< of an input: in the model file
    bool is_constant = false;
    Constant constant;                                ///< where constant, in its own layout
    std::vector<std::int64_t> perm;                   ///< the weight is the constant permuted so, where not empty,
    std::shared_ptr<const std::vector<float>> scale;  ///< and multiplied along the last axis; done once, when stored
    StepId producer;                                  ///< none for inputs and constants
};

struct StepAttribute {
    AttributeKey key{};
    std::vector<std::int32_t> ints;
    std::vector<float> floats;
};

/// One canonical operator.
struct Step {
    std::string name;
    OperatorKind kind{};
    std::vector<ValueId> inputs;  ///< none: absent
    ValueId output;
    std::vector<StepAttribute> attributes;
};

/// A network in canonical operators while it is being built. Every canonical operator has exactly one output.
struct Network {
    std::vector<Value> values;
    std::vector<Step> steps;  ///< topologically sorted
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
    std::vector<std::int32_t> output_types;

    [[nodiscard]] Value& operator[](ValueId id) { return values[id.index()]; }
    [[nodiscard]] const Value& operator[](ValueId id) const { return values[id.index()]; }
    [[nodiscard]] Step& operator[](StepId id) { return steps[id.index()]; }
    [[nodiscard]] const Step& operator[](StepId id) const { return steps[id.index()]; }
};

/// Thrown by a conversion that cannot take its node; the reason goes into the complete list.
struct Unsupported {
    std::string why;
};

template <class... Args>
[[noreturn]] void unsupported(fmt::format_string<Args...> text, Args&&... args) {
    throw Unsupported{fmt::format(text, std::forward<Args>(args)...)};
}

/// Appends canonical operators with inferred shapes. Where all operands are constants, the result is a constant (folding).
/// Shapes are checked by the caller unless said otherwise; sizes are held below the options' limits here.
class Builder {
public:
    Builder(Network& network, const FrontendOptions& options) : network_(network), options_(options) {}

    [[nodiscard]] Network& network() { return network_; }
    [[nodiscard]] const Value& at(ValueId id) const { return network_[id]; }
    [[nodiscard]] const Shape& shape(ValueId id) const { return network_[id].shape; }
    [[nodiscard]] bool is_constant(ValueId id) const { return network_[id].is_constant; }

    /// Names of what follows derive from these.
    void begin_node(std::string node_name, std::string output_name);

    ValueId input(std::string name, Shape shape, std::int32_t type);
    ValueId constant(Constant constant, std::string name = {});
    ValueId constant_f32(Shape shape, std::vector<float> values) {
        return constant(make_f32(std::move(shape), std::move(values)));
    }
    ValueId constant_i64(Shape shape, std::vector<std::int64_t> values) {
        return constant(make_i64(std::move(shape), std::move(values)));
    }
    /// The constant `id` as a weight in another layout; permuted when stored.
    ValueId permuted_weight(ValueId id, std::vector<std::int64_t> perm);
    /// An activation; `shape` is what the caller inferred.
    ValueId step(OperatorKind kind, std::vector<ValueId> inputs, Shape shape, std::vector<StepAttribute> attributes = {});

    ValueId reshape(ValueId x, Shape shape);
    ValueId transpose(ValueId x, std::vector<std::int64_t> perm);
    /// See OperatorKind::Remap; an empty map takes the axis whole.
    ValueId remap(ValueId x, std::vector<std::vector<std::int32_t>> maps, double fill = 0);
    ValueId concat(std::vector<ValueId> parts, std::size_t axis);
    /// Elementwise Add, Sub, Mul, Div, Max, Min with broadcasting.
    ValueId binary(OperatorKind kind, ValueId a, ValueId b);
    /// Elementwise with one scalar.
    ValueId binary_scalar(OperatorKind kind, ValueId a, float scalar);

    /// Unsupported where the shape has more elements than allowed or is not positive; zero sizes are allowed for constants.
    void check_shape(const Shape& shape, bool zero_allowed = false) const;
    /// Unsupported where an axis has more elements than a map should have; call before making the map of a Remap.
    void check_axis(std::int64_t length) const;
    /// Unsupported where folding would pass its budget; call before computing a constant of that shape.
    void charge(const Shape& shape, std::int32_t type);

private:
    Network& network_;
    const FrontendOptions& options_;
    std::int64_t charged_bytes_ = 0;
    std::string node_name_;
    std::string output_name_;
    unsigned made_ = 0;
};

/// The shape of a broadcast of both; unsupported-free: bad input where they do not fit.
[[nodiscard]] Shape broadcast(const Shape& a, const Shape& b);

/// Integers as attribute values; Failure(system) beyond 32 bits.
[[nodiscard]] StepAttribute ints_attribute(AttributeKey key, std::span<const std::int64_t> values);
[[nodiscard]] StepAttribute float_attribute(AttributeKey key, float value);

}  // namespace weft::frontend
