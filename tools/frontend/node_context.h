#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/external.h"
#include "frontend/network.h"
#include "frontend/proto.h"

namespace weft::frontend {

/// What an ONNX name stands for: a value, and the type that the model gives it (values are f32 inside weft, and a cast that
/// changes no value is only a change of this type).
struct Operand {
    ValueId value;  ///< none: absent optional input, or output of an unsupported node
    std::int32_t type = type_float;
};

/// One ONNX node during its conversion: attributes, operands, and the builder to append to. Attribute accessors throw
/// Failure(bad_input) where the type differs from what is asked.
class NodeContext {
public:
    NodeContext(const onnx::NodeProto& node, std::int64_t opset, Builder& builder_in, TensorReader& tensors,
                std::vector<Operand> inputs, std::vector<bool> read_outputs)
        : builder(builder_in),
          node_(node),
          opset_(opset),
          tensors_(tensors),
          inputs_(std::move(inputs)),
          outputs_(static_cast<std::size_t>(node.output_size())),
          read_outputs_(std::move(read_outputs)) {}

    Builder& builder;

    [[nodiscard]] const std::string& operator_name() const { return node_.op_type(); }
    [[nodiscard]] std::int64_t opset() const { return opset_; }

    [[nodiscard]] bool has_attribute(const char* name) const { return find(name) != nullptr; }
    [[nodiscard]] std::int64_t int_attribute(const char* name, std::int64_t standard) const;
    [[nodiscard]] float float_attribute(const char* name, float standard) const;
    [[nodiscard]] std::string text_attribute(const char* name, const std::string& standard) const;
    [[nodiscard]] std::vector<std::int64_t> ints_attribute(const char* name) const;
    [[nodiscard]] std::vector<float> floats_attribute(const char* name) const;
    [[nodiscard]] std::optional<Constant> tensor_attribute(const char* name) const;

    [[nodiscard]] std::size_t input_count() const { return inputs_.size(); }
    [[nodiscard]] bool has_input(std::size_t index) const { return index < inputs_.size() && !inputs_[index].value.is_none(); }
    /// A required input; bad input where it is absent.
    [[nodiscard]] const Operand& input(std::size_t index) const;
    [[nodiscard]] ValueId value(std::size_t index) const { return input(index).value; }
    [[nodiscard]] const Shape& shape(std::size_t index) const { return builder.shape(value(index)); }
    /// An input that must be known at compile time; unsupported otherwise. `what` names it in the reason.
    [[nodiscard]] const Constant& constant_input(std::size_t index, const char* what) const;
    /// Integers from input `index` where there is one, else from attribute `name` (older opsets); absent where neither.
    [[nodiscard]] std::optional<std::vector<std::int64_t>> ints_input_or_attribute(std::size_t index, const char* name) const;

    /// Unsupported where input `index` does not hold floating-point values.
    void require_floating(std::size_t index) const;
    /// `axis` counted from the end where negative; bad input outside [0, rank) (or rank itself where `end_allowed`).
    [[nodiscard]] std::size_t axis(std::int64_t axis, std::size_t rank, bool end_allowed = false) const;

    [[nodiscard]] std::size_t output_count() const { return outputs_.size(); }
    /// Whether some node or the caller of the network reads output `index`.
    [[nodiscard]] bool wants_output(std::size_t index) const;
    void set_output(std::size_t index, ValueId value, std::int32_t type);
    void set_output(ValueId value) {
        set_output(0, value, inputs_.empty() ? static_cast<std::int32_t>(type_float) : inputs_[0].type);
    }
    [[nodiscard]] const std::vector<Operand>& outputs() const { return outputs_; }

private:
    [[nodiscard]] const onnx::AttributeProto* find(const char* name) const;
    [[nodiscard]] const onnx::AttributeProto* find(const char* name, onnx::AttributeProto::AttributeType type) const;

    const onnx::NodeProto& node_;
    std::int64_t opset_;
    TensorReader& tensors_;
    std::vector<Operand> inputs_;
    std::vector<Operand> outputs_;
    std::vector<bool> read_outputs_;
};

using Conversion = void (*)(NodeContext&);
/// The conversion of an ONNX operator of the default domain; null where weft has none.
[[nodiscard]] Conversion find_conversion(std::string_view operator_name);

}  // namespace weft::frontend
