#include "prepare/ipu21/operators.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "prepare/ipu21/attention.h"

namespace weft::ipu21 {
namespace {

using preparation::GraphIndex;

constexpr std::uint64_t elem_limit = std::uint64_t{1} << 31U;

bool is_unary(OperatorKind kind) {
    switch (kind) {
        case OperatorKind::Relu: case OperatorKind::LeakyRelu: case OperatorKind::Clip: case OperatorKind::HardSigmoid:
        case OperatorKind::HardSwish: case OperatorKind::Sigmoid: case OperatorKind::Tanh: case OperatorKind::Exp: case OperatorKind::Gelu:
        case OperatorKind::Erf: case OperatorKind::Sqrt: return true;
        default: return false;
    }
}

bool is_binary(OperatorKind kind) {
    switch (kind) {
        case OperatorKind::Add: case OperatorKind::Sub: case OperatorKind::Mul: case OperatorKind::Div: case OperatorKind::Max:
        case OperatorKind::Min: case OperatorKind::PRelu: return true;
        default: return false;
    }
}

bool is_transcendental(OperatorKind kind) {
    return kind == OperatorKind::Gelu || kind == OperatorKind::Erf || kind == OperatorKind::Tanh || kind == OperatorKind::Sigmoid ||
           kind == OperatorKind::Exp;
}

/// What is known of a tensor while nodes are visited in order.
struct Melted {
    std::uint32_t root = no_id;            ///< tensor whose elementwise function this is; itself where it stands in memory
    std::uint32_t constants = 0;           ///< per-column constants on the way
    bool transcendental = false;
};

/// A tensor as the elements of another one in another order: TileAxis rows of its rearrangement.
struct Reordered {
    std::uint32_t root = no_id;
    std::vector<TileAxis> axes;
};

/// Cuts axes where `inner` elements, in the order that they make, lie behind; false where that is inside of an index.
bool split_before(std::vector<TileAxis>& axes, std::uint64_t inner) {
    std::uint64_t unit = 1;
    for (std::size_t i = axes.size(); i-- > 0 && unit < inner; unit *= axes[i].extent) {
        if (inner >= unit * axes[i].extent) continue;
        const std::uint64_t part = inner / unit;
        if (inner % unit != 0 || axes[i].extent % part != 0) return false;
        const TileAxis whole = axes[i];
        axes[i] = {static_cast<std::uint32_t>(whole.extent / part), static_cast<std::uint32_t>(whole.input_stride * part)};
        axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(i) + 1, {static_cast<std::uint32_t>(part), whole.input_stride});
        return true;
    }
    return true;
}

/// Permutes the axes `dims` of a reordered tensor; false, and nothing else, where they are not its own.
bool transpose(Reordered& reordered, std::span<const std::uint32_t> dims, std::span<const std::uint32_t> perm) {
    std::vector<TileAxis> axes = reordered.axes;
    std::uint64_t inner = 1;
    for (std::size_t i = dims.size(); i-- > 1;) {
        inner *= dims[i];
        if (!split_before(axes, inner)) return false;
    }
    // Of every dimension its run of axes.
    std::vector<std::vector<TileAxis>> runs;
    std::size_t next = 0;
    for (const std::uint32_t extent : dims) {
        std::vector<TileAxis>& run = runs.emplace_back();
        for (std::uint64_t covered = 1; covered < extent && next < axes.size(); ++next) {
            covered *= axes[next].extent;
            run.push_back(axes[next]);
        }
    }
    reordered.axes.clear();
    for (const std::uint32_t axis : perm) reordered.axes.insert(reordered.axes.end(), runs[axis].begin(), runs[axis].end());
    if (reordered.axes.empty()) reordered.axes.push_back({1, 1});
    return true;
}

/// Whether every element stands where it was.
bool is_identity(const Reordered& reordered) {
    std::uint64_t unit = 1;
    for (std::size_t i = reordered.axes.size(); i-- > 0; unit *= reordered.axes[i].extent) {
        if (reordered.axes[i].extent != 1 && reordered.axes[i].input_stride != unit) return false;
    }
    return true;
}

class Importer {
public:
    Importer(const GraphIndex& index, TasksColumns& tasks)
        : index_(index), tasks_(tasks), value_of_(index.tensor_count(), no_id), melted_(index.tensor_count()),
          reordered_(index.tensor_count()), kept_(index.tensor_count(), false), done_(index.node_count(), false) {}

    void run() {
        for (const std::uint32_t tensor : index_.graph().outputs) kept_[tensor] = true;
        find_attentions();
        find_slices();
        for (const std::uint32_t tensor : index_.graph().inputs) {
            if (!index_.consumers(tensor).empty() || kept_[tensor]) value_of_[tensor] = add_value(tensor, no_id);
            melted_[tensor].root = tensor;
        }
        for (std::uint32_t node = 0; node < index_.node_count(); ++node) {
            const auto attention = std::ranges::find(attentions_, node, &AttentionMatch::last_node);
            if (attention != attentions_.end()) add_attention(*attention);
            if (!done_[node]) visit(node);
        }
        for (const std::uint32_t tensor : index_.graph().outputs) {
            const std::uint32_t value = objections_.empty() ? need(tensor) : no_id;
            if (value != no_id) tasks_.tile_values[value].is_output = 1;
        }
        if (!objections_.empty()) refuse_all();
    }

private:

    void object(std::uint32_t node, std::string_view why) {
        objections_.push_back(fmt::format("{} ({}): {}", index_.node_name(node), GraphIndex::kind_name(index_.kind(node)), why));
    }

    [[noreturn]] void refuse_all() const {
        std::string list;
        for (const std::string& objection : objections_) list += "\n  " + objection;
        refuse("{} operators have no plan on tile processors:{}", objections_.size(), list);
    }

    std::uint32_t add_value(std::uint32_t tensor, std::uint32_t producer) {
        const auto dims = index_.dims(tensor);
        std::uint64_t rows = 1;
        for (std::size_t i = 0; i + 1 < dims.size(); ++i) rows = checked_multiply<std::uint64_t>(rows, dims[i]);
        const std::uint64_t columns = dims.empty() ? 1 : dims.back();
        if (rows == 0 || columns == 0 || rows * columns >= elem_limit || rows >= elem_limit) {
            refuse("tensor '{}' is empty or has 2^31 elements or more", index_.tensor_name(tensor));
        }
        tasks_.tile_values.push_back({pool_append(tasks_.name_pool, index_.tensor_name(tensor)), tensor, static_cast<std::uint32_t>(rows),
                                      static_cast<std::uint32_t>(columns), producer, 0});
        return static_cast<std::uint32_t>(tasks_.tile_values.size() - 1);
    }

    TileOperator& add_operator(TileOperatorKind kind, std::uint32_t node, std::uint32_t output_tensor, std::span<const std::uint32_t> inputs,
                               std::string_view suffix = {}) {
        const auto id = static_cast<std::uint32_t>(tasks_.tile_operators.size());
        TileOperator op{};
        op.name = pool_append(tasks_.name_pool, fmt::format("{}{}", index_.node_name(node), suffix));
        op.kind = static_cast<std::uint32_t>(kind);
        op.first_input = static_cast<std::uint32_t>(tasks_.tile_inputs.size());
        op.input_count = static_cast<std::uint32_t>(inputs.size());
        op.batch = 1;
        op.heads = 1;
        op.graph_node = node;
        tasks_.tile_inputs.insert(tasks_.tile_inputs.end(), inputs.begin(), inputs.end());
        op.output = add_value(output_tensor, id);
        value_of_[output_tensor] = op.output;
        melted_[output_tensor] = {output_tensor, 0, false};
        op.m = tasks_.tile_values[op.output].rows;
        op.n = tasks_.tile_values[op.output].columns;
        tasks_.tile_operators.push_back(op);
        return tasks_.tile_operators.back();
    }

    /// The value that holds `tensor`, made from its root where it only exists as a function of it. No id where that is refused.
    std::uint32_t need(std::uint32_t tensor) {
        if (value_of_[tensor] != no_id) return value_of_[tensor];
        if (reordered_[tensor].root != no_id) return add_rearrange(tensor);
        const Melted melted = melted_[tensor];
        if (melted.root == no_id || melted.root == tensor) return no_id;
        const std::uint32_t input = need(melted.root);
        if (input == no_id) return no_id;
        TileOperator& op = add_operator(melted.transcendental ? TileOperatorKind::Gelu : TileOperatorKind::Pointwise, index_.producer(tensor), tensor, {&input, 1});
        op.constant_elems = melted.constants;
        return value_of_[tensor];
    }

    /// Whether someone needs the tensor itself: a reader that is not elementwise, or the network's caller.
    [[nodiscard]] bool stands_alone(std::uint32_t tensor) const {
        if (kept_[tensor]) return true;
        return std::ranges::any_of(index_.consumers(tensor), [&](std::uint32_t node) {
            return !is_unary(index_.kind(node)) && !is_binary(index_.kind(node)) && index_.kind(node) != OperatorKind::Reshape;
        });
    }

    void find_attentions() {
        for (std::uint32_t node = 0; node < index_.node_count(); ++node) {
            if (index_.kind(node) != OperatorKind::Softmax) continue;
            auto match = match_attention(index_, node);
            if (!match) continue;
            for (const std::uint32_t covered : match->nodes) done_[covered] = true;
            attentions_.push_back(std::move(*match));
        }
    }

    /// Linear nodes whose result is only cut into column runs: the weights are cut instead.
    void find_slices() {
        for (std::uint32_t node = 0; node < index_.node_count(); ++node) {
            if (index_.kind(node) != OperatorKind::Linear) continue;
            const std::uint32_t result = index_.outputs(node)[0];
            const auto readers = index_.consumers(result);
            const std::size_t rank = index_.dims(result).size();
            const auto cuts_columns = [&](std::uint32_t reader) {
                if (index_.kind(reader) != OperatorKind::Remap || rank > 8) return false;
                for (std::size_t axis = 0; axis < rank; ++axis) {
                    const auto key = static_cast<AttributeKey>(static_cast<std::uint32_t>(AttributeKey::MapAxis0) + axis);
                    const auto map = index_.ints(reader, key);
                    if (axis + 1 < rank && index_.has(reader, key)) return false;
                    if (axis + 1 == rank && (map.empty() || map[0] < 0)) return false;
                    for (std::size_t i = 1; i < map.size(); ++i) {
                        if (map[i] != map[i - 1] + 1) return false;
                    }
                }
                return true;
            };
            if (readers.empty() || kept_[result] || !std::ranges::all_of(readers, cuts_columns)) continue;
            for (const std::uint32_t reader : readers) sliced_.emplace_back(reader, node);
            done_[node] = true;
        }
    }

    void add_gemm(std::uint32_t linear, std::uint32_t node) {
        const std::uint32_t input = need(index_.input(linear, 0));
        if (input == no_id) return object(linear, "its input is not there");
        const auto weight = index_.dims(index_.input(linear, 1));
        TileOperator& op = add_operator(TileOperatorKind::Gemm, node, index_.outputs(node)[0], {&input, 1});
        op.k = weight[0];
        if (index_.input(linear, 2) != no_id) op.constant_elems = op.n;
    }

    void add_attention(const AttentionMatch& match) {
        const std::uint32_t inputs[] = {need(match.q), need(match.k), need(match.v)};
        if (std::ranges::find(inputs, no_id) != std::end(inputs)) return object(match.last_node, "an input of the attention is not there");
        TileOperator& op = add_operator(TileOperatorKind::Attention, match.last_node, match.output, inputs);
        op.m = match.query_rows;
        op.n = match.head_columns;
        op.k = match.key_rows;
        op.batch = match.batch;
        op.heads = match.heads;
    }

    void visit(std::uint32_t node) {
        const OperatorKind kind = index_.kind(node);
        if (index_.outputs(node).size() != 1) return object(node, "it has several outputs");
        const std::uint32_t result = index_.outputs(node)[0];
        const auto slice = std::ranges::find(sliced_, node, &std::pair<std::uint32_t, std::uint32_t>::first);
        if (slice != sliced_.end()) return add_gemm(slice->second, node);
        if (kind == OperatorKind::Linear) return add_gemm(node, node);
        if (kind == OperatorKind::LayerNorm) return add_rowwise(TileOperatorKind::LayerNorm, node, 2 * index_.dims(result).back());
        if (kind == OperatorKind::Softmax) {
            if (static_cast<std::size_t>(index_.integer(node, AttributeKey::Axis, -1)) + 1 != index_.dims(result).size()) {
                return object(node, "only a softmax over the last axis has a plan");
            }
            return add_rowwise(TileOperatorKind::Softmax, node, 0);
        }
        if (kind == OperatorKind::Cast) return add_rowwise(TileOperatorKind::Cast, node, 0);
        if (kind == OperatorKind::Reshape || kind == OperatorKind::Transpose) return visit_reorder(node);
        if (kind == OperatorKind::MatMul) return visit_product(node);
        if (is_unary(kind) || is_binary(kind)) return visit_elementwise(node);
        object(node, "no such operator");
    }

    void add_rowwise(TileOperatorKind kind, std::uint32_t node, std::uint32_t constants) {
        const std::uint32_t input = need(index_.input(node, 0));
        if (input == no_id) return object(node, "its input is not there");
        add_operator(kind, node, index_.outputs(node)[0], {&input, 1}).constant_elems = constants;
    }

    /// Reshape and Transpose change where elements stand. What they do together is noted, and made where somebody needs it: a run of them is
    /// one rearrangement, and what leaves every element of the matrix in its place is none.
    void visit_reorder(std::uint32_t node) {
        const std::uint32_t from = index_.input(node, 0);
        const std::uint32_t to = index_.outputs(node)[0];
        if (index_.is_weight(from)) return object(node, "its input is a constant");
        Reordered reordered = reordered_[from].root != no_id ? reordered_[from] : untouched(from);
        if (index_.kind(node) == OperatorKind::Transpose && !transpose(reordered, index_.dims(from), perm_of(node))) {
            // The axes do not lie between the elements of what was before; they do in the tensor itself.
            if (need(from) == no_id) return object(node, "its input is not there");
            reordered = untouched(from);
            WEFT_CHECK(transpose(reordered, index_.dims(from), perm_of(node)));
        }
        melted_[to] = {to, 0, false};
        if (is_in_place(reordered, to)) {
            value_of_[to] = need(reordered.root);
            if (value_of_[to] == no_id) return object(node, "its input is not there");
            return;
        }
        reordered_[to] = std::move(reordered);
        if (kept_[to] && need(to) == no_id) object(node, "its input is not there");
    }

    [[nodiscard]] Reordered untouched(std::uint32_t tensor) const {
        return {tensor, {{static_cast<std::uint32_t>(std::min(index_.elem_count(tensor), elem_limit)), 1}}};
    }

    /// Without an attribute the axes are reversed, as in ONNX.
    [[nodiscard]] std::vector<std::uint32_t> perm_of(std::uint32_t node) const {
        std::vector<std::uint32_t> perm;
        for (const std::int32_t axis : index_.ints(node, AttributeKey::Perm)) perm.push_back(static_cast<std::uint32_t>(axis));
        for (std::size_t axis = index_.dims(index_.input(node, 0)).size(); perm.empty() && axis > 0; --axis) perm.push_back(static_cast<std::uint32_t>(axis - 1));
        return perm;
    }

    /// Whether the elements stand in the matrix of `to` as in the root's.
    [[nodiscard]] bool is_in_place(const Reordered& reordered, std::uint32_t to) const {
        const auto columns = [&](std::uint32_t tensor) { return index_.dims(tensor).empty() ? 1 : index_.dims(tensor).back(); };
        return is_identity(reordered) && columns(reordered.root) == columns(to);
    }

    std::uint32_t add_rearrange(std::uint32_t tensor) {
        const Reordered reordered = reordered_[tensor];
        const std::uint32_t input = need(reordered.root);
        if (input == no_id) return no_id;
        const auto op = static_cast<std::uint32_t>(tasks_.tile_operators.size());
        tasks_.tile_rearrangements.push_back({op, static_cast<std::uint32_t>(tasks_.tile_axes.size()), static_cast<std::uint32_t>(reordered.axes.size())});
        tasks_.tile_axes.insert(tasks_.tile_axes.end(), reordered.axes.begin(), reordered.axes.end());
        add_operator(TileOperatorKind::Rearrange, index_.producer(tensor), tensor, {&input, 1});
        return value_of_[tensor];
    }

    /// Matrices multiplied one by one, or all by the same one, whose rows then are rows of one matrix.
    void visit_product(std::uint32_t node) {
        const std::uint32_t operands[] = {index_.input(node, 0), index_.input(node, 1)};
        const auto a = index_.dims(operands[0]);
        const auto b = index_.dims(operands[1]);
        if (index_.is_weight(operands[0]) || index_.is_weight(operands[1])) {
            return object(node, "a constant on its left side, or one of several matrices; only a single constant matrix on the right has a plan");
        }
        if (a.size() < 2 || b.size() < 2) return object(node, "a product with a vector; reshape it to a matrix");
        const std::uint64_t left = index_.elem_count(operands[0]) / (std::uint64_t{a.back()} * a[a.size() - 2]);
        const std::uint64_t right = index_.elem_count(operands[1]) / (std::uint64_t{b.back()} * b[b.size() - 2]);
        const bool alike = left == right && leading_extents(a) == leading_extents(b);
        if (!alike && right != 1) return object(node, "it repeats some of its matrices; expand them, or make it a product with one matrix");
        const std::uint32_t inputs[] = {need(operands[0]), need(operands[1])};
        if (inputs[0] == no_id || inputs[1] == no_id) return object(node, "its input is not there");
        TileOperator& op = add_operator(TileOperatorKind::Product, node, index_.outputs(node)[0], inputs);
        op.batch = static_cast<std::uint32_t>(right);
        op.m = tasks_.tile_values[op.output].rows / op.batch;
        op.k = a.back();
    }

    /// All axes but the last two, without those of one.
    [[nodiscard]] static std::vector<std::uint32_t> leading_extents(std::span<const std::uint32_t> dims) {
        std::vector<std::uint32_t> result;
        for (std::size_t i = 0; i + 2 < dims.size(); ++i) {
            if (dims[i] != 1) result.push_back(dims[i]);
        }
        return result;
    }

    void visit_elementwise(std::uint32_t node) {
        const std::uint32_t result = index_.outputs(node)[0];
        Melted melted;
        bool mixed = false;
        for (const std::uint32_t tensor : index_.inputs(node)) {
            if (index_.is_weight(tensor)) {
                melted.constants += index_.elem_count(tensor) > 1 ? index_.dims(tensor).back() : 1;
                continue;
            }
            if (!std::ranges::equal(index_.dims(tensor), index_.dims(result))) return object(node, "it broadcasts an activation");
            const Melted& operand = melted_[tensor];
            if (operand.root == no_id) return object(node, "its input is not there");
            mixed = mixed || (melted.root != no_id && melted.root != operand.root);
            melted.root = operand.root;
            melted.constants += operand.constants;
            melted.transcendental = melted.transcendental || operand.transcendental;
        }
        if (melted.root == no_id) return object(node, "both its operands are constants");
        if (!mixed) {
            melted.transcendental = melted.transcendental || is_transcendental(index_.kind(node));
            melted_[result] = melted;
            if (stands_alone(result)) (void)need(result);
            if (value_of_[result] != no_id) melted_[result] = {result, 0, false};
            return;
        }
        const std::uint32_t inputs[] = {need(index_.input(node, 0)), need(index_.input(node, 1))};
        if (inputs[0] == no_id || inputs[1] == no_id) return object(node, "its input is not there");
        add_operator(TileOperatorKind::Add, node, result, inputs);
    }

    const GraphIndex& index_;
    TasksColumns& tasks_;
    std::vector<std::uint32_t> value_of_;    // per tensor
    std::vector<Melted> melted_;
    std::vector<Reordered> reordered_;       // of tensors that no operator made yet
    std::vector<bool> kept_;
    std::vector<bool> done_;                 // per node: part of something larger
    std::vector<AttentionMatch> attentions_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sliced_;   // Remap node, its Linear
    std::vector<std::string> objections_;
};

}  // namespace

void import_operators(const GraphIndex& index, TasksColumns& tasks) { Importer(index, tasks).run(); }

}  // namespace weft::ipu21
