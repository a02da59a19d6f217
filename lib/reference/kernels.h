#pragma once

#include <optional>
#include <string_view>

#include "artifact/graph.h"
#include "reference/tensor.h"

// What run_nodes() calls, one function per group of operators. Every kernel checks what it needs not to read or write out of
// bounds, sets output.values, and finds output.dims set to the graph's shape.
namespace weft {

/// One node with its operands at hand.
struct NodeContext {
    const Graph& graph;
    const GraphNode& node;
    std::vector<const HostTensor*> inputs;   ///< null: absent optional input

    [[nodiscard]] OperatorKind kind() const { return static_cast<OperatorKind>(node.kind); }
    [[nodiscard]] std::string_view name() const { return pool_text(graph.name_pool, node.name); }
    [[nodiscard]] std::span<const std::int32_t> ints(AttributeKey key) const;
    [[nodiscard]] std::optional<float> number(AttributeKey key) const;
    /// The only value of `key`, or `otherwise` where the attribute is absent.
    [[nodiscard]] std::int32_t integer(AttributeKey key, std::int32_t otherwise) const;
    /// Input `index`; Failure(bad_input) where it is absent.
    [[nodiscard]] const HostTensor& input(std::size_t index) const;
    [[nodiscard]] bool has_input(std::size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
    /// Attribute Axis as an index into `rank` axes.
    [[nodiscard]] std::size_t axis(std::size_t rank) const;

    /// Failure(bad_input) naming the node unless `condition`.
    void require(bool condition, std::string_view rule) const;
};

void run_convolution(const NodeContext& context, HostTensor& output);
void run_linear(const NodeContext& context, HostTensor& output);
void run_pool(const NodeContext& context, HostTensor& output);
void run_binary(const NodeContext& context, HostTensor& output);       // Add ... Min, PRelu
void run_unary(const NodeContext& context, HostTensor& output);        // Relu ... Tanh, Cast
void run_softmax(const NodeContext& context, HostTensor& output);      // LogSoftmax too
void run_matmul(const NodeContext& context, HostTensor& output);
void run_layer_norm(const NodeContext& context, HostTensor& output);
void run_concat(const NodeContext& context, HostTensor& output);
void run_remap(const NodeContext& context, HostTensor& output);
void run_transpose(const NodeContext& context, HostTensor& output);
void run_reshape(const NodeContext& context, HostTensor& output);

/// For every axis of an output, the source offset that each index adds, or `outside`. The source offset of an element is
/// the sum over the axes, or `outside` where any axis says so.
using OffsetTables = std::vector<std::vector<std::int64_t>>;
inline constexpr std::int64_t outside = -1;

/// Calls body(source offset or `outside`) for every element in row-major order.
template <class Body>
void walk(const OffsetTables& tables, std::size_t axis, std::int64_t base, const Body& body) {
    if (axis == tables.size()) {
        body(base);
        return;
    }
    for (const std::int64_t offset : tables[axis]) {
        const std::int64_t next = base == outside || offset == outside ? outside : base + offset;
        walk(tables, axis + 1, next, body);
    }
}

/// Tables that read a tensor of shape `from` broadcast to `to` (ONNX rules: right-aligned, axes of one repeat).
[[nodiscard]] OffsetTables broadcast_tables(const NodeContext& context, std::span<const std::uint32_t> from,
                                            std::span<const std::uint32_t> to);

}  // namespace weft
