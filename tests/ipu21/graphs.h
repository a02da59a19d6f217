#pragma once

#include <string>
#include <vector>

#include "artifact/graph.h"

namespace weft::test {

/// Builds small canonical graphs by hand; weights are names only.
class GraphBuilder {
public:
    GraphBuilder() { text(""); }

    std::uint32_t input(const std::string& name, std::vector<std::uint32_t> dims) {
        const std::uint32_t id = tensor(name, std::move(dims), TensorRole::Input);
        graph_.inputs.push_back(id);
        return id;
    }
    std::uint32_t weight(std::vector<std::uint32_t> dims) {
        const std::uint32_t id = tensor("w", std::move(dims), TensorRole::Weight);
        graph_.tensors[id].blob = static_cast<std::uint32_t>(graph_.blobs.size());
        std::uint64_t count = 1;
        for (std::uint32_t i = 0; i < graph_.tensors[id].rank; ++i) count *= graph_.dims[graph_.tensors[id].first_dim + i];
        graph_.blobs.push_back({1, id, 4 * count});
        return id;
    }
    std::uint32_t node(OperatorKind kind, const std::string& name, std::vector<std::uint32_t> inputs, std::vector<std::uint32_t> dims) {
        const std::uint32_t output = tensor(name, std::move(dims), TensorRole::Activation);
        GraphNode row{};
        row.name = text(name);
        row.kind = static_cast<std::uint32_t>(kind);
        row.first_input = static_cast<std::uint32_t>(graph_.operands.size());
        row.input_count = static_cast<std::uint32_t>(inputs.size());
        graph_.operands.insert(graph_.operands.end(), inputs.begin(), inputs.end());
        row.first_output = static_cast<std::uint32_t>(graph_.operands.size());
        row.output_count = 1;
        graph_.operands.push_back(output);
        row.first_attribute = static_cast<std::uint32_t>(graph_.attributes.size());
        graph_.nodes.push_back(row);
        return output;
    }
    void ints(AttributeKey key, const std::vector<std::int32_t>& values) {
        graph_.attributes.push_back({static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(graph_.ints.size()), static_cast<std::uint32_t>(values.size())});
        graph_.ints.insert(graph_.ints.end(), values.begin(), values.end());
        ++graph_.nodes.back().attribute_count;
    }
    void real(AttributeKey key, float value) {
        graph_.attributes.push_back({static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(graph_.floats.size()), 1});
        graph_.floats.push_back(value);
        ++graph_.nodes.back().attribute_count;
    }
    std::uint32_t linear(const std::string& name, std::uint32_t x, std::uint32_t columns, bool bias = false) {
        std::vector<std::uint32_t> dims = dims_of(x);
        const std::uint32_t inner = dims.back();
        dims.back() = columns;
        std::vector<std::uint32_t> inputs{x, weight({inner, columns})};
        if (bias) inputs.push_back(weight({columns}));
        return node(OperatorKind::Linear, name, inputs, dims);
    }
    std::uint32_t unary(OperatorKind kind, const std::string& name, std::uint32_t x) { return node(kind, name, {x}, dims_of(x)); }
    void output(std::uint32_t id) {
        graph_.tensors[id].role = static_cast<std::uint32_t>(TensorRole::Output);
        graph_.outputs.push_back(id);
    }
    [[nodiscard]] std::vector<std::uint32_t> dims_of(std::uint32_t id) const {
        const GraphTensor& row = graph_.tensors[id];
        return {graph_.dims.begin() + row.first_dim, graph_.dims.begin() + row.first_dim + row.rank};
    }
    [[nodiscard]] const GraphColumns& graph() const { return graph_; }

private:
    std::uint32_t text(const std::string& t) { return pool_append(graph_.name_pool, t); }
    std::uint32_t tensor(const std::string& name, std::vector<std::uint32_t> dims, TensorRole role) {
        const auto first = static_cast<std::uint32_t>(graph_.dims.size());
        graph_.dims.insert(graph_.dims.end(), dims.begin(), dims.end());
        graph_.tensors.push_back({text(name), first, static_cast<std::uint32_t>(dims.size()), static_cast<std::uint32_t>(role), 1, 0xffffffffU});
        return static_cast<std::uint32_t>(graph_.tensors.size() - 1);
    }
    GraphColumns graph_;
};

/// Two linear maps with a Gelu between them.
inline GraphColumns mlp_graph(std::uint32_t batch, std::uint32_t tokens, std::uint32_t width, std::uint32_t hidden) {
    GraphBuilder g;
    const std::uint32_t x = g.input("x", {batch, tokens, width});
    const std::uint32_t up = g.linear("up", x, hidden);
    const std::uint32_t gelu = g.unary(OperatorKind::Gelu, "gelu", up);
    g.real(AttributeKey::Alpha, 0);
    g.output(g.linear("down", gelu, width));
    return g.graph();
}

/// One linear map.
inline GraphColumns linear_graph(std::uint32_t rows, std::uint32_t inner, std::uint32_t columns) {
    GraphBuilder g;
    g.output(g.linear("product", g.input("x", {1, rows, inner}), columns));
    return g.graph();
}

/// Scaled dot-product attention of given queries, keys and values, nothing else.
inline GraphColumns bare_attention_graph(std::uint32_t tokens, std::uint32_t width, std::uint32_t heads) {
    GraphBuilder g;
    const auto split = [&](const std::string& name, const std::vector<std::int32_t>& perm) {
        const std::vector<std::uint32_t> four{1, tokens, heads, width / heads};
        const std::uint32_t reshaped = g.node(OperatorKind::Reshape, name + ".split", {g.input(name, {1, tokens, width})}, four);
        std::vector<std::uint32_t> dims;
        for (const std::int32_t axis : perm) dims.push_back(four[static_cast<std::size_t>(axis)]);
        const std::uint32_t result = g.node(OperatorKind::Transpose, name + ".heads", {reshaped}, dims);
        g.ints(AttributeKey::Perm, perm);
        return result;
    };
    const std::uint32_t q = split("q", {0, 2, 1, 3});
    const std::uint32_t k = split("k", {0, 2, 3, 1});
    const std::uint32_t v = split("v", {0, 2, 1, 3});
    const std::uint32_t scores = g.node(OperatorKind::MatMul, "scores", {q, k}, {1, heads, tokens, tokens});
    const std::uint32_t scaled = g.node(OperatorKind::Mul, "scaled", {scores, g.weight({1})}, {1, heads, tokens, tokens});
    const std::uint32_t soft = g.unary(OperatorKind::Softmax, "softmax", scaled);
    g.ints(AttributeKey::Axis, {3});
    const std::uint32_t mixed = g.node(OperatorKind::MatMul, "mixed", {soft, v}, {1, heads, tokens, width / heads});
    const std::uint32_t back = g.node(OperatorKind::Transpose, "back", {mixed}, {1, tokens, heads, width / heads});
    g.ints(AttributeKey::Perm, {0, 2, 1, 3});
    g.output(g.node(OperatorKind::Reshape, "attention", {back}, {1, tokens, width}));
    return g.graph();
}

/// LayerNorm with scale and offset.
inline std::uint32_t layer_norm(GraphBuilder& g, const std::string& name, std::uint32_t x) {
    const std::uint32_t width = g.dims_of(x).back();
    const std::uint32_t result = g.node(OperatorKind::LayerNorm, name, {x, g.weight({width}), g.weight({width})}, g.dims_of(x));
    g.real(AttributeKey::Alpha, 1e-5F);
    return result;
}

inline std::uint32_t transpose(GraphBuilder& g, const std::string& name, std::uint32_t x, const std::vector<std::int32_t>& perm) {
    const std::vector<std::uint32_t> dims = g.dims_of(x);
    std::vector<std::uint32_t> result;
    for (const std::int32_t axis : perm) result.push_back(dims[static_cast<std::size_t>(axis)]);
    const std::uint32_t id = g.node(OperatorKind::Transpose, name, {x}, result);
    g.ints(AttributeKey::Perm, perm);
    return id;
}

/// A block of an MLP-Mixer: a perceptron over the rows of every column, then one over the columns.
inline GraphColumns mixer_graph(std::uint32_t tokens, std::uint32_t width, std::uint32_t token_hidden, std::uint32_t hidden) {
    GraphBuilder g;
    const auto perceptron = [&](const std::string& name, std::uint32_t x, std::uint32_t units) {
        const std::uint32_t gelu = g.unary(OperatorKind::Gelu, name + ".gelu", g.linear(name + ".up", x, units, true));
        g.real(AttributeKey::Alpha, 0);
        return g.linear(name + ".down", gelu, g.dims_of(x).back(), true);
    };
    const std::uint32_t x = g.input("x", {1, tokens, width});
    const std::uint32_t columns = transpose(g, "columns", layer_norm(g, "norm1", x), {0, 2, 1});
    const std::uint32_t rows = transpose(g, "rows", perceptron("tokens", columns, token_hidden), {0, 2, 1});
    const std::uint32_t middle = g.node(OperatorKind::Add, "residual1", {x, rows}, {1, tokens, width});
    g.output(g.node(OperatorKind::Add, "residual2", {middle, perceptron("channels", layer_norm(g, "norm2", middle), hidden)}, {1, tokens, width}));
    return g.graph();
}

/// Attention that multiplies keys with values first: two products of activations for every head.
inline GraphColumns efficient_attention_graph(std::uint32_t tokens, std::uint32_t width, std::uint32_t heads) {
    GraphBuilder g;
    const auto softmax = [&](const std::string& name, std::uint32_t x) {
        const std::uint32_t result = g.unary(OperatorKind::Softmax, name, x);
        g.ints(AttributeKey::Axis, {3});
        return result;
    };
    const auto split = [&](const std::string& name, std::uint32_t x, const std::vector<std::int32_t>& perm) {
        return transpose(g, name + ".heads", g.node(OperatorKind::Reshape, name + ".split", {x}, {1, tokens, heads, width / heads}), perm);
    };
    const std::uint32_t x = g.input("x", {1, tokens, width});
    const std::uint32_t norm = layer_norm(g, "norm", x);
    const std::uint32_t q = split("q", g.linear("q", norm, width, true), {0, 2, 1, 3});
    const std::uint32_t k = split("k", g.linear("k", norm, width, true), {0, 2, 3, 1});
    const std::uint32_t v = split("v", g.linear("v", norm, width, true), {0, 2, 1, 3});
    const std::uint32_t context = g.node(OperatorKind::MatMul, "context", {softmax("k.softmax", k), v}, {1, heads, width / heads, width / heads});
    const std::uint32_t mixed = g.node(OperatorKind::MatMul, "mixed", {softmax("q.softmax", q), context}, {1, heads, tokens, width / heads});
    const std::uint32_t joined = g.node(OperatorKind::Reshape, "joined", {transpose(g, "back", mixed, {0, 2, 1, 3})}, {1, tokens, width});
    g.output(g.node(OperatorKind::Add, "residual", {x, g.linear("out", joined, width, true)}, {1, tokens, width}));
    return g.graph();
}

/// A pre-norm transformer block; heads of `width / heads` columns. Without `hidden` its attention half alone.
inline GraphColumns block_graph(std::uint32_t tokens, std::uint32_t width, std::uint32_t hidden, std::uint32_t heads) {
    GraphBuilder g;
    const auto norm = [&](const std::string& name, std::uint32_t x) {
        const std::uint32_t result = g.node(OperatorKind::LayerNorm, name, {x, g.weight({width}), g.weight({width})}, g.dims_of(x));
        g.real(AttributeKey::Alpha, 1e-5F);
        return result;
    };
    const auto split = [&](const std::string& name, std::uint32_t x, const std::vector<std::int32_t>& perm) {
        const std::vector<std::uint32_t> four{1, tokens, heads, width / heads};
        const std::uint32_t reshaped = g.node(OperatorKind::Reshape, name + ".split", {x}, four);
        std::vector<std::uint32_t> dims;
        for (const std::int32_t axis : perm) dims.push_back(four[static_cast<std::size_t>(axis)]);
        const std::uint32_t result = g.node(OperatorKind::Transpose, name + ".heads", {reshaped}, dims);
        g.ints(AttributeKey::Perm, perm);
        return result;
    };
    const std::uint32_t x = g.input("x", {1, tokens, width});
    const std::uint32_t n1 = norm("norm1", x);
    const std::uint32_t q = split("q", g.linear("q", n1, width, true), {0, 2, 1, 3});
    const std::uint32_t k = split("k", g.linear("k", n1, width, true), {0, 2, 3, 1});
    const std::uint32_t v = split("v", g.linear("v", n1, width, true), {0, 2, 1, 3});
    const std::uint32_t scores = g.node(OperatorKind::MatMul, "scores", {q, k}, {1, heads, tokens, tokens});
    const std::uint32_t scaled = g.node(OperatorKind::Mul, "scaled", {scores, g.weight({1})}, {1, heads, tokens, tokens});
    const std::uint32_t soft = g.unary(OperatorKind::Softmax, "softmax", scaled);
    g.ints(AttributeKey::Axis, {3});
    const std::uint32_t mixed = g.node(OperatorKind::MatMul, "mixed", {soft, v}, {1, heads, tokens, width / heads});
    const std::uint32_t back = g.node(OperatorKind::Transpose, "back", {mixed}, {1, tokens, heads, width / heads});
    g.ints(AttributeKey::Perm, {0, 2, 1, 3});
    const std::uint32_t joined = g.node(OperatorKind::Reshape, "joined", {back}, {1, tokens, width});
    const std::uint32_t middle = g.node(OperatorKind::Add, "residual1", {x, g.linear("out", joined, width, true)}, {1, tokens, width});
    if (hidden == 0) {
        g.output(middle);
        return g.graph();
    }
    const std::uint32_t up = g.linear("up", norm("norm2", middle), hidden, true);
    // Gelu as exporters write it.
    const std::uint32_t scaled_up = g.node(OperatorKind::Div, "root", {up, g.weight({1})}, g.dims_of(up));
    const std::uint32_t erf = g.unary(OperatorKind::Erf, "erf", scaled_up);
    const std::uint32_t gate = g.node(OperatorKind::Add, "gate", {erf, g.weight({1})}, g.dims_of(up));
    const std::uint32_t gated = g.node(OperatorKind::Mul, "gated", {up, gate}, g.dims_of(up));
    const std::uint32_t gelu = g.node(OperatorKind::Mul, "gelu", {gated, g.weight({1})}, g.dims_of(up));
    g.output(g.node(OperatorKind::Add, "residual2", {middle, g.linear("down", gelu, width, true)}, {1, tokens, width}));
    return g.graph();
}

inline GraphColumns attention_graph(std::uint32_t tokens, std::uint32_t width, std::uint32_t heads) { return block_graph(tokens, width, 0, heads); }

}  // namespace weft::test
