#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

namespace {

struct Form {
    bool square_by_power = true;
    bool offset = true;
    std::int64_t axis = -1;
    double exponent = 2;
    bool two_differences = false;   ///< one for the square, one for the quotient
};

/// A layer normalisation of [2, 3, 4] as exporters write it out.
ModelBuilder written_out(const Form& form) {
    ModelBuilder model;
    model.input("x", {2, 3, 4});
    model.weight("scale", {4}, {1, 2, 0.5F, -1});
    model.weight("offset", {4}, {0.1F, 0.2F, 0.3F, 0.4F});
    model.weight("two", {}, {static_cast<float>(form.exponent)});
    model.weight("small", {}, {1e-3F});
    const auto mean = [&](const std::string& from, const std::string& to) { set_ints(model.node("ReduceMean", {from}, {to}), "axes", {form.axis}); };
    mean("x", "mean");
    model.node("Sub", {"x", "mean"}, {"centred"});
    if (form.two_differences) model.node("Sub", {"x", "mean"}, {"again"});
    const std::string other = form.two_differences ? "again" : "centred";
    if (form.square_by_power) model.node("Pow", {other, "two"}, {"square"});
    else model.node("Mul", {other, other}, {"square"});
    mean("square", "variance");
    model.node("Add", {"variance", "small"}, {"sum"});
    model.node("Sqrt", {"sum"}, {"root"});
    model.node("Div", {"centred", "root"}, {"quotient"});
    model.node("Mul", {"quotient", "scale"}, {form.offset ? "scaled" : "y"});
    if (form.offset) model.node("Add", {"offset", "scaled"}, {"y"});
    model.output("y");
    return model;
}

}  // namespace

TEST_CASE("a layer normalisation that is written out becomes one, with the same values") {
    std::vector<float> x;
    for (int i = 0; i < 24; ++i) x.push_back(static_cast<float>((i * 7) % 11) - 4.5F);
    for (const Form& form : {Form{}, Form{.square_by_power = false}, Form{.offset = false}, Form{.axis = 2}, Form{.two_differences = true}}) {
        const ModelBuilder model = written_out(form);
        CHECK(kinds(model.import().graph) == std::vector<OperatorKind>{OperatorKind::LayerNorm});
        const HostTensor y = model.run_one({tensor({2, 3, 4}, x)});
        const float scale[] = {1, 2, 0.5F, -1};
        const float offset[] = {0.1F, 0.2F, 0.3F, 0.4F};
        for (std::size_t row = 0; row < 6; ++row) {
            double mean = 0;
            double square = 0;
            for (std::size_t c = 0; c < 4; ++c) mean += x[4 * row + c] / 4.0;
            for (std::size_t c = 0; c < 4; ++c) square += (x[4 * row + c] - mean) * (x[4 * row + c] - mean) / 4.0;
            for (std::size_t c = 0; c < 4; ++c) {
                const double expected = (x[4 * row + c] - mean) / std::sqrt(square + 1e-3) * scale[c] + (form.offset ? offset[c] : 0.0F);
                CHECK(y.values[4 * row + c] == doctest::Approx(expected).epsilon(1e-5));
            }
        }
    }
}

TEST_CASE("what only looks like a layer normalisation stays what it is") {
    const auto joined = [](const Form& form) {
        const auto message_or_kinds = [&] {
            try {
                return kinds(written_out(form).import().graph);
            } catch (const Failure&) {
                return std::vector<OperatorKind>{};
            }
        };
        const std::vector<OperatorKind> found = message_or_kinds();
        return std::ranges::find(found, OperatorKind::LayerNorm) != found.end();
    };
    CHECK(joined({}));
    CHECK(!joined({.axis = 1}));
    CHECK(!joined({.exponent = 3}));
}
