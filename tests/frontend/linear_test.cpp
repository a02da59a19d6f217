#include <doctest/doctest.h>

#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

namespace {

std::vector<float> product(const std::vector<float>& a, bool transpose_a, const std::vector<float>& b, bool transpose_b,
                           std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    std::vector<float> y;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < inner; ++k) {
                sum += static_cast<double>(a[static_cast<std::size_t>(transpose_a ? k * rows + i : i * inner + k)]) *
                       static_cast<double>(b[static_cast<std::size_t>(transpose_b ? j * inner + k : k * columns + j)]);
            }
            y.push_back(static_cast<float>(sum));
        }
    return y;
}

}  // namespace

TEST_CASE("Gemm equals its definition for either constant side and for none, every transposition, alpha, beta, and every shape of C") {
    Random random(21);
    for (int trial = 0; trial < 300; ++trial) {
        CAPTURE(trial);
        const std::int64_t m = random.between(1, 4);
        const std::int64_t k = random.between(1, 5);
        const std::int64_t n = random.between(1, 6);
        const bool transpose_a = random.between(0, 1) == 1;
        const bool transpose_b = random.between(0, 1) == 1;
        const std::int64_t side = random.between(0, 3);
        const bool constant_a = side == 0;
        const bool constant_b = side == 1 || side == 2;
        const auto alpha = static_cast<float>(random.between(1, 3));
        const auto beta = static_cast<float>(random.between(0, 2));
        const Shape a_shape = transpose_a ? Shape{k, m} : Shape{m, k};
        const Shape b_shape = transpose_b ? Shape{n, k} : Shape{k, n};
        const Shape c_shape =
            std::vector<Shape>{{}, {1}, {n}, {1, n}, {m, 1}, {m, n}}[static_cast<std::size_t>(random.between(0, 5))];
        const bool with_c = random.between(0, 4) != 0;
        const bool constant_c = random.between(0, 2) != 0;
        std::int64_t c_count = 1;
        for (const std::int64_t dim : c_shape) c_count *= dim;
        const auto a = random.values(m * k);
        const auto b = random.values(k * n);
        const auto c = random.values(c_count);
        ModelBuilder model;
        std::vector<HostTensor> inputs;
        if (constant_b)
            model.input("a", a_shape), model.weight("b", b_shape, b), inputs.push_back(tensor(a_shape, a));
        else if (!constant_a)
            model.input("a", a_shape), model.input("b", b_shape), inputs.push_back(tensor(a_shape, a)), inputs.push_back(tensor(b_shape, b));
        else
            model.weight("a", a_shape, a), model.input("b", b_shape), inputs.push_back(tensor(b_shape, b));
        if (with_c && constant_c) model.weight("c", c_shape, c);
        if (with_c && !constant_c) model.input("c", c_shape), inputs.push_back(tensor(c_shape, c));
        auto& node =
            model.node("Gemm", with_c ? std::vector<std::string>{"a", "b", "c"} : std::vector<std::string>{"a", "b"}, {"y"});
        set_int(node, "transA", transpose_a ? 1 : 0);
        set_int(node, "transB", transpose_b ? 1 : 0);
        set_float(node, "alpha", alpha);
        set_float(node, "beta", beta);
        model.output("y");
        auto expected = product(a, transpose_a, b, transpose_b, m, k, n);
        const std::int64_t c_rows = c_shape.size() == 2 ? c_shape[0] : 1;
        const std::int64_t c_columns = c_shape.empty() ? 1 : c_shape.back();
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                float& value = expected[static_cast<std::size_t>(i * n + j)];
                value *= alpha;
                if (with_c)
                    value += beta * c[static_cast<std::size_t>((c_rows == 1 ? 0 : i) * c_columns + (c_columns == 1 ? 0 : j))];
            }
        const HostTensor y = model.run_one(inputs);
        CHECK(Shape(y.dims.begin(), y.dims.end()) == Shape{m, n});
        CHECK(y.values == expected);
    }
}

TEST_CASE("Gemm with transB = 0 checks C against the columns of B") {
    ModelBuilder model;
    model.input("a", {1, 3});
    model.weight("b", {3, 5}, std::vector<float>(15, 1));
    model.weight("c", {5}, {1, 2, 3, 4, 5});
    model.node("Gemm", {"a", "b", "c"}, {"y"});
    model.output("y");
    CHECK(model.run_one({tensor({1, 3}, {1, 1, 1})}).values == std::vector<float>{4, 5, 6, 7, 8});
    ModelBuilder wrong;
    wrong.input("a", {1, 3});
    wrong.weight("b", {3, 5}, std::vector<float>(15, 1));
    wrong.weight("c", {3}, {1, 2, 3});
    wrong.node("Gemm", {"a", "b", "c"}, {"y"}, "gemm");
    wrong.output("y");
    CHECK(contains(wrong.failure(ExitStatus::bad_input), "'gemm' (Gemm): C [3] does not broadcast to [1, 5]"));
}

TEST_CASE("MatMul with a constant side, for ranks one to four on either side") {
    Random random(22);
    const std::int64_t k = 3;
    for (std::size_t a_rank = 1; a_rank <= 4; ++a_rank) {
        for (std::size_t b_rank = 1; b_rank <= 4; ++b_rank) {
            for (const bool constant_a : {false, true}) {
                CAPTURE(a_rank);
                CAPTURE(b_rank);
                CAPTURE(constant_a);
                Shape a_shape = {2, 2, 4, k};
                Shape b_shape = {2, 2, k, 5};
                // The constant side is one matrix; its leading axes are one.
                auto& constant_shape = constant_a ? a_shape : b_shape;
                constant_shape[0] = constant_shape[1] = 1;
                a_shape = a_rank == 1 ? Shape{k} : Shape(a_shape.end() - static_cast<std::ptrdiff_t>(a_rank), a_shape.end());
                b_shape = b_rank == 1 ? Shape{k} : Shape(b_shape.end() - static_cast<std::ptrdiff_t>(b_rank), b_shape.end());
                const auto count = [](const Shape& shape) {
                    std::int64_t result = 1;
                    for (const std::int64_t dim : shape) result *= dim;
                    return result;
                };
                const auto a = random.values(count(a_shape));
                const auto b = random.values(count(b_shape));
                ModelBuilder model;
                if (constant_a)
                    model.weight("a", a_shape, a), model.input("b", b_shape);
                else
                    model.input("a", a_shape), model.weight("b", b_shape, b);
                model.node("MatMul", {"a", "b"}, {"y"});
                model.output("y");
                // The definition: matrices of the broadcast stack, vectors as a row or a column that is dropped again.
                const std::int64_t rows = a_rank == 1 ? 1 : a_shape[a_rank - 2];
                const std::int64_t columns = b_rank == 1 ? 1 : b_shape[b_rank - 1];
                const std::int64_t a_stack = count(a_shape) / (rows * k);
                const std::int64_t b_stack = count(b_shape) / (columns * k);
                std::vector<float> expected;
                for (std::int64_t s = 0; s < std::max(a_stack, b_stack); ++s) {
                    const auto a_begin = a.begin() + (a_stack == 1 ? 0 : s) * rows * k;
                    const auto b_begin = b.begin() + (b_stack == 1 ? 0 : s) * columns * k;
                    const auto part = product({a_begin, a_begin + rows * k}, false, {b_begin, b_begin + columns * k}, false,
                                              rows, k, columns);
                    expected.insert(expected.end(), part.begin(), part.end());
                }
                Shape shape;
                const std::size_t stack_rank = std::max<std::size_t>({a_rank, b_rank, 2}) - 2;
                for (std::size_t d = 0; d < stack_rank; ++d) {
                    const auto dim = [&](const Shape& from) {
                        return from.size() >= 2 && d + from.size() >= stack_rank + 2 ? from[d + from.size() - stack_rank - 2]
                                                                                     : 1;
                    };
                    shape.push_back(std::max(dim(a_shape), dim(b_shape)));
                }
                if (a_rank > 1) shape.push_back(rows);
                if (b_rank > 1) shape.push_back(columns);
                const HostTensor y = model.run_one({constant_a ? tensor(b_shape, b) : tensor(a_shape, a)});
                CHECK(Shape(y.dims.begin(), y.dims.end()) == shape);
                CHECK(y.values == expected);
            }
        }
    }
}

TEST_CASE("Gemm of two computed sides that do not fit is a bad model") {
    ModelBuilder model;
    model.input("a", {2, 3});
    model.input("b", {2, 3});
    set_int(model.node("Gemm", {"a", "b"}, {"y"}, "product"), "transA", 0);
    model.output("y");
    CHECK(contains(model.failure(ExitStatus::bad_input), "'product' (Gemm): the inner sizes of"));
}
