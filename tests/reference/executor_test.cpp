#include "reference/executor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/failure.h"
#include "graph_maker.h"

using namespace weft;
using weft::testing::GraphMaker;
using enum weft::OperatorKind;
using Key = weft::AttributeKey;

namespace {

HostTensor random_tensor(const std::vector<std::uint32_t>& dims, std::mt19937& random) {
    HostTensor tensor{dims, {}};
    for (std::size_t i = 0; i < elem_count(dims); ++i) tensor.values.push_back(static_cast<float>(static_cast<int>(random() % 17) - 8));
    return tensor;
}

std::vector<float> unary(OperatorKind kind, const std::vector<float>& x, const std::vector<GraphMaker::Attribute>& attributes = {}) {
    GraphMaker maker;
    const std::vector<std::uint32_t> dims = {static_cast<std::uint32_t>(x.size())};
    return maker.run(maker.node(kind, {maker.input(dims)}, dims, attributes), {{dims, x}});
}

std::vector<float> binary(OperatorKind kind, const HostTensor& a, const HostTensor& b, const std::vector<std::uint32_t>& dims) {
    GraphMaker maker;
    const std::uint32_t x = maker.input(a.dims);
    return maker.run(maker.node(kind, {x, maker.weight(b)}, dims), {a});
}

struct ConvCase {
    std::uint32_t channels, rows, columns, outputs, kernel_rows, kernel_columns, groups;
    std::int32_t stride_rows, stride_columns, top, left, bottom, right, dilation_rows, dilation_columns;
};

/// The definition, written from the output element's side with the weight indexed in ONNX's order [M, C/g, KH, KW].
float conv_element(const ConvCase& c, const HostTensor& x, const HostTensor& w, std::uint32_t m, std::uint32_t row, std::uint32_t column) {
    const std::uint32_t group_channels = c.channels / c.groups;
    const std::uint32_t group = m / (c.outputs / c.groups);
    double sum = 0;
    for (std::uint32_t ch = 0; ch < group_channels; ++ch) {
        for (std::uint32_t i = 0; i < c.kernel_rows; ++i) {
            for (std::uint32_t j = 0; j < c.kernel_columns; ++j) {
                const std::int64_t y = std::int64_t{row} * c.stride_rows - c.top + std::int64_t{i} * c.dilation_rows;
                const std::int64_t z = std::int64_t{column} * c.stride_columns - c.left + std::int64_t{j} * c.dilation_columns;
                if (y < 0 || z < 0 || y >= c.rows || z >= c.columns) continue;
                const auto at = static_cast<std::size_t>(((group * group_channels + ch) * c.rows + y) * c.columns + z);
                sum += double{x.values[at]} * w.values[((m * group_channels + ch) * c.kernel_rows + i) * c.kernel_columns + j];
            }
        }
    }
    return static_cast<float>(sum);
}

/// [M, C/g, KH, KW] to weft's [KH, KW, C/g, M].
HostTensor reordered(const HostTensor& w) {
    HostTensor result{{w.dims[2], w.dims[3], w.dims[1], w.dims[0]}, {}};
    for (std::uint32_t i = 0; i < w.dims[2]; ++i)
        for (std::uint32_t j = 0; j < w.dims[3]; ++j)
            for (std::uint32_t c = 0; c < w.dims[1]; ++c)
                for (std::uint32_t m = 0; m < w.dims[0]; ++m)
                    result.values.push_back(w.values[((m * w.dims[1] + c) * w.dims[2] + i) * w.dims[3] + j]);
    return result;
}

std::uint32_t positions(std::uint32_t size, std::int32_t pads, std::uint32_t kernel, std::int32_t dilation, std::int32_t stride) {
    return static_cast<std::uint32_t>((static_cast<std::int32_t>(size) + pads - dilation * (static_cast<std::int32_t>(kernel) - 1) - 1) / stride + 1);
}

void check_conv(const ConvCase& c, std::mt19937& random) {
    const HostTensor x = random_tensor({1, c.channels, c.rows, c.columns}, random);
    const HostTensor w = random_tensor({c.outputs, c.channels / c.groups, c.kernel_rows, c.kernel_columns}, random);
    const HostTensor bias = random_tensor({c.outputs}, random);
    const std::uint32_t rows = positions(c.rows, c.top + c.bottom, c.kernel_rows, c.dilation_rows, c.stride_rows);
    const std::uint32_t columns = positions(c.columns, c.left + c.right, c.kernel_columns, c.dilation_columns, c.stride_columns);
    GraphMaker maker;
    const std::uint32_t input = maker.input(x.dims);
    const std::vector<std::uint32_t> operands = {input, maker.weight(reordered(w)), maker.weight(bias)};
    const std::uint32_t output = maker.node(Conv, operands, {1, c.outputs, rows, columns},
                                            {{.key = Key::Strides, .ints = {c.stride_rows, c.stride_columns}},
                                             {.key = Key::Pads, .ints = {c.top, c.left, c.bottom, c.right}},
                                             {.key = Key::Dilations, .ints = {c.dilation_rows, c.dilation_columns}},
                                             {.key = Key::Group, .ints = {static_cast<std::int32_t>(c.groups)}}});
    const std::vector<float> result = maker.run(output, {x});
    std::size_t at = 0;
    for (std::uint32_t m = 0; m < c.outputs; ++m) {
        for (std::uint32_t row = 0; row < rows; ++row) {
            for (std::uint32_t column = 0; column < columns; ++column, ++at) {
                if (result[at] != conv_element(c, x, w, m, row, column) + bias.values[m]) FAIL_CHECK("output ", at);
            }
        }
    }
    CHECK(at == result.size());
}

}  // namespace

TEST_CASE("Conv equals the definition for odd sizes, strides, pads, dilations and groups") {
    std::mt19937 random(2);
    check_conv({3, 7, 5, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, random);
    check_conv({4, 7, 5, 6, 3, 2, 2, 2, 1, 0, 1, 2, 0, 1, 2}, random);
    check_conv({5, 6, 9, 5, 1, 4, 5, 3, 2, 0, 2, 1, 1, 1, 1}, random);
    for (int round = 0; round < 60; ++round) {
        const auto pick = [&](std::uint32_t low, std::uint32_t high) { return low + static_cast<std::uint32_t>(random() % (high - low + 1)); };
        const auto pick_signed = [&](std::uint32_t low, std::uint32_t high) { return static_cast<std::int32_t>(pick(low, high)); };
        const std::uint32_t groups = pick(1, 3);
        check_conv({groups * pick(1, 3), pick(5, 9), pick(5, 9), groups * pick(1, 3), pick(1, 3), pick(1, 3), groups, pick_signed(1, 3),
                    pick_signed(1, 3), pick_signed(0, 2), pick_signed(0, 2), pick_signed(0, 2), pick_signed(0, 2), pick_signed(1, 2),
                    pick_signed(1, 2)},
                   random);
    }
}

TEST_CASE("Linear multiplies the last axis") {
    GraphMaker maker;
    const std::uint32_t x = maker.input({2, 1, 3});
    const std::uint32_t w = maker.weight({{3, 2}, {1, 4, 2, 5, 3, 6}});
    const std::uint32_t bias = maker.weight({{2}, {10, 20}});
    const HostTensor value{{2, 1, 3}, {1, 2, 3, -1, 0, 1}};
    CHECK(maker.run(maker.node(Linear, {x, w, bias}, {2, 1, 2}), {value}) == std::vector<float>{24, 52, 12, 22});
    CHECK(maker.run(maker.node(Linear, {x, w}, {2, 1, 2}), {value}) == std::vector<float>{14, 32, 2, 2});
}

TEST_CASE("pools: padding never wins a maximum, and counts in an average only where asked") {
    GraphMaker maker;
    const std::uint32_t x = maker.input({1, 1, 3, 3});
    const HostTensor value{{1, 1, 3, 3}, {-1, -2, -3, -4, -5, -6, -7, -8, -9}};
    const std::vector<GraphMaker::Attribute> window = {{.key = Key::Kernel, .ints = {2, 2}},
                                                       {.key = Key::Strides, .ints = {2, 2}},
                                                       {.key = Key::Pads, .ints = {1, 1, 0, 0}}};
    CHECK(maker.run(maker.node(MaxPool, {x}, {1, 1, 2, 2}, window), {value}) == std::vector<float>{-1, -2, -4, -5});
    CHECK(maker.run(maker.node(AveragePool, {x}, {1, 1, 2, 2}, window), {value}) == std::vector<float>{-1, -2.5F, -5.5F, -7});
    auto counting = window;
    counting.push_back({.key = Key::CountIncludePad, .ints = {1}});
    CHECK(maker.run(maker.node(AveragePool, {x}, {1, 1, 2, 2}, counting), {value}) == std::vector<float>{-0.25F, -1.25F, -2.75F, -7});
    const std::vector<GraphMaker::Attribute> dilated = {{.key = Key::Kernel, .ints = {2, 1}},
                                                        {.key = Key::Strides, .ints = {1, 1}},
                                                        {.key = Key::Pads, .ints = {0, 0, 0, 0}},
                                                        {.key = Key::Dilations, .ints = {2, 1}}};
    CHECK(maker.run(maker.node(MaxPool, {x}, {1, 1, 1, 3}, dilated), {value}) == std::vector<float>{-1, -2, -3});
}

TEST_CASE("two-operand arithmetic broadcasts") {
    const HostTensor matrix{{2, 3}, {1, 2, 3, 4, 5, 6}};
    CHECK(binary(Add, matrix, {{3}, {10, 20, 30}}, {2, 3}) == std::vector<float>{11, 22, 33, 14, 25, 36});
    CHECK(binary(Sub, matrix, {{2, 1}, {1, 2}}, {2, 3}) == std::vector<float>{0, 1, 2, 2, 3, 4});
    CHECK(binary(Mul, {{2, 1}, {1, 2}}, {{1, 2}, {3, 4}}, {2, 2}) == std::vector<float>{3, 4, 6, 8});
    CHECK(binary(Div, matrix, {{}, {2}}, {2, 3}) == std::vector<float>{0.5F, 1, 1.5F, 2, 2.5F, 3});
    CHECK(binary(Max, matrix, {{}, {3}}, {2, 3}) == std::vector<float>{3, 3, 3, 4, 5, 6});
    CHECK(binary(Min, matrix, {{}, {3}}, {2, 3}) == std::vector<float>{1, 2, 3, 3, 3, 3});
    CHECK(binary(PRelu, {{2, 2}, {-1, 1, -2, 2}}, {{2}, {0.5F, 9}}, {2, 2}) == std::vector<float>{-0.5F, 1, -1, 2});
}

TEST_CASE("pointwise functions") {
    CHECK(unary(Relu, {-1, 0, 2}) == std::vector<float>{0, 0, 2});
    CHECK(unary(LeakyRelu, {-2, 3}, {{.key = Key::Alpha, .floats = {0.25F}}}) == std::vector<float>{-0.5F, 3});
    CHECK(unary(Clip, {-9, 1, 9}, {{.key = Key::Minimum, .floats = {-2}}, {.key = Key::Maximum, .floats = {6}}}) == std::vector<float>{-2, 1, 6});
    CHECK(unary(Clip, {-9, 9}, {{.key = Key::Maximum, .floats = {6}}}) == std::vector<float>{-9, 6});
    CHECK(unary(HardSigmoid, {-9, 1, 9}, {{.key = Key::Alpha, .floats = {0.25F}}, {.key = Key::Beta, .floats = {0.5F}}}) ==
          std::vector<float>{0, 0.75F, 1});
    CHECK(unary(HardSwish, {-4, 3, 4}) == std::vector<float>{0, 3, 4});
    CHECK(unary(Sigmoid, {0, -200, 200}) == std::vector<float>{0.5F, 0, 1});
    CHECK(unary(Tanh, {0, -50, 50}) == std::vector<float>{0, -1, 1});
    CHECK(unary(Exp, {0, 1, -1000}) == std::vector<float>{1, 2.7182817F, 0});
    CHECK(unary(Cast, {-1.5F, 0, 2.75F}, {{.key = Key::To, .ints = {7}}}) == std::vector<float>{-1, 0, 2});
    CHECK(unary(Cast, {-1.5F, 0, 2.75F}, {{.key = Key::To, .ints = {9}}}) == std::vector<float>{1, 0, 1});
    CHECK(unary(Cast, {0.1F}, {{.key = Key::To, .ints = {10}}}) == std::vector<float>{0x1.998p-4F});
}

TEST_CASE("softmax sums to one along its axis, also for large numbers") {
    GraphMaker maker;
    const std::uint32_t x = maker.input({2, 3});
    const HostTensor value{{2, 3}, {10000, 1, 2, 10000, 1, 3}};
    const auto columns = maker.run(maker.node(Softmax, {x}, {2, 3}, {{.key = Key::Axis, .ints = {0}}}), {value});
    CHECK(columns[0] == 0.5F);
    CHECK(columns[1] == 0.5F);
    CHECK(columns[5] == doctest::Approx(1 / (1 + std::exp(-1.0))));
    const auto rows = maker.run(maker.node(LogSoftmax, {x}, {2, 3}, {{.key = Key::Axis, .ints = {1}}}), {value});
    CHECK(rows == std::vector<float>{0, -9999, -9998, 0, -9999, -9997});
}

TEST_CASE("movement: Concat, Remap, Transpose, Reshape") {
    GraphMaker maker;
    const std::uint32_t x = maker.input({2, 2});
    const std::uint32_t w = maker.weight({{2, 1}, {8, 9}});
    const HostTensor value{{2, 2}, {1, 2, 3, 4}};
    CHECK(maker.run(maker.node(Concat, {x, w, x}, {2, 5}, {{.key = Key::Axis, .ints = {1}}}), {value}) ==
          std::vector<float>{1, 2, 8, 1, 2, 3, 4, 9, 3, 4});
    CHECK(maker.run(maker.node(Remap, {x}, {3, 2}, {{.key = Key::MapAxis0, .ints = {1, -1, 0}}, {.key = Key::Fill, .floats = {7}}}), {value}) ==
          std::vector<float>{3, 4, 7, 7, 1, 2});
    CHECK(maker.run(maker.node(Remap, {x}, {2, 3}, {{.key = Key::MapAxis1, .ints = {1, 1, 0}}}), {value}) ==
          std::vector<float>{2, 2, 1, 4, 4, 3});
    CHECK(maker.run(maker.node(Transpose, {x}, {2, 2}, {{.key = Key::Perm, .ints = {1, 0}}}), {value}) == std::vector<float>{1, 3, 2, 4});
    CHECK(maker.run(maker.node(Reshape, {x}, {4, 1}), {value}) == std::vector<float>{1, 2, 3, 4});
    const std::uint32_t y = maker.input({1, 2, 3});
    CHECK(maker.run(maker.node(Transpose, {y}, {3, 1, 2}, {{.key = Key::Perm, .ints = {2, 0, 1}}}), {value, {{1, 2, 3}, {1, 2, 3, 4, 5, 6}}}) ==
          std::vector<float>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("a part of the nodes runs on given values, and weights stay loaded") {
    GraphMaker maker;
    const std::uint32_t x = maker.input({2});
    const std::uint32_t sum = maker.node(Add, {x, maker.weight({{2}, {1, 1}})}, {2});
    const std::uint32_t product = maker.node(Mul, {sum, maker.weight({{2}, {3, 4}})}, {2});
    std::vector<HostTensor> values(maker.columns.tensors.size());
    values[sum] = {{2}, {5, 6}};
    const std::uint32_t tail[] = {1};
    run_nodes(view(maker.columns), maker.store, tail, values);
    CHECK(values[product].values == std::vector<float>{15, 24});
    const BlobStore empty("/nonexistent");
    values[sum] = {{2}, {1, 1}};
    run_nodes(view(maker.columns), empty, tail, values);
    CHECK(values[product].values == std::vector<float>{3, 4});
}

TEST_CASE("what does not fit is refused by the node's name") {
    GraphMaker maker;
    const std::uint32_t x = maker.input({2, 2});
    const HostTensor value{{2, 2}, {1, 2, 3, 4}};
    const auto refused = [&](std::uint32_t output) {
        const std::string name = "'node" + std::to_string(maker.columns.nodes.size() - 1) + "'";
        CHECK_THROWS_WITH_AS(static_cast<void>(maker.run(output, {value})), doctest::Contains(name.c_str()), Failure);
        maker.columns.nodes.pop_back();
    };
    CHECK_THROWS_AS(static_cast<void>(maker.run(x, {HostTensor{{4}, {1, 2, 3, 4}}})), Failure);
    CHECK_THROWS_AS(static_cast<void>(maker.run(x, {})), Failure);
    refused(maker.node(Reshape, {x}, {5}));
    refused(maker.node(Transpose, {x}, {2, 2}, {{.key = Key::Perm, .ints = {0, 0}}}));
    refused(maker.node(Remap, {x}, {1, 2}, {{.key = Key::MapAxis0, .ints = {2}}}));
    refused(maker.node(Concat, {x}, {2, 3}, {{.key = Key::Axis, .ints = {1}}}));
    refused(maker.node(Softmax, {x}, {2, 2}, {{.key = Key::Axis, .ints = {2}}}));
    refused(maker.node(Linear, {x}, {2, 2}));
    refused(maker.node(Add, {x, maker.weight({{3}, {1, 2, 3}})}, {2, 2}));
    refused(maker.node(Relu, {no_id}, {2, 2}));
    refused(maker.node(HostOther, {x}, {2, 2}));
}
