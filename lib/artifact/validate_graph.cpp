#include <algorithm>
#include <array>
#include <optional>

#include "artifact/graph.h"
#include "artifact/validate.h"
#include "base/id.h"

namespace weft {
namespace {

constexpr std::uint32_t kind_count = static_cast<std::uint32_t>(OperatorKind::Sqrt) + 1;
constexpr std::uint32_t map_axis_first = static_cast<std::uint32_t>(AttributeKey::MapAxis0);
constexpr std::uint32_t map_axis_last = static_cast<std::uint32_t>(AttributeKey::MapAxis7);
constexpr std::uint64_t elem_limit = std::uint64_t{1} << 48;
constexpr std::size_t rank_limit = 32;

bool holds_floats(std::uint32_t key) {
    switch (static_cast<AttributeKey>(key)) {
        case AttributeKey::Alpha:
        case AttributeKey::Beta:
        case AttributeKey::Minimum:
        case AttributeKey::Maximum:
        case AttributeKey::Fill:
            return true;
        default:
            return false;
    }
}

bool is_known_key(std::uint32_t key) {
    return key <= static_cast<std::uint32_t>(AttributeKey::To) || (key >= map_axis_first && key <= map_axis_last);
}

/// How many operands a kind takes.
struct Arity {
    std::uint32_t least;
    std::uint32_t most;
};

Arity arity_of(OperatorKind kind) {
    switch (kind) {
        case OperatorKind::Conv:
        case OperatorKind::Linear:
            return {2, 3};
        case OperatorKind::Add:
        case OperatorKind::Sub:
        case OperatorKind::Mul:
        case OperatorKind::Div:
        case OperatorKind::Max:
        case OperatorKind::Min:
        case OperatorKind::PRelu:
        case OperatorKind::MatMul:
            return {2, 2};
        case OperatorKind::LayerNorm:
            return {2, 3};
        case OperatorKind::Concat:
            return {1, 0xffffffffU};
        case OperatorKind::HostOther:
            return {0, 0xffffffffU};
        default:
            return {1, 1};
    }
}

class GraphCheck {
public:
    GraphCheck(const Graph& graph, std::string_view file) : graph_(graph), check_(file) {}

    void run() {
        check_.pool(graph_.name_pool, "name_pool");
        for (std::size_t i = 0; i < graph_.tensors.size(); ++i) check_tensor(i);
        for (std::size_t i = 0; i < graph_.attributes.size(); ++i) check_attribute(i);
        check_boundary(graph_.inputs, TensorRole::Input, "inputs");
        ready_.assign(graph_.tensors.size(), false);
        for (std::size_t i = 0; i < graph_.tensors.size(); ++i)
            ready_[i] = role(i) == TensorRole::Input || role(i) == TensorRole::Weight;
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) check_node(i);
        for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
            if (!ready_[i]) check_.reject("tensors", i, "no node writes this activation");
        }
        check_boundary(graph_.outputs, TensorRole::Output, "outputs");
    }

private:
    using Dims = std::span<const std::uint32_t>;

    [[nodiscard]] TensorRole role(std::size_t tensor) const { return static_cast<TensorRole>(graph_.tensors[tensor].role); }
    [[nodiscard]] Dims dims(std::uint32_t tensor) const {
        return graph_.dims.subspan(graph_.tensors[tensor].first_dim, graph_.tensors[tensor].rank);
    }

    void check_tensor(std::size_t row) const {
        const GraphTensor& tensor = graph_.tensors[row];
        check_.text(tensor.name, graph_.name_pool, "tensors.name", row);
        check_.range(tensor.first_dim, tensor.rank, graph_.dims.size(), "tensors.first_dim", row);
        check_.below(tensor.rank, rank_limit + 1, "tensors.rank", row);
        check_.below(tensor.role, static_cast<std::uint32_t>(TensorRole::Output) + 1, "tensors.role", row);
        std::uint64_t count = 1;
        for (const std::uint32_t dim : dims(static_cast<std::uint32_t>(row))) {
            if (dim == 0) check_.reject("tensors.first_dim", row, "a dimension is zero");
            count *= dim;
            if (count > elem_limit) check_.reject("tensors.first_dim", row, "more than {} elements", elem_limit);
        }
        const bool is_weight = tensor.role == static_cast<std::uint32_t>(TensorRole::Weight);
        if (is_weight != (tensor.blob != no_id)) check_.reject("tensors.blob", row, "weights and nothing else have a blob");
        if (!is_weight) return;
        check_.below(tensor.blob, graph_.blobs.size(), "tensors.blob", row);
        const std::uint64_t bytes = graph_.blobs[tensor.blob].byte_count;
        if (bytes != count * sizeof(float))
            check_.reject("tensors.blob", row, "{} elements do not make a blob of {} bytes", count, bytes);
    }

    void check_attribute(std::size_t row) const {
        const GraphAttribute& attribute = graph_.attributes[row];
        if (!is_known_key(attribute.key)) check_.reject("attributes.key", row, "{} is not known", attribute.key);
        const std::size_t limit = holds_floats(attribute.key) ? graph_.floats.size() : graph_.ints.size();
        check_.range(attribute.first, attribute.count, limit, "attributes.first", row);
    }

    /// `listed` are all tensors of that role, each once.
    void check_boundary(Dims listed, TensorRole wanted, std::string_view column) const {
        std::vector<bool> seen(graph_.tensors.size(), false);
        for (std::size_t i = 0; i < listed.size(); ++i) {
            check_.below(listed[i], graph_.tensors.size(), column, i);
            if (role(listed[i]) != wanted) check_.reject(column, i, "tensor {} has another role", listed[i]);
            if (seen[listed[i]]) check_.reject(column, i, "tensor {} is listed twice", listed[i]);
            seen[listed[i]] = true;
        }
        for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
            if (role(i) == wanted && !seen[i]) check_.reject("tensors.role", i, "the tensor is missing in column '{}'", column);
        }
    }

    void check_node(std::size_t row) {
        const GraphNode& node = graph_.nodes[row];
        node_ = row;
        check_.text(node.name, graph_.name_pool, "nodes.name", row);
        check_.below(node.kind, kind_count, "nodes.kind", row);
        check_.range(node.first_input, node.input_count, graph_.operands.size(), "nodes.first_input", row);
        check_.range(node.first_output, node.output_count, graph_.operands.size(), "nodes.first_output", row);
        check_.range(node.first_attribute, node.attribute_count, graph_.attributes.size(), "nodes.first_attribute", row);
        const auto kind = static_cast<OperatorKind>(node.kind);
        const Arity arity = arity_of(kind);
        if (node.input_count < arity.least || node.input_count > arity.most)
            check_.reject("nodes.input_count", row, "{} operands", node.input_count);
        if (node.output_count != 1 && kind != OperatorKind::HostOther)
            check_.reject("nodes.output_count", row, "{} outputs instead of 1", node.output_count);
        check_operands(node, arity.least);
        check_keys(node);
        if (kind != OperatorKind::HostOther) check_shapes(kind);
        for (std::uint32_t k = 0; k < node.output_count; ++k) ready_[graph_.operands[node.first_output + k]] = true;
    }

    /// Operands exist and are computed before; outputs are activations that nothing wrote.
    void check_operands(const GraphNode& node, std::uint32_t required) const {
        for (std::uint32_t k = 0; k < node.input_count; ++k) {
            const std::uint32_t tensor = graph_.operands[node.first_input + k];
            if (tensor == no_id && k >= required) continue;
            check_.below(tensor, graph_.tensors.size(), "operands", node.first_input + k);
            if (!ready_[tensor]) check_.reject("nodes", node_, "operand {} is written later or never", k);
        }
        for (std::uint32_t k = 0; k < node.output_count; ++k) {
            const std::uint32_t tensor = graph_.operands[node.first_output + k];
            check_.below(tensor, graph_.tensors.size(), "operands", node.first_output + k);
            if (ready_[tensor]) check_.reject("nodes", node_, "its output is an input, a weight, or written twice");
        }
    }

    void check_keys(const GraphNode& node) const {
        std::array<bool, map_axis_last + 1> seen{};
        for (std::uint32_t k = 0; k < node.attribute_count; ++k) {
            const std::uint32_t key = graph_.attributes[node.first_attribute + k].key;
            if (seen[key]) check_.reject("nodes", node_, "attribute {} is given twice", key);
            seen[key] = true;
        }
    }

    [[nodiscard]] std::optional<GraphAttribute> find(AttributeKey key) const {
        const GraphNode& node = graph_.nodes[node_];
        for (std::uint32_t k = 0; k < node.attribute_count; ++k) {
            const GraphAttribute& attribute = graph_.attributes[node.first_attribute + k];
            if (attribute.key == static_cast<std::uint32_t>(key)) return attribute;
        }
        return std::nullopt;
    }

    /// `count` values of a required attribute, each at least `least`.
    [[nodiscard]] std::span<const std::int32_t> ints(AttributeKey key, std::size_t count, std::int32_t least) const {
        const auto attribute = find(key);
        if (!attribute || attribute->count != count)
            wrong("attribute {} is missing or has not {} values", static_cast<unsigned>(key), count);
        const auto values = graph_.ints.subspan(attribute->first, attribute->count);
        for (const std::int32_t value : values) {
            if (value < least) wrong("attribute {} holds {}", static_cast<unsigned>(key), value);
        }
        return values;
    }

    void require_float(AttributeKey key) const {
        const auto attribute = find(key);
        if (!attribute || attribute->count != 1) wrong("attribute {} is missing or not one value", static_cast<unsigned>(key));
    }

    template <class... Args>
    [[noreturn]] void wrong(fmt::format_string<Args...> text, Args&&... args) const {
        check_.reject("nodes", node_, "'{}': {}", pool_text(graph_.name_pool, graph_.nodes[node_].name),
                      fmt::format(text, std::forward<Args>(args)...));
    }

    [[nodiscard]] std::uint32_t operand(std::uint32_t k) const { return graph_.operands[graph_.nodes[node_].first_input + k]; }
    [[nodiscard]] Dims input(std::uint32_t k) const { return dims(operand(k)); }
    [[nodiscard]] Dims output() const { return dims(graph_.operands[graph_.nodes[node_].first_output]); }
    [[nodiscard]] bool has_input(std::uint32_t k) const { return k < graph_.nodes[node_].input_count && operand(k) != no_id; }

    void expect_output(std::span<const std::uint32_t> wanted) const {
        if (!std::equal(wanted.begin(), wanted.end(), output().begin(), output().end())) {
            wrong("its output has the shape [{}] instead of [{}]", fmt::join(output(), ", "), fmt::join(wanted, ", "));
        }
    }

    void require_rank(Dims shape, std::size_t rank) const {
        if (shape.size() != rank) wrong("an operand of {} dimensions instead of {}", shape.size(), rank);
    }

    [[nodiscard]] std::size_t axis_attribute() const {
        const auto axis = static_cast<std::size_t>(ints(AttributeKey::Axis, 1, 0)[0]);
        if (axis >= input(0).size()) wrong("axis {} of {} dimensions", axis, input(0).size());
        return axis;
    }

    void check_shapes(OperatorKind kind) const {
        switch (kind) {
            case OperatorKind::Conv:
                return check_conv();
            case OperatorKind::Linear:
                return check_linear();
            case OperatorKind::MaxPool:
            case OperatorKind::AveragePool:
                return check_pool(kind);
            case OperatorKind::Add:
            case OperatorKind::Sub:
            case OperatorKind::Mul:
            case OperatorKind::Div:
            case OperatorKind::Max:
            case OperatorKind::Min:
            case OperatorKind::PRelu:
                return check_broadcast(kind);
            case OperatorKind::Concat:
                return check_concat();
            case OperatorKind::Remap:
                return check_remap();
            case OperatorKind::Transpose:
                return check_transpose();
            case OperatorKind::Reshape:
                return check_reshape();
            case OperatorKind::Softmax:
            case OperatorKind::LogSoftmax:
                static_cast<void>(axis_attribute());
                break;
            case OperatorKind::LeakyRelu:
                require_float(AttributeKey::Alpha);
                break;
            case OperatorKind::Clip:
                require_float(AttributeKey::Minimum);
                require_float(AttributeKey::Maximum);
                break;
            case OperatorKind::HardSigmoid:
                require_float(AttributeKey::Alpha);
                require_float(AttributeKey::Beta);
                break;
            case OperatorKind::Cast:
                static_cast<void>(ints(AttributeKey::To, 1, 1));
                break;
            case OperatorKind::Gelu:
                require_float(AttributeKey::Alpha);
                break;
            case OperatorKind::LayerNorm:
                check_layer_norm();
                break;
            case OperatorKind::MatMul:
                return check_matmul();
            default:
                break;
        }
        expect_output(input(0));
    }

    void check_weight(std::uint32_t k) const {
        if (role(operand(k)) != TensorRole::Weight) wrong("operand {} is no weight", k);
    }

    /// Output sizes of a sliding window with explicit padding.
    [[nodiscard]] std::array<std::uint32_t, 2> window_sizes(Dims x) const {
        const auto kernel = ints(AttributeKey::Kernel, 2, 1);
        const auto strides = ints(AttributeKey::Strides, 2, 1);
        const auto pads = ints(AttributeKey::Pads, 4, 0);
        const auto dilations = ints(AttributeKey::Dilations, 2, 1);
        std::array<std::uint32_t, 2> out{};
        for (std::size_t k = 0; k < 2; ++k) {
            const std::int64_t reach = std::int64_t{kernel[k] - 1} * dilations[k] + 1;
            const std::int64_t free = std::int64_t{x[2 + k]} + pads[k] + pads[2 + k] - reach;
            if (free < 0) wrong("its window does not fit the padded input");
            out[k] = static_cast<std::uint32_t>(free / strides[k] + 1);
        }
        return out;
    }

    void check_conv() const {
        const Dims x = input(0);
        const Dims w = input(1);
        require_rank(x, 4);
        require_rank(w, 4);
        check_weight(1);
        const auto group = static_cast<std::uint64_t>(ints(AttributeKey::Group, 1, 1)[0]);
        const auto kernel = ints(AttributeKey::Kernel, 2, 1);
        if (std::uint32_t(kernel[0]) != w[0] || std::uint32_t(kernel[1]) != w[1]) wrong("its kernel is not its weight's");
        if (x[0] != 1) wrong("a batch of {}", x[0]);
        if (w[2] * group != x[1] || w[3] % group != 0) wrong("its weight does not fit {} channels in {} groups", x[1], group);
        if (has_input(2)) {
            check_weight(2);
            if (input(2).size() != 1 || input(2)[0] != w[3]) wrong("its bias does not fit {} channels", w[3]);
        }
        const auto [height, width] = window_sizes(x);
        expect_output(std::array{1U, w[3], height, width});
    }

    void check_linear() const {
        const Dims x = input(0);
        const Dims w = input(1);
        require_rank(w, 2);
        check_weight(1);
        if (x.empty() || x.back() != w[0]) wrong("its weight does not fit its input");
        if (has_input(2)) {
            check_weight(2);
            if (input(2).size() != 1 || input(2)[0] != w[1]) wrong("its bias does not fit {} columns", w[1]);
        }
        std::vector<std::uint32_t> wanted(x.begin(), x.end());
        wanted.back() = w[1];
        expect_output(wanted);
    }

    void check_layer_norm() const {
        require_float(AttributeKey::Alpha);
        const Dims x = input(0);
        if (x.empty()) wrong("a scalar cannot be normalised");
        for (std::uint32_t k = 1; k < graph_.nodes[node_].input_count; ++k) {
            if (!has_input(k)) continue;
            check_weight(k);
            if (input(k).size() != 1 || input(k)[0] != x.back()) wrong("its scale or offset does not fit {} columns", x.back());
        }
    }

    void check_matmul() const {
        const Dims a = input(0);
        const Dims b = input(1);
        if (a.size() < 2 || b.size() < 2) wrong("an operand is no matrix");
        if (a.back() != b[b.size() - 2]) wrong("the inner sizes of its operands differ");
        std::vector<std::uint32_t> wanted(std::max(a.size(), b.size()), 1);
        wanted[wanted.size() - 1] = b.back();
        wanted[wanted.size() - 2] = a[a.size() - 2];
        for (std::size_t k = 3; k <= wanted.size(); ++k) {
            const std::uint32_t left = k <= a.size() ? a[a.size() - k] : 1;
            const std::uint32_t right = k <= b.size() ? b[b.size() - k] : 1;
            if (left != right && left != 1 && right != 1) wrong("its operands do not broadcast");
            wanted[wanted.size() - k] = left == 1 ? right : left;
        }
        expect_output(wanted);
    }

    void check_pool(OperatorKind kind) const {
        const Dims x = input(0);
        require_rank(x, 4);
        if (x[0] != 1) wrong("a batch of {}", x[0]);
        if (kind == OperatorKind::AveragePool && ints(AttributeKey::CountIncludePad, 1, 0)[0] > 1)
            wrong("count_include_pad is no truth value");
        const auto [height, width] = window_sizes(x);
        expect_output(std::array{1U, x[1], height, width});
    }

    void check_broadcast(OperatorKind kind) const {
        const Dims a = input(0);
        const Dims b = input(1);
        std::vector<std::uint32_t> wanted(std::max(a.size(), b.size()), 1);
        for (std::size_t k = 1; k <= wanted.size(); ++k) {
            const std::uint32_t left = k <= a.size() ? a[a.size() - k] : 1;
            const std::uint32_t right = k <= b.size() ? b[b.size() - k] : 1;
            if (left != right && left != 1 && right != 1) wrong("its operands do not broadcast");
            wanted[wanted.size() - k] = left == 1 ? right : left;
        }
        if (kind == OperatorKind::PRelu && !std::equal(wanted.begin(), wanted.end(), a.begin(), a.end()))
            wrong("its slope does not broadcast to its input");
        expect_output(wanted);
    }

    void check_concat() const {
        const std::size_t axis = axis_attribute();
        std::vector<std::uint32_t> wanted(input(0).begin(), input(0).end());
        std::uint64_t total = 0;
        for (std::uint32_t k = 0; k < graph_.nodes[node_].input_count; ++k) {
            const Dims part = input(k);
            require_rank(part, wanted.size());
            for (std::size_t d = 0; d < part.size(); ++d) {
                if (d != axis && part[d] != wanted[d]) wrong("operand {} does not fit the first", k);
            }
            total += part[axis];
        }
        if (total > 0xffffffffU) wrong("its output is too long");
        wanted[axis] = static_cast<std::uint32_t>(total);
        expect_output(wanted);
    }

    void check_remap() const {
        const Dims x = input(0);
        require_float(AttributeKey::Fill);
        std::vector<std::uint32_t> wanted(x.begin(), x.end());
        for (std::uint32_t key = map_axis_first; key <= map_axis_last; ++key) {
            const std::size_t axis = key - map_axis_first;
            const auto attribute = find(static_cast<AttributeKey>(key));
            if (!attribute) continue;
            if (axis >= x.size()) wrong("a map for axis {} of {}", axis, x.size());
            for (const std::int32_t index : graph_.ints.subspan(attribute->first, attribute->count)) {
                if (index < -1 || (index >= 0 && static_cast<std::uint32_t>(index) >= x[axis]))
                    wrong("its map of axis {} names position {} of {}", axis, index, x[axis]);
            }
            wanted[axis] = attribute->count;
        }
        expect_output(wanted);
    }

    void check_transpose() const {
        const Dims x = input(0);
        const auto perm = ints(AttributeKey::Perm, x.size(), 0);
        std::vector<bool> seen(x.size(), false);
        std::vector<std::uint32_t> wanted;
        for (const std::int32_t axis : perm) {
            const auto at = static_cast<std::size_t>(axis);
            if (at >= x.size() || seen[at]) wrong("its axes are no permutation");
            seen[at] = true;
            wanted.push_back(x[at]);
        }
        expect_output(wanted);
    }

    void check_reshape() const {
        std::uint64_t in = 1;
        std::uint64_t out = 1;
        for (const std::uint32_t dim : input(0)) in *= dim;
        for (const std::uint32_t dim : output()) out *= dim;
        if (in != out) wrong("{} elements become {}", in, out);
    }

    const Graph& graph_;
    Validator check_;
    std::vector<bool> ready_;
    std::size_t node_ = 0;
};

}  // namespace

template <>
void validate<Graph>(const Graph& graph, std::string_view file) {
    GraphCheck(graph, file).run();
}

}  // namespace weft
