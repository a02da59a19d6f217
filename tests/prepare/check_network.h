#pragma once

#include <doctest/doctest.h>

#include <random>

#include "interpreter.h"
#include "prepare/prepare.h"
#include "reference/graph_maker.h"

namespace weft::testing {

using Dims = std::vector<std::uint32_t>;

/// Small whole numbers: sums are exact, so that nothing hides behind rounding.
inline HostTensor random_tensor(const Dims& dims, std::mt19937& random) {
    HostTensor tensor{dims, {}};
    for (std::size_t i = 0; i < elem_count(dims); ++i) tensor.values.push_back(static_cast<float>(static_cast<int>(random() % 9) - 4));
    return tensor;
}

/// The convolution's output extent.
inline std::uint32_t extent(std::uint32_t size, std::int32_t pads, std::uint32_t kernel, std::int32_t dilation, std::int32_t stride) {
    return static_cast<std::uint32_t>((static_cast<std::int32_t>(size) + pads - dilation * (static_cast<std::int32_t>(kernel) - 1) - 1) / stride + 1);
}

struct Window {
    std::uint32_t rows = 3;
    std::uint32_t columns = 3;
    std::vector<std::int32_t> strides{1, 1};
    std::vector<std::int32_t> pads{1, 1, 1, 1};
    std::vector<std::int32_t> dilations{1, 1};
};

/// A graph under construction with random weights, and what its tasks must compute.
class Network {
public:
    explicit Network(unsigned seed = 1) : random(seed) {}

    std::uint32_t input(const Dims& dims) {
        inputs.push_back(random_tensor(dims, random));
        return maker.input(dims);
    }
    std::uint32_t weight(const Dims& dims) { return maker.weight(random_tensor(dims, random)); }
    [[nodiscard]] Dims dims(std::uint32_t tensor) const {
        const GraphTensor& row = maker.columns.tensors[tensor];
        return {maker.columns.dims.begin() + row.first_dim, maker.columns.dims.begin() + row.first_dim + row.rank};
    }

    std::uint32_t conv(std::uint32_t x, std::uint32_t outputs, const Window& window = {}, std::uint32_t group = 1, bool bias = true) {
        const Dims d = dims(x);
        std::vector<std::uint32_t> operands{x, weight({window.rows, window.columns, d[1] / group, outputs})};
        if (bias) operands.push_back(weight({outputs}));
        return maker.node(OperatorKind::Conv, operands, window_dims(d, outputs, window),
                          {{AttributeKey::Kernel, {static_cast<std::int32_t>(window.rows), static_cast<std::int32_t>(window.columns)}},
                           {AttributeKey::Strides, window.strides},
                           {AttributeKey::Pads, window.pads},
                           {AttributeKey::Dilations, window.dilations},
                           {AttributeKey::Group, {static_cast<std::int32_t>(group)}}});
    }
    std::uint32_t pool(OperatorKind kind, std::uint32_t x, const Window& window, bool count_pads = false) {
        const Dims d = dims(x);
        return maker.node(kind, {x}, window_dims(d, d[1], window),
                          {{AttributeKey::Kernel, {static_cast<std::int32_t>(window.rows), static_cast<std::int32_t>(window.columns)}},
                           {AttributeKey::Strides, window.strides},
                           {AttributeKey::Pads, window.pads},
                           {AttributeKey::Dilations, window.dilations},
                           {AttributeKey::CountIncludePad, {count_pads ? 1 : 0}}});
    }
    std::uint32_t global_pool(std::uint32_t x) {
        return pool(OperatorKind::AveragePool, x, {dims(x)[2], dims(x)[3], {1, 1}, {0, 0, 0, 0}, {1, 1}});
    }
    std::uint32_t linear(std::uint32_t x, std::uint32_t outputs, bool bias = true) {
        Dims d = dims(x);
        std::vector<std::uint32_t> operands{x, weight({d.back(), outputs})};
        if (bias) operands.push_back(weight({outputs}));
        d.back() = outputs;
        return maker.node(OperatorKind::Linear, operands, d);
    }
    std::uint32_t unary(OperatorKind kind, std::uint32_t x) { return maker.node(kind, {x}, dims(x)); }
    std::uint32_t binary(OperatorKind kind, std::uint32_t x, std::uint32_t y) {
        Dims a = dims(x);
        Dims b = dims(y);
        if (a.size() < b.size()) std::swap(a, b);
        for (std::size_t axis = 0; axis < b.size(); ++axis) {
            auto& dim = a[a.size() - b.size() + axis];
            dim = std::max(dim, b[axis]);
        }
        return maker.node(kind, {x, y}, a);
    }
    std::uint32_t reshape(std::uint32_t x, const Dims& to) { return maker.node(OperatorKind::Reshape, {x}, to); }
    std::uint32_t transpose(std::uint32_t x, const std::vector<std::int32_t>& perm) {
        Dims d;
        for (const std::int32_t axis : perm) d.push_back(dims(x)[static_cast<std::size_t>(axis)]);
        return maker.node(OperatorKind::Transpose, {x}, d, {{AttributeKey::Perm, perm}});
    }
    std::uint32_t concat(const std::vector<std::uint32_t>& tensors, std::int32_t axis) {
        Dims d = dims(tensors[0]);
        for (std::size_t i = 1; i < tensors.size(); ++i) d[static_cast<std::size_t>(axis)] += dims(tensors[i])[static_cast<std::size_t>(axis)];
        return maker.node(OperatorKind::Concat, tensors, d, {{AttributeKey::Axis, {axis}}});
    }
    std::uint32_t softmax(std::uint32_t x) {
        return maker.node(OperatorKind::Softmax, {x}, dims(x), {{AttributeKey::Axis, {static_cast<std::int32_t>(dims(x).size()) - 1}}});
    }
    /// Channel shuffle of `groups`.
    std::uint32_t shuffle(std::uint32_t x, std::uint32_t groups) {
        const Dims d = dims(x);
        const auto split = reshape(x, {1, groups, d[1] / groups, d[2], d[3]});
        return reshape(transpose(split, {0, 2, 1, 3, 4}), d);
    }

    [[nodiscard]] TasksColumns tasks(const std::vector<std::uint32_t>& outputs, const TargetColumns& target, PrepareOptions options = {}) {
        maker.columns.outputs = outputs;
        if (options.lane_ns == 0) options.lane_ns = 20'000;
        return prepare(view(maker.columns), view(target), options);
    }

    /// The tasks are valid, and compute what the reference executor computes.
    TasksColumns check(const std::vector<std::uint32_t>& outputs, const TargetColumns& target = small_target(8, 96), const PrepareOptions& options = {}) {
        TasksColumns columns = tasks(outputs, target, options);
        validate(view(columns), "test");
        std::vector<HostTensor> values;
        const auto expected = run_graph(view(maker.columns), maker.store, inputs, values);
        const auto actual = run_tasks(view(maker.columns), maker.store, view(columns), inputs);
        REQUIRE(expected.size() == actual.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CHECK(expected[i].dims == actual[i].dims);
            CHECK(relative_error(actual[i].values, expected[i].values) < 1e-5);
        }
        return columns;
    }

    std::mt19937 random;
    GraphMaker maker;
    std::vector<HostTensor> inputs;

private:
    static Dims window_dims(const Dims& d, std::uint32_t outputs, const Window& w) {
        return {1, outputs, extent(d[2], w.pads[0] + w.pads[2], w.rows, w.dilations[0], w.strides[0]),
                extent(d[3], w.pads[1] + w.pads[3], w.columns, w.dilations[1], w.strides[1])};
    }
};

/// How many families of one kind.
inline std::size_t count_kind(const TasksColumns& columns, FamilyKind kind) {
    std::size_t count = 0;
    for (const Family& family : columns.families) count += family.kind == static_cast<std::uint32_t>(kind) ? 1 : 0;
    return count;
}

}  // namespace weft::testing
