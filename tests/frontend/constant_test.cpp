#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "frontend/arithmetic.h"
#include "frontend/emit.h"
#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

TEST_CASE("Strides of a shape without elements are checked as well") {
    CHECK(strides_of({0, 3, 5}) == std::vector<std::int64_t>{15, 5, 1});
    CHECK_THROWS_AS((void)strides_of({0, std::int64_t{1} << 40, std::int64_t{1} << 40}), Failure);
}

TEST_CASE("Half precision: every finite number survives the way to single precision and back") {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const Constant constant{type_float16, false, {}, std::as_bytes(std::span(&half, 1)), {}};
        const double value = as_f64(constant)[0];
        const Constant back = from_f64(type_float16, {}, std::span(&value, 1));
        std::uint16_t again = 0;
        std::memcpy(&again, back.bytes.data(), 2);
        if (std::isnan(value))
            CHECK((again & 0x7fff) > 0x7c00);
        else
            CHECK(again == half);
    }
    // Halfway between two neighbours rounds to even; beyond the largest lies infinity.
    const auto rounded = [](double value) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from_f64(type_float16, {}, std::span(&value, 1)).bytes.data(), 2);
        return bits;
    };
    CHECK(rounded(1 + 0x1p-11) == 0x3c00);
    CHECK(rounded(1 + 3 * 0x1p-11) == 0x3c02);
    CHECK(rounded(65519) == 0x7bff);
    CHECK(rounded(65520) == 0x7c00);
}

TEST_CASE("Weights are transposed into their layout whatever their size, type and alignment") {
    Random random(61);
    for (int trial = 0; trial < 60; ++trial) {
        Shape shape = {random.between(1, 40), random.between(1, 5), random.between(1, 4), random.between(1, 4)};
        const bool matrix = trial % 3 == 0;
        if (matrix) shape.resize(2);
        const std::vector<std::int64_t> perm = matrix ? std::vector<std::int64_t>{1, 0} : std::vector<std::int64_t>{2, 3, 1, 0};
        const auto values = random.values(elem_count(shape));
        Constant constant = make_f32(shape, values);
        std::vector<std::byte> shifted(values.size() * 4 + 1);
        if (trial % 2 == 0) {
            std::memcpy(shifted.data() + 1, values.data(), values.size() * 4);
            constant.bytes = std::span<const std::byte>(shifted).subspan(1);
        }
        if (trial % 5 == 0) constant = compute_cast(constant, type_float16);
        Value weight;
        weight.shape = permuted(constant, perm).shape;
        weight.is_constant = true;
        weight.constant = constant;
        weight.perm = perm;
        std::vector<float> scale;
        for (std::int64_t m = 0; m < weight.shape.back(); ++m) scale.push_back(static_cast<float>(m + 1));
        if (trial % 4 == 0) weight.scale = std::make_shared<const std::vector<float>>(scale);
        auto expected = as_f64(permuted(constant, perm));
        for (std::size_t i = 0; trial % 4 == 0 && i < expected.size(); ++i)
            expected[i] *= static_cast<double>(scale[i % scale.size()]);
        std::vector<float> buffer;
        const auto bytes = weight_bytes(weight, buffer);
        REQUIRE(bytes.size() == expected.size() * 4);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            float value = 0;
            std::memcpy(&value, bytes.data() + i * 4, 4);
            CHECK(static_cast<double>(value) == expected[i]);
        }
    }
}

TEST_CASE("Constant arithmetic: integer division truncates, by zero is bad input, overflow wraps") {
    const auto one = [](std::int64_t value) { return make_i64({}, {value}); };
    CHECK(as_i64(compute_binary(OperatorKind::Div, one(-7), one(2), {}))[0] == -3);
    CHECK_THROWS_AS(static_cast<void>(compute_binary(OperatorKind::Div, one(1), one(0), {})), Failure);
    CHECK_THROWS_AS(static_cast<void>(compute_modulo(one(1), one(0), false, {})), Failure);
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    CHECK(as_i64(compute_binary(OperatorKind::Div, one(lowest), one(-1), {}))[0] == lowest);
    CHECK(as_i64(compute_binary(OperatorKind::Sub, one(lowest), one(1), {}))[0] == std::numeric_limits<std::int64_t>::max());
    CHECK(as_i64(compute_modulo(one(-7), one(3), false, {}))[0] == 2);
    CHECK(as_i64(compute_modulo(one(-7), one(3), true, {}))[0] == -1);
    CHECK_THROWS_AS(static_cast<void>(compute_binary(OperatorKind::Add, one(1), make_f32({}, {1}), {})), Failure);
    const auto cast = [](float value) { return as_i64(compute_cast(make_f32({}, {value}), type_int64))[0]; };
    CHECK(cast(-2.7F) == -2);
    CHECK(cast(1e30F) == std::numeric_limits<std::int64_t>::max());
    CHECK(cast(std::numeric_limits<float>::quiet_NaN()) == 0);
}

TEST_CASE("A splat behaves as the tensor that it stands for") {
    const Constant splat = make_splat(make_f32({1}, {3}), {2, 3});
    const Constant full = make_f32({2, 3}, std::vector<float>(6, 3));
    const Constant row = make_f32({3}, {1, 2, 3});
    CHECK(as_f64(splat) == as_f64(full));
    CHECK(as_f64(compute_binary(OperatorKind::Mul, splat, row, {2, 3})) ==
          as_f64(compute_binary(OperatorKind::Mul, full, row, {2, 3})));
    CHECK(as_f64(compute_unary(UnaryFunction::sqrt, splat)) == as_f64(compute_unary(UnaryFunction::sqrt, full)));
    CHECK(as_f64(permuted(splat, std::vector<std::int64_t>{1, 0})) == as_f64(permuted(full, std::vector<std::int64_t>{1, 0})));
    const std::vector<std::vector<std::int32_t>> maps = {{1, -1}, {}};
    CHECK(as_f64(remapped(splat, maps, 9)) == as_f64(remapped(full, maps, 9)));
    CHECK(as_f64(concatenated(std::vector{splat, full}, 1)) == as_f64(concatenated(std::vector{full, full}, 1)));
    CHECK(as_f64(compute_reduce(ReduceFunction::sum, splat, {true, false})) ==
          as_f64(compute_reduce(ReduceFunction::sum, full, {true, false})));
}

TEST_CASE("Folding beyond the budget is refused, not attempted") {
    ModelBuilder model;
    model.input("x", {1});
    model.integers("shape", {1 << 12, 1 << 12});
    model.node("ConstantOfShape", {"shape"}, {"zeros"});
    model.weight("w", {1}, {1});
    model.node("Add", {"zeros", "w"}, {"sum"}, "large");
    model.node("Add", {"x", "sum"}, {"y"});
    model.output("y");
    FrontendOptions options;
    options.folding_budget_bytes = 1 << 20;
    CHECK(contains(model.failure(ExitStatus::refused, options),
                   "'large' (Add): folding constants would take more than 1048576 bytes"));
    options.max_elems = 1 << 10;
    CHECK(contains(model.failure(ExitStatus::refused, options), "larger than the limit of 1024 elements"));
}
