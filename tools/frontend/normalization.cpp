#include "frontend/normalization.h"

#include <utility>

namespace weft::frontend {
namespace {

class Matcher {
public:
    explicit Matcher(const PatternNames& names) : names_(names) {}

    std::optional<LayerNormPattern> match(const onnx::NodeProto& last) {
        LayerNormPattern pattern;
        const onnx::NodeProto* scaled = &last;
        if (last.op_type() == "Add") {
            const auto [offset, product] = constant_and_other(last);
            scaled = producer(product, "Mul");
            if (scaled == nullptr) return std::nullopt;
            pattern.offset = offset;
        }
        if (scaled->op_type() != "Mul") return std::nullopt;
        const auto [scale, quotient] = constant_and_other(*scaled);
        const onnx::NodeProto* divided = producer(quotient, "Div");
        if (divided == nullptr || !match_quotient(*divided, pattern)) return std::nullopt;
        pattern.scale = scale;
        const auto columns = [&](const std::string& name) {
            const Constant* constant = names_.constant(name);
            return constant->shape.size() == 1 ? constant->shape[0] : -1;
        };
        if (columns(scale) < 1 || (!pattern.offset.empty() && columns(pattern.offset) != columns(scale))) return std::nullopt;
        return pattern;
    }

private:
    const onnx::NodeProto* producer(const std::string& name, const char* type) const {
        const auto at = names_.producers.find(name);
        if (at == names_.producers.end() || at->second < 0) return nullptr;
        const onnx::NodeProto& node = names_.graph.node(at->second);
        return node.op_type() == type ? &node : nullptr;
    }

    /// The constant operand of a node with two, and the other; empty names where not exactly one is constant.
    [[nodiscard]] std::pair<std::string, std::string> constant_and_other(const onnx::NodeProto& node) const {
        if (node.input_size() != 2) return {};
        const bool first = names_.constant(node.input(0)) != nullptr;
        const bool second = names_.constant(node.input(1)) != nullptr;
        if (first == second) return {};
        return first ? std::pair(node.input(0), node.input(1)) : std::pair(node.input(1), node.input(0));
    }

    [[nodiscard]] std::optional<double> number(const std::string& name) const {
        const Constant* constant = names_.constant(name);
        if (constant == nullptr || elem_count(constant->shape) != 1 || constant->type == type_string) return std::nullopt;
        return as_f64(*constant)[0];
    }

    /// Whether `node` is the mean of `name` over the last axis, kept as an axis of one.
    [[nodiscard]] bool is_mean_of(const onnx::NodeProto* node, const std::string& name) const {
        if (node == nullptr || node->input_size() < 1 || node->input(0) != name) return false;
        const auto rank = static_cast<std::int64_t>(names_.rank(name));
        std::vector<std::int64_t> axes;
        for (const auto& attribute : node->attribute()) {
            if (attribute.name() == "keepdims" && attribute.i() == 0) return false;
            if (attribute.name() == "axes") axes.assign(attribute.ints().begin(), attribute.ints().end());
        }
        if (node->input_size() > 1) {
            const Constant* constant = names_.constant(node->input(1));
            if (constant == nullptr || constant->type != type_int64) return false;
            axes = as_i64(*constant);
        }
        return rank > 0 && axes.size() == 1 && (axes[0] == -1 || axes[0] == rank - 1);
    }

    /// x - mean(x): sets or compares `x`.
    [[nodiscard]] bool is_centred(const std::string& name, std::string& x) const {
        const onnx::NodeProto* node = producer(name, "Sub");
        if (node == nullptr || node->input_size() != 2 || (!x.empty() && node->input(0) != x)) return false;
        if (!is_mean_of(producer(node->input(1), "ReduceMean"), node->input(0))) return false;
        x = node->input(0);
        return true;
    }

    [[nodiscard]] bool match_quotient(const onnx::NodeProto& divided, LayerNormPattern& pattern) const {
        if (divided.input_size() != 2 || !is_centred(divided.input(0), pattern.x)) return false;
        const onnx::NodeProto* root = producer(divided.input(1), "Sqrt");
        const onnx::NodeProto* sum = root == nullptr || root->input_size() != 1 ? nullptr : producer(root->input(0), "Add");
        if (sum == nullptr) return false;
        const auto [small, variance] = constant_and_other(*sum);
        const auto epsilon = number(small);
        const onnx::NodeProto* mean = producer(variance, "ReduceMean");
        if (!epsilon || *epsilon < 0 || mean == nullptr || mean->input_size() < 1) return false;
        pattern.epsilon = *epsilon;
        const std::string& square = mean->input(0);
        if (!is_mean_of(mean, square)) return false;
        if (const onnx::NodeProto* power = producer(square, "Pow"); power != nullptr) {
            return power->input_size() == 2 && number(power->input(1)) == 2.0 && is_centred(power->input(0), pattern.x);
        }
        const onnx::NodeProto* product = producer(square, "Mul");
        return product != nullptr && product->input_size() == 2 && product->input(0) == product->input(1) && is_centred(product->input(0), pattern.x);
    }

    const PatternNames& names_;
};

}  // namespace

std::optional<LayerNormPattern> match_layer_norm(const PatternNames& names, const onnx::NodeProto& node) { return Matcher(names).match(node); }

}  // namespace weft::frontend
