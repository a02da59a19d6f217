#include <doctest/doctest.h>

#include <cmath>

#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

namespace {

HostTensor softmax_of(std::int64_t opset, const char* op, const Shape& shape, const std::vector<float>& x,
                      const std::int64_t* axis) {
    ModelBuilder model(opset);
    model.input("x", shape);
    auto& node = model.node(op, {"x"}, {"y"});
    if (axis != nullptr) set_int(node, "axis", *axis);
    model.output("y");
    return model.run_one({tensor(shape, x)});
}

/// Softmax over groups of elements; `group` names each element's.
std::vector<float> grouped_softmax(const std::vector<float>& x, const std::vector<std::int64_t>& group, bool logarithm) {
    std::vector<float> y;
    for (std::size_t i = 0; i < x.size(); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < x.size(); ++j) {
            if (group[j] == group[i]) sum += std::exp(static_cast<double>(x[j] - x[i]));
        }
        y.push_back(static_cast<float>(logarithm ? -std::log(sum) : 1 / sum));
    }
    return y;
}

}  // namespace

TEST_CASE("Softmax before opset 13: default axis 1, and all axes from there on in one row") {
    Random random(41);
    const Shape shape = {2, 3, 4};
    const auto x = random.values(24);
    for (const char* op : {"Softmax", "LogSoftmax"}) {
        const bool logarithm = std::string(op) == "LogSoftmax";
        for (std::int64_t axis = -3; axis <= 2; ++axis) {
            CAPTURE(axis);
            const std::int64_t at = axis < 0 ? axis + 3 : axis;
            const std::int64_t columns = at == 0 ? 24 : at == 1 ? 12 : 4;
            std::vector<std::int64_t> early;
            std::vector<std::int64_t> late;
            for (std::int64_t i = 0; i < 24; ++i) {
                early.push_back(i / columns);
                const std::int64_t index[] = {i / 12, i / 4 % 3, i % 4};
                late.push_back(at == 0 ? i % 12 : at == 1 ? index[0] * 4 + index[2] : i / 4);
            }
            CHECK(relative_error(softmax_of(11, op, shape, x, &axis).values, grouped_softmax(x, early, logarithm)) < 1e-5);
            CHECK(relative_error(softmax_of(13, op, shape, x, &axis).values, grouped_softmax(x, late, logarithm)) < 1e-5);
        }
        std::vector<std::int64_t> rows;
        std::vector<std::int64_t> last;
        for (std::int64_t i = 0; i < 24; ++i) rows.push_back(i / 12), last.push_back(i / 4);
        CHECK(relative_error(softmax_of(12, op, shape, x, nullptr).values, grouped_softmax(x, rows, logarithm)) < 1e-5);
        CHECK(relative_error(softmax_of(13, op, shape, x, nullptr).values, grouped_softmax(x, last, logarithm)) < 1e-5);
    }
}

TEST_CASE("Clip: attributes, absent and empty-string inputs, one bound, computed bounds") {
    const std::vector<float> x = {-5, -1, 0, 1, 5};
    const auto run = [&](std::int64_t opset, const std::vector<std::string>& inputs, bool low, bool high) {
        ModelBuilder model(opset);
        model.input("x", {5});
        model.weight("low", {}, {-2});
        model.weight("high", {}, {2});
        auto& node = model.node("Clip", inputs, {"c"});
        if (opset < 11 && low) set_float(node, "min", -2);
        if (opset < 11 && high) set_float(node, "max", 2);
        model.node("Neg", {"c"}, {"y"});
        model.output("y");
        auto y = model.run_one({tensor({5}, x)}).values;
        for (float& value : y) value = -value;
        return y;
    };
    CHECK(run(6 + 1, {"x"}, true, true) == std::vector<float>{-2, -1, 0, 1, 2});
    CHECK(run(10, {"x"}, false, true) == std::vector<float>{-5, -1, 0, 1, 2});
    CHECK(run(13, {"x", "low", "high"}, false, false) == std::vector<float>{-2, -1, 0, 1, 2});
    CHECK(run(13, {"x", "", "high"}, false, false) == std::vector<float>{-5, -1, 0, 1, 2});
    CHECK(run(13, {"x", "low", ""}, false, false) == std::vector<float>{-2, -1, 0, 1, 5});
    CHECK(run(13, {"x", "low"}, false, false) == std::vector<float>{-2, -1, 0, 1, 5});
    CHECK(run(13, {"x", "", ""}, false, false) == x);
    ModelBuilder computed;
    computed.input("x", {5});
    computed.input("high", {});
    computed.node("Clip", {"x", "", "high"}, {"y"});
    computed.output("y");
    CHECK(computed.run_one({tensor({5}, x), tensor({}, {1})}).values == std::vector<float>{-5, -1, 0, 1, 1});
}

namespace {

/// y = BatchNormalization(x) after `before`; statistics are fixed.
ModelBuilder normalised(const Shape& shape, bool shared) {
    ModelBuilder model;
    model.input("x", shape);
    Random random(42);
    const bool plane = shape.size() == 4;
    if (shape.size() == 2) {
        model.weight("w", {shape[1], 2}, random.values(shape[1] * 2));
        model.node("MatMul", {"x", "w"}, {"c"});
    } else {
        model.weight("w", plane ? Shape{2, shape[1], 2, 2} : Shape{2, shape[1], 2},
                     random.values(2 * shape[1] * (plane ? 4 : 2)));
        model.node("Conv", {"x", "w"}, {"c"});
    }
    model.weight("scale", {2}, {2, 0.5});
    model.weight("bias", {2}, {1, -1});
    model.weight("mean", {2}, {3, -2});
    model.weight("variance", {2}, {4, 0.25});
    set_float(model.node("BatchNormalization", {"c", "scale", "bias", "mean", "variance"}, {"n"}), "epsilon", 0);
    model.node("Relu", {shared ? "c" : "n"}, {"y"});
    model.output("y");
    model.output("n");
    return model;
}

}  // namespace

TEST_CASE("BatchNormalization folds into what precedes it, and only where nothing else reads that") {
    Random random(43);
    for (const Shape& shape : {Shape{1, 3, 4, 4}, Shape{1, 3, 5}, Shape{2, 3}}) {
        for (const bool shared : {false, true}) {
            CAPTURE(shape.size());
            CAPTURE(shared);
            const ModelBuilder model = normalised(shape, shared);
            const ImportedModel imported = model.import();
            const auto found = kinds(imported.graph);
            const auto scales = std::count(found.begin(), found.end(), OperatorKind::Mul) +
                                std::count(found.begin(), found.end(), OperatorKind::Add);
            CHECK(scales == (shared ? 2 : 0));
            std::int64_t count = 1;
            for (const std::int64_t dim : shape) count *= dim;
            const auto x = tensor(shape, random.values(count));
            const auto outputs = model.run({x});
            // The reference: the convolution alone, then the definition.
            ModelBuilder plain = model;
            plain.graph().clear_output();
            plain.output("c");
            auto expected = plain.run_one({x}).values;
            const std::size_t per_channel = shape.size() == 2 ? 1 : expected.size() / 2;
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const bool second = i / per_channel % 2 == 1;
                expected[i] = second ? 0.5F * (expected[i] + 2) / 0.5F - 1 : 2 * (expected[i] - 3) / 2 + 1;
            }
            CHECK(relative_error(outputs[1].values, expected) < 1e-6);
        }
    }
}

TEST_CASE("A chain of constant multiplications and additions becomes one of each") {
    ModelBuilder model;
    model.input("x", {1, 2, 3, 3});
    model.node("Relu", {"x"}, {"r"});
    model.weight("a", {2, 1, 1}, {2, 3});
    model.weight("b", {2, 1, 1}, {5, 7});
    model.weight("c", {1}, {4});
    model.weight("d", {2, 1, 1}, {1, -1});
    model.node("Mul", {"r", "a"}, {"t0"});
    model.node("Add", {"b", "t0"}, {"t1"});
    model.node("Div", {"t1", "c"}, {"t2"});
    model.node("Sub", {"t2", "d"}, {"y"});
    model.output("y");
    CHECK(kinds(model.import().graph) == std::vector{OperatorKind::Relu, OperatorKind::Mul, OperatorKind::Add});
    const HostTensor y = model.run_one({tensor({1, 2, 3, 3}, std::vector<float>(18, 2))});
    for (std::size_t i = 0; i < 18; ++i) CHECK(y.values[i] == (i < 9 ? (2 * 2 + 5) / 4.0F - 1 : (2 * 3 + 7) / 4.0F + 1));
}

TEST_CASE("A shared weight is scaled for one convolution only") {
    ModelBuilder model;
    model.input("x", {1, 1, 2, 2});
    model.weight("w", {1, 1, 1, 1}, {3});
    model.weight("two", {1, 1, 1}, {2});
    model.node("Conv", {"x", "w"}, {"a"});
    model.node("Conv", {"x", "w"}, {"b"});
    model.node("Mul", {"a", "two"}, {"doubled"});
    model.output("doubled");
    model.output("b");
    const auto outputs = model.run({tensor({1, 1, 2, 2}, {1, 2, 3, 4})});
    CHECK(outputs[0].values == std::vector<float>{6, 12, 18, 24});
    CHECK(outputs[1].values == std::vector<float>{3, 6, 9, 12});
}

TEST_CASE("Sum, Max, Min and Mean of one to three inputs, broadcast") {
    for (int n = 1; n <= 3; ++n) {
        for (const std::string op : {"Sum", "Max", "Min", "Mean"}) {
            ModelBuilder model;
            std::vector<std::string> names;
            std::vector<HostTensor> inputs;
            const std::vector<HostTensor> all = {tensor({2, 2}, {1, 5, -3, 2}), tensor({2}, {4, -6}), tensor({2, 1}, {0, 3})};
            for (int i = 0; i < n; ++i) {
                names.push_back(fmt::format("x{}", i));
                model.input(names.back(),
                            Shape(all[static_cast<std::size_t>(i)].dims.begin(), all[static_cast<std::size_t>(i)].dims.end()));
                inputs.push_back(all[static_cast<std::size_t>(i)]);
            }
            model.node(op, names, {"s"});
            model.node("Tanh", {"s"}, {"y"});
            model.output("y");
            std::vector<float> expected;
            for (std::size_t i = 0; i < 4; ++i) {
                const float values[] = {all[0].values[i], all[1].values[i % 2], all[2].values[i / 2]};
                float result = values[0];
                for (int k = 1; k < n; ++k)
                    result = op == "Max"   ? std::max(result, values[k])
                             : op == "Min" ? std::min(result, values[k])
                                           : result + values[k];
                if (op == "Mean") result /= static_cast<float>(n);
                expected.push_back(std::tanh(result));
            }
            CHECK(relative_error(model.run_one(inputs).values, expected) < 1e-6);
        }
    }
}

TEST_CASE("Reductions over any axes equal their definition") {
    Random random(44);
    const Shape shape = {1, 2, 3, 4};
    const auto x = random.values(24);
    for (const std::string op : {"ReduceMean", "ReduceSum", "ReduceMax"}) {
        for (unsigned mask = 1; mask < 16; ++mask) {
            for (const bool keep : {false, true}) {
                CAPTURE(mask);
                std::vector<std::int64_t> axes;
                Shape out;
                for (std::size_t k = 0; k < 4; ++k) {
                    const bool reduced = (mask >> k & 1U) != 0;
                    if (reduced) axes.push_back(static_cast<std::int64_t>(k) - 4);
                    if (!reduced)
                        out.push_back(shape[k]);
                    else if (keep)
                        out.push_back(1);
                }
                ModelBuilder model(11);
                model.input("x", shape);
                auto& node = model.node(op, {"x"}, {"y"});
                set_ints(node, "axes", axes);
                set_int(node, "keepdims", keep ? 1 : 0);
                model.output("y");
                std::vector<std::vector<double>> groups;
                std::vector<std::size_t> group_of(24);
                std::vector<std::int64_t> keys;
                for (std::int64_t i = 0; i < 24; ++i) {
                    const std::int64_t index[] = {0, i / 12, i / 4 % 3, i % 4};
                    std::int64_t key = 0;
                    for (std::size_t k = 0; k < 4; ++k) key = (mask >> k & 1U) != 0 ? key : key * shape[k] + index[k];
                    const auto found = std::find(keys.begin(), keys.end(), key);
                    if (found == keys.end()) keys.push_back(key), groups.emplace_back();
                    groups[static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin())].push_back(
                        static_cast<double>(x[static_cast<std::size_t>(i)]));
                }
                std::vector<float> expected;
                for (const auto& group : groups) {
                    double sum = 0;
                    for (const double value : group) sum += value;
                    const double result = op == "ReduceMax"   ? *std::max_element(group.begin(), group.end())
                                          : op == "ReduceSum" ? sum
                                                              : sum / static_cast<double>(group.size());
                    expected.push_back(static_cast<float>(result));
                }
                const HostTensor y = model.run_one({tensor(shape, x)});
                CHECK(Shape(y.dims.begin(), y.dims.end()) == out);
                CHECK(relative_error(y.values, expected) < 1e-6);
            }
        }
    }
}

TEST_CASE("Elementwise activations carry their attributes and defaults") {
    const std::vector<float> x = {-4, -1, 0, 0.5, 4};
    const auto run = [&](const char* op, const std::vector<std::pair<std::string, float>>& attributes) {
        ModelBuilder model(14);
        model.input("x", {5});
        auto& node = model.node(op, {"x"}, {"y"});
        for (const auto& [name, value] : attributes) set_float(node, name, value);
        model.output("y");
        return model.run_one({tensor({5}, x)}).values;
    };
    CHECK(run("Relu", {}) == std::vector<float>{0, 0, 0, 0.5, 4});
    CHECK(relative_error(run("LeakyRelu", {}), std::vector<float>{-0.04F, -0.01F, 0, 0.5, 4}) < 1e-6);
    CHECK(run("LeakyRelu", {{"alpha", 0.5F}}) == std::vector<float>{-2, -0.5, 0, 0.5, 4});
    CHECK(relative_error(run("HardSigmoid", {}), std::vector<float>{0, 0.3F, 0.5F, 0.6F, 1}) < 1e-6);
    CHECK(relative_error(run("HardSigmoid", {{"alpha", 0.5F}, {"beta", 0.25F}}), std::vector<float>{0, 0, 0.25F, 0.5F, 1}) <
          1e-6);
    CHECK(relative_error(run("HardSwish", {}), std::vector<float>{0, -1.0F / 3, 0, 0.5F * 3.5F / 6, 4}) < 1e-6);
    ModelBuilder prelu;
    prelu.input("x", {1, 2, 2});
    prelu.weight("slope", {2, 1}, {0.5, 2});
    prelu.node("PRelu", {"x", "slope"}, {"y"});
    prelu.output("y");
    CHECK(prelu.run_one({tensor({1, 2, 2}, {-1, 1, -1, 3})}).values == std::vector<float>{-0.5, 1, -2, 3});
}

TEST_CASE("Erf, and Gelu in both approximations, equal their definitions") {
    Random random(43);
    const auto x = random.values(64);
    const auto run = [&](const char* op, const char* approximation) {
        ModelBuilder model(20);
        model.input("x", {64});
        auto& node = model.node(op, {"x"}, {"y"});
        if (*approximation != 0) set_text(node, "approximate", approximation);
        model.output("y");
        return model.run_one({tensor({64}, x)}).values;
    };
    std::vector<float> erf;
    std::vector<float> exact;
    std::vector<float> approximate;
    for (const double v : x) {
        erf.push_back(static_cast<float>(std::erf(v)));
        exact.push_back(static_cast<float>(v / 2 * (1 + std::erf(v / std::sqrt(2.0)))));
        approximate.push_back(static_cast<float>(v / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)))));
    }
    CHECK(relative_error(run("Erf", ""), erf) < 1e-6);
    CHECK(relative_error(run("Gelu", ""), exact) < 1e-6);
    CHECK(relative_error(run("Gelu", "none"), exact) < 1e-6);
    CHECK(relative_error(run("Gelu", "tanh"), approximate) < 1e-6);
    CHECK(relative_error(exact, approximate) > 1e-5);
    CHECK_THROWS_AS(run("Gelu", "sigmoid"), Failure);
}

TEST_CASE("Integer arithmetic on activations is unsupported; moving integers is not") {
    ModelBuilder model;
    model.input("x", {4}, {}, 7);
    model.node("Add", {"x", "x"}, {"y"}, "sum");
    model.output("y", 7);
    CHECK(contains(model.failure(ExitStatus::refused), "'sum' (Add): it computes with type int64"));
    ModelBuilder moved;
    moved.input("x", {2, 3}, {}, 3);
    moved.node("Transpose", {"x"}, {"t"});
    set_int(moved.node("Cast", {"t"}, {"y"}), "to", 1);
    moved.output("y");
    CHECK(moved.run_one({tensor({2, 3}, {1, 2, 3, 4, 5, 6})}).values == std::vector<float>{1, 4, 2, 5, 3, 6});
    CHECK(kinds(moved.import().graph) == std::vector{OperatorKind::Transpose});
}
