#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "prepare/draft.h"
#include "prepare/graph_index.h"
#include "prepare/host_split.h"
#include "prepare/shuffle.h"

namespace weft::preparation {

/// The state of draft_families while it walks the graph: where each graph tensor stands, and to which family steps may still be
/// added.
class Drafter {
public:
    Drafter(const GraphIndex& index, const HostSplit& split, std::uint32_t crossbar_rows);
    [[nodiscard]] Draft draft();

private:
    /// A step's operand that needs no new family.
    struct Operand {
        OperandKind kind = OperandKind::None;
        std::uint32_t value = 0;                // task tensor, or row of constants
    };

    [[nodiscard]] bool on_chip(std::uint32_t node) const { return split_.side[node] == HostSplit::Side::chip; }
    void find_silus();
    [[nodiscard]] bool is_read_by_matrices(std::uint32_t tensor) const;
    [[nodiscard]] Layout input_layout(std::uint32_t tensor) const;
    [[nodiscard]] Layout transpose_layout(std::uint32_t tensor) const;
    std::uint32_t weight_row(std::uint32_t tensor);

    std::uint32_t add_family(std::string_view name, FamilyKind kind, std::uint32_t graph_tensor, const Layout& layout,
                             std::vector<std::uint32_t> inputs);
    std::uint32_t add_copy(std::string_view name, const View& view, std::span<const std::uint32_t> dims,
                           std::vector<std::uint64_t> strides, const Layout& layout);
    void set_result(std::uint32_t tensor, std::uint32_t family);
    [[nodiscard]] View view_of(std::uint32_t tensor);
    View require(std::uint32_t tensor, const Layout& layout);
    View require_image(std::uint32_t tensor);

    void add_node(std::uint32_t node);
    void add_window(Family& family, std::uint32_t node, std::uint32_t kernel_rows, std::uint32_t kernel_columns);
    void add_bias(std::uint32_t family, std::uint32_t node);
    void add_conv(std::uint32_t node);
    void add_linear(std::uint32_t node);

    // concat.cpp
    void add_concat(std::uint32_t node);
    bool add_as_parts(std::uint32_t node, std::uint32_t axis);
    [[nodiscard]] bool takes_parts(std::uint32_t tensor, std::size_t count) const;

    // shuffle.cpp
    bool add_shuffle(std::uint32_t node);
    void set_shuffled(std::uint32_t tensor, std::uint32_t family, std::vector<std::uint32_t> order);
    void unshuffle(std::uint32_t tensor);
    [[nodiscard]] bool is_only_view(std::uint32_t tensor) const;
    [[nodiscard]] bool absorbs_shuffle(std::uint32_t node) const;

    // pools.cpp
    void add_pool(std::uint32_t node);
    std::uint32_t add_pool_families(std::string_view name, std::uint32_t node, std::uint32_t output, std::uint32_t x);
    [[nodiscard]] PoolMode pool_mode(std::uint32_t node) const;

    void add_remap(std::uint32_t node);
    void add_reshape(std::uint32_t node);
    void add_transpose(std::uint32_t node);
    void add_outputs();

    // pointwise.cpp
    void add_pointwise(std::uint32_t node);
    void add_unary(std::uint32_t node, std::uint32_t x, Step step);
    void add_binary(std::uint32_t node);
    void add_constant_operand(std::uint32_t node, std::uint32_t x, std::uint32_t constant, StepKind kind);
    void add_activations(std::uint32_t node, std::uint32_t x, std::uint32_t y, StepKind x_first, StepKind y_first);
    [[nodiscard]] bool is_open(std::uint32_t tensor) const { return open_family_[tensor] != no_id && uses_[tensor] == 1; }
    std::uint32_t family_for_steps(std::uint32_t node, std::uint32_t x);
    void append_step(std::uint32_t family, Step step, const Operand& operand);
    void continue_result(std::uint32_t tensor, const View& view, std::uint32_t family);
    [[nodiscard]] Operand direct_operand(std::uint32_t operand, std::uint32_t shape_of, const View& view);
    std::uint32_t expand(std::uint32_t node, std::uint32_t tensor, std::uint32_t shape_of, const Layout& layout);
    [[nodiscard]] std::uint32_t producer_of(std::uint32_t tensor) { return draft_.tensors[view_of(tensor).tensor].producer; }

    const GraphIndex& index_;
    const HostSplit& split_;
    std::uint32_t crossbar_rows_;
    Draft draft_;
    std::vector<View> views_;                   // per graph tensor on the chip
    std::vector<std::vector<std::uint32_t>> parts_;     // per graph tensor that stands as parts only: their task tensors, by channel
    std::vector<Shuffle> shuffles_;
    std::vector<std::uint32_t> shuffled_;       // per graph tensor: its row of shuffles, or none; its view is made when it is asked for
    std::vector<std::uint32_t> open_family_;    // per graph tensor: the family whose last result it is, or none
    std::vector<std::uint32_t> uses_;           // per graph tensor: readers on the chip, chip outputs included
    std::vector<std::uint32_t> weight_rows_;    // per blob: row of weights, or none
    std::vector<std::uint32_t> silu_input_;     // per Mul node: x of x * Sigmoid(x), or none
    std::vector<char> skipped_;                 // per node: part of another node's step
    std::vector<std::pair<std::uint32_t, View>> relayouts_;
};

}  // namespace weft::preparation
