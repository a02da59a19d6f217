#include "prepare/graph_index.h"

namespace weft::preparation {

GraphIndex::GraphIndex(const Graph& graph) : graph_(&graph), producer_(graph.tensors.size(), no_id), first_consumer_(graph.tensors.size() + 1, 0) {
    for (std::uint32_t id = 0; id < graph.nodes.size(); ++id) {
        for (const std::uint32_t tensor : outputs(id)) {
            if (tensor != no_id) producer_[tensor] = id;
        }
        for (const std::uint32_t tensor : inputs(id)) {
            if (tensor != no_id) ++first_consumer_[tensor + 1];
        }
    }
    for (std::size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) first_consumer_[tensor + 1] += first_consumer_[tensor];
    consumer_.resize(first_consumer_.back());
    std::vector<std::uint32_t> next(first_consumer_.begin(), first_consumer_.end() - 1);
    for (std::uint32_t id = 0; id < graph.nodes.size(); ++id) {
        for (const std::uint32_t tensor : inputs(id)) {
            if (tensor != no_id) consumer_[next[tensor]++] = id;
        }
    }
}

std::span<const std::uint32_t> GraphIndex::inputs(std::uint32_t id) const {
    return graph_->operands.subspan(node(id).first_input, node(id).input_count);
}

std::span<const std::uint32_t> GraphIndex::outputs(std::uint32_t id) const {
    return graph_->operands.subspan(node(id).first_output, node(id).output_count);
}

std::uint32_t GraphIndex::input(std::uint32_t id, std::size_t position) const {
    const auto all = inputs(id);
    return position < all.size() ? all[position] : no_id;
}

std::span<const std::uint32_t> GraphIndex::dims(std::uint32_t tensor) const {
    const GraphTensor& row = graph_->tensors[tensor];
    return graph_->dims.subspan(row.first_dim, row.rank);
}

std::uint64_t GraphIndex::elem_count(std::uint32_t tensor) const {
    std::uint64_t count = 1;
    for (const std::uint32_t dim : dims(tensor)) count *= dim;
    return count;
}

std::span<const std::uint32_t> GraphIndex::consumers(std::uint32_t tensor) const {
    return std::span(consumer_).subspan(first_consumer_[tensor], first_consumer_[tensor + 1] - first_consumer_[tensor]);
}

const GraphAttribute* GraphIndex::find(std::uint32_t id, AttributeKey key) const {
    for (const GraphAttribute& attribute : graph_->attributes.subspan(node(id).first_attribute, node(id).attribute_count)) {
        if (attribute.key == static_cast<std::uint32_t>(key)) return &attribute;
    }
    return nullptr;
}

bool GraphIndex::has(std::uint32_t id, AttributeKey key) const { return find(id, key) != nullptr; }

std::span<const std::int32_t> GraphIndex::ints(std::uint32_t id, AttributeKey key) const {
    const GraphAttribute* attribute = find(id, key);
    return attribute == nullptr ? std::span<const std::int32_t>() : graph_->ints.subspan(attribute->first, attribute->count);
}

std::int32_t GraphIndex::integer(std::uint32_t id, AttributeKey key, std::int32_t missing) const {
    const auto values = ints(id, key);
    return values.empty() ? missing : values.front();
}

float GraphIndex::real(std::uint32_t id, AttributeKey key, float missing) const {
    const GraphAttribute* attribute = find(id, key);
    return attribute == nullptr || attribute->count == 0 ? missing : graph_->floats[attribute->first];
}

std::string_view GraphIndex::node_name(std::uint32_t id) const { return pool_text(graph_->name_pool, node(id).name); }

std::string_view GraphIndex::tensor_name(std::uint32_t id) const { return pool_text(graph_->name_pool, graph_->tensors[id].name); }

std::string_view GraphIndex::kind_name(OperatorKind kind) {
    return kind <= OperatorKind::MAX ? fbs::EnumNameOperatorKind(kind) : "unknown operator";
}

}  // namespace weft::preparation
