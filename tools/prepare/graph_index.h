#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/graph.h"
#include "base/id.h"

namespace weft::preparation {

/// Look-ups over a .graph that its columns do not hold: producers, consumers (CSR) and attributes by key.
class GraphIndex {
public:
    explicit GraphIndex(const Graph& graph);

    [[nodiscard]] const Graph& graph() const { return *graph_; }
    [[nodiscard]] std::size_t node_count() const { return graph_->nodes.size(); }
    [[nodiscard]] std::size_t tensor_count() const { return graph_->tensors.size(); }
    [[nodiscard]] const GraphNode& node(std::uint32_t id) const { return graph_->nodes[id]; }
    [[nodiscard]] OperatorKind kind(std::uint32_t id) const { return static_cast<OperatorKind>(graph_->nodes[id].kind); }

    /// Tensor ids (0xffffffff: absent) of a node's operands.
    [[nodiscard]] std::span<const std::uint32_t> inputs(std::uint32_t id) const;
    [[nodiscard]] std::span<const std::uint32_t> outputs(std::uint32_t id) const;
    /// The id of operand `position`, or 0xffffffff.
    [[nodiscard]] std::uint32_t input(std::uint32_t id, std::size_t position) const;

    [[nodiscard]] std::span<const std::uint32_t> dims(std::uint32_t tensor) const;
    [[nodiscard]] std::uint64_t elem_count(std::uint32_t tensor) const;
    [[nodiscard]] bool is_weight(std::uint32_t tensor) const { return graph_->tensors[tensor].blob != no_id; }

    /// The node that writes a tensor, or 0xffffffff.
    [[nodiscard]] std::uint32_t producer(std::uint32_t tensor) const { return producer_[tensor]; }
    /// The nodes that read a tensor, once per operand.
    [[nodiscard]] std::span<const std::uint32_t> consumers(std::uint32_t tensor) const;

    [[nodiscard]] std::span<const std::int32_t> ints(std::uint32_t id, AttributeKey key) const;
    /// True where the node has the attribute (possibly empty).
    [[nodiscard]] bool has(std::uint32_t id, AttributeKey key) const;
    [[nodiscard]] std::int32_t integer(std::uint32_t id, AttributeKey key, std::int32_t missing) const;
    [[nodiscard]] float real(std::uint32_t id, AttributeKey key, float missing) const;

    [[nodiscard]] std::string_view node_name(std::uint32_t id) const;
    [[nodiscard]] std::string_view tensor_name(std::uint32_t id) const;
    [[nodiscard]] static std::string_view kind_name(OperatorKind kind);

private:
    [[nodiscard]] const GraphAttribute* find(std::uint32_t id, AttributeKey key) const;

    const Graph* graph_;
    std::vector<std::uint32_t> producer_;
    std::vector<std::uint32_t> first_consumer_;
    std::vector<std::uint32_t> consumer_;
};

}  // namespace weft::preparation
