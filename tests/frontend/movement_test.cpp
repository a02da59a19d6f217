#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

namespace {

std::int64_t count(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<float> counting(std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), 0.0F);
    return values;
}

/// Runs the node on a computed input and, added to zero, on a constant one: folding and the network must agree.
HostTensor run_both_ways(const Shape& shape,
                         const std::function<void(ModelBuilder&, const std::string& x, const std::string& y)>& add_node,
                         std::int64_t opset) {
    const auto x = counting(count(shape));
    ModelBuilder computed(opset);
    computed.input("x", shape);
    add_node(computed, "x", "y");
    computed.output("y");
    const HostTensor result = computed.run_one({tensor(shape, x)});
    ModelBuilder folded(opset);
    folded.weight("x", shape, x);
    add_node(folded, "x", "c");
    folded.input("zero", Shape(result.dims.begin(), result.dims.end()));
    folded.node("Add", {"zero", "c"}, {"y"});
    folded.output("y");
    CHECK(folded.run_one({{result.dims, std::vector<float>(result.values.size(), 0)}}) == result);
    CHECK(kinds(folded.import().graph) == std::vector{OperatorKind::Add});
    return result;
}

}  // namespace

TEST_CASE("Slice: random starts, ends and steps of either sign, beyond the ends too") {
    Random random(31);
    int compared = 0;
    for (int trial = 0; trial < 300; ++trial) {
        CAPTURE(trial);
        const std::int64_t dim = random.between(1, 7);
        const std::int64_t start = random.between(-9, 9);
        const std::int64_t end = random.between(-9, 9);
        std::int64_t step = random.between(-3, 3);
        if (step == 0) step = 1;
        // Python's rule, element by element.
        const auto bounded = [&](std::int64_t at) {
            if (at < 0) at += dim;
            return step > 0 ? std::min(std::max<std::int64_t>(at, 0), dim) : std::min(std::max<std::int64_t>(at, -1), dim - 1);
        };
        std::vector<std::int64_t> picked;
        for (std::int64_t at = bounded(start); step > 0 ? at < bounded(end) : at > bounded(end); at += step)
            picked.push_back(at);
        if (picked.empty()) continue;
        ++compared;
        const HostTensor y = run_both_ways(
            {2, dim, 3},
            [&](ModelBuilder& model, const std::string& from, const std::string& to) {
                model.integers("starts", {start});
                model.integers("ends", {end});
                model.integers("axes", {-2});
                model.integers("steps", {step});
                model.node("Slice", {from, "starts", "ends", "axes", "steps"}, {to});
            },
            13);
        std::vector<float> expected;
        for (std::int64_t a = 0; a < 2; ++a)
            for (const std::int64_t at : picked)
                for (std::int64_t b = 0; b < 3; ++b) expected.push_back(static_cast<float>((a * dim + at) * 3 + b));
        CHECK(y.values == expected);
    }
    CHECK(compared > 100);
}

TEST_CASE("Slice of opset 9 takes attributes, and int64 extremes mean the ends") {
    const HostTensor y = run_both_ways(
        {4, 5},
        [](ModelBuilder& model, const std::string& from, const std::string& to) {
            auto& node = model.node("Slice", {from}, {to});
            set_ints(node, "starts", {1, -2});
            set_ints(node, "ends", {0x7fffffffffffffff, 0x7fffffffffffffff});
            set_ints(node, "axes", {0, 1});
        },
        9);
    CHECK(y.values == std::vector<float>{8, 9, 13, 14, 18, 19});
}

TEST_CASE("Pad: constant, edge, reflect and wrap, and negative pads crop") {
    struct Case {
        const char* mode;
        std::vector<std::int64_t> pads;
        std::vector<float> expected;
    };
    const std::vector<Case> cases = {{"constant", {2, 1}, {9, 9, 0, 1, 2, 3, 9}},
                                     {"edge", {2, 1}, {0, 0, 0, 1, 2, 3, 3}},
                                     {"reflect", {2, 1}, {2, 1, 0, 1, 2, 3, 2}},
                                     {"wrap", {2, 1}, {2, 3, 0, 1, 2, 3, 0}},
                                     {"constant", {-1, -1}, {1, 2}},
                                     {"constant", {-1, 1}, {1, 2, 3, 9}}};
    for (const Case& each : cases) {
        const HostTensor y = run_both_ways(
            {4},
            [&](ModelBuilder& model, const std::string& from, const std::string& to) {
                model.integers("pads", each.pads);
                model.weight("value", {}, {9});
                set_text(model.node("Pad", {from, "pads", "value"}, {to}), "mode", each.mode);
            },
            19);
        CHECK(y.values == each.expected);
    }
}

TEST_CASE("Split: equal parts, sizes, unused parts, and a last part that is smaller") {
    ModelBuilder model(18);
    model.input("x", {7, 2});
    set_int(model.node("Split", {"x"}, {"a", "b", "c"}), "num_outputs", 3);
    model.output("a");
    model.output("c");
    const auto parts = model.run({tensor({7, 2}, counting(14))});
    CHECK(parts[0].values == std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(parts[1].values == std::vector<float>{12, 13});
    ModelBuilder sized(13);
    sized.input("x", {2, 5});
    sized.integers("sizes", {1, 4});
    set_int(sized.node("Split", {"x", "sizes"}, {"a", "b"}), "axis", 1);
    sized.output("b");
    CHECK(sized.run_one({tensor({2, 5}, counting(10))}).values == std::vector<float>{1, 2, 3, 4, 6, 7, 8, 9});
    ModelBuilder wrong(13);
    wrong.input("x", {5});
    wrong.node("Split", {"x"}, {"a", "b"}, "halves");
    wrong.output("a");
    CHECK(contains(wrong.failure(ExitStatus::bad_input), "'halves' (Split)"));
}

TEST_CASE("Gather with constant indices of ranks zero to two, negative ones too; Expand; Tile") {
    const HostTensor matrix = run_both_ways(
        {2, 4},
        [](ModelBuilder& model, const std::string& from, const std::string& to) {
            auto* indices = model.graph().add_initializer();
            indices->set_name("indices");
            indices->set_data_type(7);
            indices->add_dims(2);
            indices->add_dims(2);
            for (const std::int64_t index : {0, -1, 2, 1}) indices->add_int64_data(index);
            set_int(model.node("Gather", {from, "indices"}, {to}), "axis", 1);
        },
        13);
    CHECK(matrix.dims == std::vector<std::uint32_t>{2, 2, 2});
    CHECK(matrix.values == std::vector<float>{0, 3, 2, 1, 4, 7, 6, 5});
    const HostTensor tiled = run_both_ways(
        {1, 2},
        [](ModelBuilder& model, const std::string& from, const std::string& to) {
            model.integers("repeats", {2, 2});
            model.node("Tile", {from, "repeats"}, {to});
        },
        13);
    CHECK(tiled.values == std::vector<float>{0, 1, 0, 1, 0, 1, 0, 1});
    const HostTensor expanded = run_both_ways(
        {2, 1},
        [](ModelBuilder& model, const std::string& from, const std::string& to) {
            model.integers("shape", {2, 1, 3});
            model.node("Expand", {from, "shape"}, {to});
        },
        13);
    CHECK(expanded.dims == std::vector<std::uint32_t>{2, 2, 3});
    CHECK(expanded.values == std::vector<float>{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});
}

TEST_CASE("Reshape: 0 copies a dimension, also while folding; allowzero makes it a zero") {
    const HostTensor y = run_both_ways(
        {2, 3, 4},
        [](ModelBuilder& model, const std::string& from, const std::string& to) {
            model.integers("shape", {0, -1});
            model.node("Reshape", {from, "shape"}, {to});
        },
        13);
    CHECK(y.dims == std::vector<std::uint32_t>{2, 12});
    ModelBuilder zero(14);
    zero.input("x", {2, 3});
    zero.integers("shape", {0, 6});
    set_int(zero.node("Reshape", {"x", "shape"}, {"y"}, "r"), "allowzero", 1);
    zero.output("y");
    CHECK(
        contains(zero.failure(ExitStatus::bad_input), "'r' (Reshape): 6 elements of [2, 3] cannot take the new shape [0, 6]"));
    ModelBuilder beyond(13);
    beyond.input("x", {6});
    beyond.integers("shape", {6, 0});
    beyond.node("Reshape", {"x", "shape"}, {"y"});
    beyond.output("y");
    CHECK(contains(beyond.failure(ExitStatus::bad_input), "copies one that the input [6] lacks"));
}

TEST_CASE("Flatten, Squeeze and Unsqueeze with negative axes, as attributes and as inputs") {
    for (const std::int64_t opset : {11, 13}) {
        const auto with_axes = [&](const char* op, std::vector<std::int64_t> axes) {
            return [=](ModelBuilder& model, const std::string& from, const std::string& to) {
                if (opset >= 13) model.integers("axes", axes);
                auto& node =
                    model.node(op, opset >= 13 ? std::vector<std::string>{from, "axes"} : std::vector<std::string>{from}, {to});
                if (opset < 13) set_ints(node, "axes", axes);
            };
        };
        CHECK(run_both_ways({2, 3}, with_axes("Unsqueeze", {-1, 0}), opset).dims == std::vector<std::uint32_t>{1, 2, 3, 1});
        CHECK(run_both_ways({1, 2, 1, 3}, with_axes("Squeeze", {-2}), opset).dims == std::vector<std::uint32_t>{1, 2, 3});
        CHECK(run_both_ways(
                  {2, 3, 4},
                  [](ModelBuilder& model, const std::string& from, const std::string& to) {
                      set_int(model.node("Flatten", {from}, {to}), "axis", -1);
                  },
                  opset)
                  .dims == std::vector<std::uint32_t>{6, 4});
    }
}

TEST_CASE("Transpose: every permutation of four axes, and two in a row become one") {
    std::vector<std::int64_t> perm = {0, 1, 2, 3};
    const Shape shape = {2, 3, 4, 5};
    do {
        const HostTensor y = run_both_ways(
            shape,
            [&](ModelBuilder& model, const std::string& from, const std::string& to) {
                set_ints(model.node("Transpose", {from}, {to}), "perm", perm);
            },
            13);
        std::vector<float> expected;
        const std::int64_t strides[] = {60, 20, 5, 1};
        for (std::int64_t a = 0; a < shape[static_cast<std::size_t>(perm[0])]; ++a)
            for (std::int64_t b = 0; b < shape[static_cast<std::size_t>(perm[1])]; ++b)
                for (std::int64_t c = 0; c < shape[static_cast<std::size_t>(perm[2])]; ++c)
                    for (std::int64_t d = 0; d < shape[static_cast<std::size_t>(perm[3])]; ++d) {
                        expected.push_back(static_cast<float>(a * strides[perm[0]] + b * strides[perm[1]] +
                                                              c * strides[perm[2]] + d * strides[perm[3]]));
                    }
        if (perm != std::vector<std::int64_t>{0, 1, 2, 3}) CHECK(y.values == expected);
    } while (std::next_permutation(perm.begin() + 1, perm.end()) ||
             (perm[0] < 3 && (++perm[0], std::iota(perm.begin() + 1, perm.end(), 0), [&] {
                  std::int64_t next = 0;
                  for (std::size_t k = 1; k < 4; ++k) {
                      if (next == perm[0]) ++next;
                      perm[k] = next++;
                  }
                  return true;
              }())));
    ModelBuilder twice;
    twice.input("x", {2, 3, 4});
    set_ints(twice.node("Transpose", {"x"}, {"t"}), "perm", {1, 2, 0});
    set_ints(twice.node("Transpose", {"t"}, {"u"}), "perm", {1, 0, 2});
    twice.node("Relu", {"u"}, {"y"});
    twice.output("y");
    CHECK(kinds(twice.import().graph) == std::vector{OperatorKind::Transpose, OperatorKind::Relu});
    CHECK(output_shape(twice.import().graph) == Shape{4, 3, 2});
}

TEST_CASE("Resize by nearest neighbour: the operator's published examples and every coordinate and rounding mode") {
    // Coordinates by the text of ONNX in double precision; ties are avoided by the sizes where single precision matters.
    const auto coordinate = [](const std::string& mode, double at, double scale, double in, double out) {
        if (mode == "half_pixel") return (at + 0.5) / scale - 0.5;
        if (mode == "pytorch_half_pixel") return out > 1 ? (at + 0.5) / scale - 0.5 : 0.0;
        if (mode == "align_corners") return out > 1 ? at * (in - 1) / (out - 1) : 0.0;
        if (mode == "half_pixel_symmetric") return in / 2 * (1 - out / (scale * in)) + (at + 0.5) / scale - 0.5;
        return at / scale;
    };
    const auto rounded = [](const std::string& mode, double at) {
        if (mode == "round_prefer_floor") return std::ceil(at - 0.5);
        if (mode == "round_prefer_ceil") return std::floor(at + 0.5);
        return mode == "floor" ? std::floor(at) : std::ceil(at);
    };
    for (const std::string coordinates :
         {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"}) {
        for (const std::string rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
            for (const auto& sizes :
                 std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 8}, {8, 4}, {4, 7}, {7, 4}, {5, 1}, {1, 3}, {4, 16}}) {
                const std::int64_t in = sizes.first;
                const std::int64_t out = sizes.second;
                for (const bool by_scale : {false, true}) {
                    CAPTURE(coordinates);
                    CAPTURE(rounding);
                    CAPTURE(in);
                    CAPTURE(out);
                    const float scale = static_cast<float>(out) / static_cast<float>(in);
                    if (by_scale && std::floor(static_cast<float>(in) * scale) != static_cast<float>(out)) continue;
                    const HostTensor y = run_both_ways(
                        {1, 1, 1, in},
                        [&](ModelBuilder& model, const std::string& from, const std::string& to) {
                            model.weight("scales", by_scale ? Shape{4} : Shape{0},
                                         by_scale ? std::vector<float>{1, 1, 1, scale} : std::vector<float>{});
                            model.integers("sizes", {1, 1, 1, out});
                            auto& node = model.node("Resize",
                                                    by_scale ? std::vector<std::string>{from, "", "scales"}
                                                             : std::vector<std::string>{from, "", "", "sizes"},
                                                    {to});
                            set_text(node, "mode", "nearest");
                            set_text(node, "coordinate_transformation_mode", coordinates);
                            set_text(node, "nearest_mode", rounding);
                        },
                        19);
                    REQUIRE(y.values.size() == static_cast<std::size_t>(out));
                    for (std::int64_t i = 0; i < out; ++i) {
                        const double at =
                            coordinate(coordinates, static_cast<double>(i), static_cast<double>(out) / static_cast<double>(in),
                                       static_cast<double>(in), static_cast<double>(out));
                        const double low = std::min(std::max(rounded(rounding, at - 1e-5), 0.0), static_cast<double>(in - 1));
                        const double high = std::min(std::max(rounded(rounding, at + 1e-5), 0.0), static_cast<double>(in - 1));
                        const auto found = static_cast<double>(y.values[static_cast<std::size_t>(i)]);
                        CHECK((found == low || found == high));
                    }
                }
            }
        }
    }
    const HostTensor twice = run_both_ways(
        {1, 1, 2, 2},
        [](ModelBuilder& model, const std::string& from, const std::string& to) {
            model.weight("scales", {4}, {1, 1, 2, 3});
            model.node("Upsample", {from, "scales"}, {to});
        },
        9);
    CHECK(twice.values == std::vector<float>{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3});
}

TEST_CASE("Resize: axes, aspect ratio, a cropped region with its fill, linear is unsupported") {
    const HostTensor y = run_both_ways(
        {1, 1, 2, 4},
        [](ModelBuilder& model, const std::string& from, const std::string& to) {
            model.integers("sizes", {4, 4});
            auto& node = model.node("Resize", {from, "", "", "sizes"}, {to});
            set_ints(node, "axes", {2, 3});
            set_text(node, "keep_aspect_ratio_policy", "not_smaller");
            set_text(node, "coordinate_transformation_mode", "asymmetric");
            set_text(node, "nearest_mode", "floor");
        },
        18);
    CHECK(y.dims == std::vector<std::uint32_t>{1, 1, 4, 8});
    const HostTensor crop = run_both_ways(
        {4},
        [](ModelBuilder& model, const std::string& from, const std::string& to) {
            model.weight("roi", {2}, {0, 2});
            model.integers("sizes", {3});
            auto& node = model.node("Resize", {from, "roi", "", "sizes"}, {to});
            set_text(node, "coordinate_transformation_mode", "tf_crop_and_resize");
            set_float(node, "extrapolation_value", 7);
        },
        13);
    CHECK(crop.values == std::vector<float>{0, 3, 7});
    ModelBuilder linear;
    linear.input("x", {1, 1, 2, 2});
    linear.weight("scales", {4}, {1, 1, 2, 2});
    set_text(linear.node("Resize", {"x", "", "scales"}, {"y"}), "mode", "linear");
    linear.output("y");
    CHECK(contains(linear.failure(ExitStatus::refused), "mode 'linear'"));
}

TEST_CASE("Concat joins along any axis, with constant parts too; DepthToSpace and SpaceToDepth are inverse") {
    ModelBuilder model;
    model.input("x", {2, 1});
    model.input("z", {2, 2});
    model.weight("c", {2, 1}, {10, 20});
    set_int(model.node("Concat", {"x", "c", "z"}, {"y"}), "axis", -1);
    model.output("y");
    CHECK(model.run_one({tensor({2, 1}, {1, 2}), tensor({2, 2}, {3, 4, 5, 6})}).values ==
          std::vector<float>{1, 10, 3, 4, 2, 20, 5, 6});
    for (const char* mode : {"DCR"}) {
        const Shape shape = {1, 8, 2, 3};
        const HostTensor y = run_both_ways(
            shape,
            [&](ModelBuilder& builder, const std::string& from, const std::string& to) {
                auto& forth = builder.node("DepthToSpace", {from}, {"wide"});
                set_int(forth, "blocksize", 2);
                set_text(forth, "mode", mode);
                set_int(builder.node("SpaceToDepth", {"wide"}, {"back"}), "blocksize", 2);
                builder.weight("one", {1}, {1});
                builder.node("Mul", {"back", "one"}, {to});
            },
            13);
        CHECK(y.values == counting(48));
    }
}
