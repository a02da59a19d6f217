#include "prepare/ipu21/attention.h"

#include <algorithm>
#include <array>

namespace weft::ipu21 {
namespace {

using preparation::GraphIndex;

bool has_perm(const GraphIndex& index, std::uint32_t node, std::span<const std::int32_t> wanted) {
    return std::ranges::equal(index.ints(node, AttributeKey::Perm), wanted);
}

/// The only reader of a tensor, or none where there are more or fewer.
std::uint32_t only_reader(const GraphIndex& index, std::uint32_t tensor) {
    const auto readers = index.consumers(tensor);
    return readers.size() == 1 ? readers.front() : no_id;
}

/// Walks towards the inputs over one node at a time, noting what it passes.
class Walk {
public:
    Walk(const GraphIndex& index, std::vector<std::uint32_t>& nodes) : index_(index), nodes_(nodes) {}

    /// The node that made `tensor` if it is of `kind` and nobody else reads its result.
    std::uint32_t back(std::uint32_t tensor, OperatorKind kind) {
        const std::uint32_t node = index_.producer(tensor);
        if (node == no_id || index_.kind(node) != kind || index_.consumers(tensor).size() != 1) return no_id;
        nodes_.push_back(node);
        return node;
    }

    /// `tensor` before a multiplication, division or addition of a constant; the tensor itself where there is none.
    std::uint32_t before_constants(std::uint32_t tensor) {
        for (;;) {
            const std::uint32_t node = index_.producer(tensor);
            if (node == no_id || index_.consumers(tensor).size() != 1) return tensor;
            const OperatorKind kind = index_.kind(node);
            if (kind != OperatorKind::Mul && kind != OperatorKind::Div && kind != OperatorKind::Add) return tensor;
            const std::uint32_t a = index_.input(node, 0);
            const std::uint32_t b = index_.input(node, 1);
            if (index_.is_weight(a) == index_.is_weight(b)) return tensor;
            nodes_.push_back(node);
            tensor = index_.is_weight(a) ? b : a;
        }
    }

    /// [batch, heads, ...] back to [batch, rows, heads * columns]; `perm`: the last transpose.
    std::uint32_t joined_heads(std::uint32_t tensor, std::span<const std::int32_t> perm) {
        const std::uint32_t transpose = back(tensor, OperatorKind::Transpose);
        if (transpose == no_id || !has_perm(index_, transpose, perm)) return no_id;
        const std::uint32_t reshape = back(index_.input(transpose, 0), OperatorKind::Reshape);
        return reshape == no_id ? no_id : index_.input(reshape, 0);
    }

private:
    const GraphIndex& index_;
    std::vector<std::uint32_t>& nodes_;
};

constexpr std::array<std::int32_t, 4> split_heads{0, 2, 1, 3};
constexpr std::array<std::int32_t, 4> split_keys{0, 2, 3, 1};
constexpr std::array<std::int32_t, 4> swap_last{0, 1, 3, 2};

std::uint32_t keys_before(const GraphIndex& index, Walk& walk, std::uint32_t tensor) {
    const std::uint32_t node = index.producer(tensor);
    if (node != no_id && index.kind(node) == OperatorKind::Transpose && has_perm(index, node, swap_last)) {
        (void)walk.back(tensor, OperatorKind::Transpose);
        tensor = walk.before_constants(index.input(node, 0));
        return walk.joined_heads(tensor, split_heads);
    }
    return walk.joined_heads(tensor, split_keys);
}

bool joins(const GraphIndex& index, std::uint32_t tensor, std::uint32_t batch, std::uint32_t rows, std::uint32_t columns) {
    const auto dims = index.dims(tensor);
    std::uint64_t leading = 1;
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) leading *= dims[i];
    return dims.size() >= 2 && dims.back() == columns && leading == std::uint64_t{batch} * rows;
}

}  // namespace

std::optional<AttentionMatch> match_attention(const GraphIndex& index, std::uint32_t softmax) {
    AttentionMatch match;
    match.nodes.push_back(softmax);
    Walk walk(index, match.nodes);
    const std::uint32_t probabilities = index.outputs(softmax)[0];
    const auto shape = index.dims(probabilities);
    if (shape.size() != 4 || index.integer(softmax, AttributeKey::Axis, -1) != 3) return std::nullopt;
    const std::uint32_t scores = walk.back(walk.before_constants(index.input(softmax, 0)), OperatorKind::MatMul);
    if (scores == no_id) return std::nullopt;
    const std::uint32_t product = only_reader(index, probabilities);
    if (product == no_id || index.kind(product) != OperatorKind::MatMul || index.input(product, 0) != probabilities) return std::nullopt;
    match.nodes.push_back(product);

    match.q = walk.joined_heads(walk.before_constants(index.input(scores, 0)), split_heads);
    match.k = keys_before(index, walk, walk.before_constants(index.input(scores, 1)));
    match.v = walk.joined_heads(index.input(product, 1), split_heads);
    if (match.q == no_id || match.k == no_id || match.v == no_id) return std::nullopt;

    const std::uint32_t context = index.outputs(product)[0];
    const std::uint32_t transpose = only_reader(index, context);
    if (transpose == no_id || index.kind(transpose) != OperatorKind::Transpose || !has_perm(index, transpose, split_heads)) return std::nullopt;
    const std::uint32_t reshape = only_reader(index, index.outputs(transpose)[0]);
    if (reshape == no_id || index.kind(reshape) != OperatorKind::Reshape) return std::nullopt;
    match.nodes.push_back(transpose);
    match.nodes.push_back(reshape);
    match.output = index.outputs(reshape)[0];
    match.last_node = reshape;

    const auto context_shape = index.dims(context);
    match.batch = shape[0];
    match.heads = shape[1];
    match.query_rows = shape[2];
    match.key_rows = shape[3];
    match.head_columns = context_shape[3];
    const std::uint32_t columns = match.heads * match.head_columns;
    if (!joins(index, match.output, match.batch, match.query_rows, columns) || !joins(index, match.q, match.batch, match.query_rows, columns) ||
        !joins(index, match.k, match.batch, match.key_rows, columns) || !joins(index, match.v, match.batch, match.key_rows, columns)) {
        return std::nullopt;
    }
    std::ranges::sort(match.nodes);
    return match;
}

}  // namespace weft::ipu21
