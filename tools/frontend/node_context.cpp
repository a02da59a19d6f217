#include "frontend/node_context.h"

namespace weft::frontend {

const onnx::AttributeProto* NodeContext::find(const char* name) const {
    for (const auto& attribute : node_.attribute()) {
        if (attribute.name() == name) return &attribute;
    }
    return nullptr;
}

const onnx::AttributeProto* NodeContext::find(const char* name, onnx::AttributeProto::AttributeType type) const {
    const auto* attribute = find(name);
    // Very old writers leave the type undefined.
    if (attribute != nullptr && attribute->type() != type && attribute->type() != onnx::AttributeProto::UNDEFINED) {
        bad_input("attribute '{}' has a wrong type", name);
    }
    return attribute;
}

std::int64_t NodeContext::int_attribute(const char* name, std::int64_t standard) const {
    const auto* attribute = find(name, onnx::AttributeProto::INT);
    return attribute != nullptr ? attribute->i() : standard;
}

float NodeContext::float_attribute(const char* name, float standard) const {
    const auto* attribute = find(name, onnx::AttributeProto::FLOAT);
    return attribute != nullptr ? attribute->f() : standard;
}

std::string NodeContext::text_attribute(const char* name, const std::string& standard) const {
    const auto* attribute = find(name, onnx::AttributeProto::STRING);
    return attribute != nullptr ? attribute->s() : standard;
}

std::vector<std::int64_t> NodeContext::ints_attribute(const char* name) const {
    const auto* attribute = find(name, onnx::AttributeProto::INTS);
    if (attribute == nullptr) return {};
    return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> NodeContext::floats_attribute(const char* name) const {
    const auto* attribute = find(name, onnx::AttributeProto::FLOATS);
    if (attribute == nullptr) return {};
    return {attribute->floats().begin(), attribute->floats().end()};
}

std::optional<Constant> NodeContext::tensor_attribute(const char* name) const {
    const auto* attribute = find(name, onnx::AttributeProto::TENSOR);
    if (attribute == nullptr) return std::nullopt;
    return tensors_.read(attribute->t());
}

const Operand& NodeContext::input(std::size_t index) const {
    if (!has_input(index)) bad_input("input {} is missing", index);
    return inputs_[index];
}

const Constant& NodeContext::constant_input(std::size_t index, const char* what) const {
    const ValueId id = value(index);
    if (!builder.is_constant(id))
        unsupported("its {} '{}' is computed by the network; it must be constant", what, builder.at(id).name);
    return builder.at(id).constant;
}

std::optional<std::vector<std::int64_t>> NodeContext::ints_input_or_attribute(std::size_t index, const char* name) const {
    if (has_input(index)) {
        const Constant& constant = constant_input(index, name);
        if (constant.shape.size() > 1)
            bad_input("{} has the shape {}; one dimension is needed", name, shape_text(constant.shape));
        if (elem_count(constant.shape) > 1 << 16) bad_input("{} has {} elements", name, elem_count(constant.shape));
        return as_i64(constant);
    }
    if (!has_attribute(name)) return std::nullopt;
    return ints_attribute(name);
}

void NodeContext::require_floating(std::size_t index) const {
    if (!is_floating(input(index).type)) {
        unsupported("it computes with type {}; only floating-point arithmetic is supported", type_name(input(index).type));
    }
}

std::size_t NodeContext::axis(std::int64_t axis, std::size_t rank, bool end_allowed) const {
    const auto limit = static_cast<std::int64_t>(rank);
    const std::int64_t counted = axis < 0 ? axis + limit : axis;
    if (counted < 0 || counted > limit || (counted == limit && !end_allowed))
        bad_input("axis {} is outside a tensor of {} dimensions", axis, rank);
    return static_cast<std::size_t>(counted);
}

bool NodeContext::wants_output(std::size_t index) const { return index < read_outputs_.size() && read_outputs_[index]; }

void NodeContext::set_output(std::size_t index, ValueId value, std::int32_t type) {
    if (index < outputs_.size()) outputs_[index] = {value, type};
}

}  // namespace weft::frontend
