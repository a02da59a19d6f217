#include <doctest/doctest.h>

#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

namespace {

struct Axis {
    std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0, out = 1;
};

/// ONNX's Conv by its definition, one output element at a time.
std::vector<float> convolve(const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& bias,
                            std::int64_t batch, std::int64_t channels, std::int64_t outputs, std::int64_t group, const Axis& h,
                            const Axis& v) {
    std::vector<float> y;
    const std::int64_t per_group = channels / group;
    for (std::int64_t n = 0; n < batch; ++n)
        for (std::int64_t m = 0; m < outputs; ++m)
            for (std::int64_t i = 0; i < h.out; ++i)
                for (std::int64_t j = 0; j < v.out; ++j) {
                    double sum = bias.empty() ? 0 : static_cast<double>(bias[static_cast<std::size_t>(m)]);
                    for (std::int64_t c = 0; c < per_group; ++c)
                        for (std::int64_t a = 0; a < h.kernel; ++a)
                            for (std::int64_t b = 0; b < v.kernel; ++b) {
                                const std::int64_t row = i * h.stride - h.pad_begin + a * h.dilation;
                                const std::int64_t column = j * v.stride - v.pad_begin + b * v.dilation;
                                if (row < 0 || row >= h.in || column < 0 || column >= v.in) continue;
                                const std::int64_t channel = m / (outputs / group) * per_group + c;
                                sum +=
                                    static_cast<double>(
                                        x[static_cast<std::size_t>(((n * channels + channel) * h.in + row) * v.in + column)]) *
                                    static_cast<double>(
                                        w[static_cast<std::size_t>(((m * per_group + c) * h.kernel + a) * v.kernel + b)]);
                            }
                    y.push_back(static_cast<float>(sum));
                }
    return y;
}

Axis random_axis(Random& random, const std::string& auto_pad) {
    Axis axis;
    axis.kernel = random.between(1, 3);
    axis.stride = random.between(1, 3);
    axis.dilation = random.between(1, 2);
    axis.in = random.between(5, 9);
    const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
        axis.out = (axis.in + axis.stride - 1) / axis.stride;
        const std::int64_t total = std::max<std::int64_t>(0, (axis.out - 1) * axis.stride + reach - axis.in);
        axis.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : (total + 1) / 2;
        axis.pad_end = total - axis.pad_begin;
    } else {
        if (auto_pad == "NOTSET") axis.pad_begin = random.between(0, 2), axis.pad_end = random.between(0, 2);
        axis.out = (axis.in + axis.pad_begin + axis.pad_end - reach) / axis.stride + 1;
    }
    return axis;
}

}  // namespace

TEST_CASE("Conv equals its definition: strides, pads, dilations with auto_pad, groups, batches, oblong inputs, one axis") {
    Random random(1);
    for (int trial = 0; trial < 200; ++trial) {
        const std::string auto_pad = std::vector<std::string>{"NOTSET", "SAME_UPPER", "SAME_LOWER",
                                                              "VALID"}[static_cast<std::size_t>(random.between(0, 3))];
        const bool plane = random.between(0, 3) != 0;
        const Axis h = random_axis(random, auto_pad);
        const Axis v = plane ? random_axis(random, auto_pad) : Axis{};
        const std::int64_t batch = random.between(0, 5) == 0 ? 2 : 1;
        const std::int64_t group = random.between(1, 3);
        const std::int64_t channels = group * random.between(1, 2);
        const std::int64_t outputs = group * random.between(1, 3);
        const bool with_bias = random.between(0, 1) == 1;
        CAPTURE(trial);
        ModelBuilder model;
        const Shape x_shape = plane ? Shape{batch, channels, h.in, v.in} : Shape{batch, channels, h.in};
        const Shape w_shape =
            plane ? Shape{outputs, channels / group, h.kernel, v.kernel} : Shape{outputs, channels / group, h.kernel};
        const auto w = random.values(outputs * channels / group * h.kernel * v.kernel);
        const auto bias = with_bias ? random.values(outputs) : std::vector<float>{};
        model.input("x", x_shape);
        model.weight("w", w_shape, w);
        if (with_bias) model.weight("b", {outputs}, bias);
        auto& node =
            model.node("Conv", with_bias ? std::vector<std::string>{"x", "w", "b"} : std::vector<std::string>{"x", "w"}, {"y"});
        set_ints(node, "strides", plane ? Shape{h.stride, v.stride} : Shape{h.stride});
        set_ints(node, "dilations", plane ? Shape{h.dilation, v.dilation} : Shape{h.dilation});
        set_int(node, "group", group);
        if (auto_pad == "NOTSET")
            set_ints(node, "pads",
                     plane ? Shape{h.pad_begin, v.pad_begin, h.pad_end, v.pad_end} : Shape{h.pad_begin, h.pad_end});
        else
            set_text(node, "auto_pad", auto_pad);
        model.output("y");
        const auto x = random.values(batch * channels * h.in * v.in);
        const HostTensor y = model.run_one({tensor(x_shape, x)});
        const Shape y_shape = plane ? Shape{batch, outputs, h.out, v.out} : Shape{batch, outputs, h.out};
        CHECK(Shape(y.dims.begin(), y.dims.end()) == y_shape);
        CHECK(y.values == convolve(x, w, bias, batch, channels, outputs, group, h, v));
    }
}

TEST_CASE("ConvTranspose equals scattering: strides, pads, output padding, dilations, groups, auto_pad, output_shape") {
    Random random(2);
    for (int trial = 0; trial < 200; ++trial) {
        const bool plane = random.between(0, 3) != 0;
        const std::int64_t mode = random.between(0, 3);  // pads, output_shape, SAME_UPPER, SAME_LOWER
        const std::int64_t group = random.between(1, 2);
        const std::int64_t channels = group * random.between(1, 2);
        const std::int64_t per_group = random.between(1, 2);
        const std::int64_t outputs = group * per_group;
        std::vector<Axis> axes;
        Shape output_padding;
        for (int k = 0; k < 2; ++k) {
            Axis axis;
            std::int64_t extra = 0;
            if (k == 0 || plane) {
                axis = {.in = random.between(1, 5),
                        .kernel = random.between(1, 3),
                        .stride = random.between(1, 3),
                        .dilation = random.between(1, 2)};
                extra = mode <= 1 ? random.between(0, axis.stride - 1) : 0;
                const std::int64_t full = (axis.in - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 + extra;
                if (mode == 0) {
                    axis.pad_begin = random.between(0, std::min<std::int64_t>(2, full - 1));
                    axis.pad_end = random.between(0, std::min<std::int64_t>(2, full - 1 - axis.pad_begin));
                    axis.out = full - axis.pad_begin - axis.pad_end;
                } else {
                    axis.out =
                        mode == 1 ? random.between(std::max<std::int64_t>(1, full - 2), full + 1) : axis.in * axis.stride;
                    const std::int64_t total = std::max<std::int64_t>(0, full - axis.out);
                    axis.pad_begin = mode == 2 ? total / 2 : total - total / 2;
                }
            }
            axes.push_back(axis);
            output_padding.push_back(extra);
        }
        const Axis& h = axes[0];
        const Axis& v = axes[1];
        CAPTURE(trial);
        const auto each = [&](auto field) { return plane ? Shape{field(h), field(v)} : Shape{field(h)}; };
        ModelBuilder model;
        const Shape x_shape = plane ? Shape{1, channels, h.in, v.in} : Shape{1, channels, h.in};
        const auto w = random.values(channels * per_group * h.kernel * v.kernel);
        const auto bias = random.values(outputs);
        model.input("x", x_shape);
        model.weight("w", plane ? Shape{channels, per_group, h.kernel, v.kernel} : Shape{channels, per_group, h.kernel}, w);
        model.weight("b", {outputs}, bias);
        auto& node = model.node("ConvTranspose", {"x", "w", "b"}, {"y"});
        set_int(node, "group", group);
        set_ints(node, "strides", each([](const Axis& a) { return a.stride; }));
        set_ints(node, "dilations", each([](const Axis& a) { return a.dilation; }));
        if (mode <= 1) set_ints(node, "output_padding", plane ? output_padding : Shape{output_padding[0]});
        if (mode == 0)
            set_ints(node, "pads",
                     plane ? Shape{h.pad_begin, v.pad_begin, h.pad_end, v.pad_end} : Shape{h.pad_begin, h.pad_end});
        if (mode == 1) set_ints(node, "output_shape", each([](const Axis& a) { return a.out; }));
        if (mode >= 2) set_text(node, "auto_pad", mode == 2 ? "SAME_UPPER" : "SAME_LOWER");
        model.output("y");
        const auto x = random.values(channels * h.in * v.in);
        std::vector<float> expected;
        for (std::int64_t m = 0; m < outputs; ++m)
            expected.insert(expected.end(), static_cast<std::size_t>(h.out * v.out), bias[static_cast<std::size_t>(m)]);
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t m = 0; m < per_group; ++m)
                for (std::int64_t i = 0; i < h.in; ++i)
                    for (std::int64_t j = 0; j < v.in; ++j)
                        for (std::int64_t a = 0; a < h.kernel; ++a)
                            for (std::int64_t b = 0; b < v.kernel; ++b) {
                                const std::int64_t row = i * h.stride + a * h.dilation - h.pad_begin;
                                const std::int64_t column = j * v.stride + b * v.dilation - v.pad_begin;
                                if (row < 0 || row >= h.out || column < 0 || column >= v.out) continue;
                                const std::int64_t output = c / (channels / group) * per_group + m;
                                expected[static_cast<std::size_t>((output * h.out + row) * v.out + column)] +=
                                    x[static_cast<std::size_t>((c * h.in + i) * v.in + j)] *
                                    w[static_cast<std::size_t>(((c * per_group + m) * h.kernel + a) * v.kernel + b)];
                            }
        const HostTensor y = model.run_one({tensor(x_shape, x)});
        CHECK(Shape(y.dims.begin(), y.dims.end()) == (plane ? Shape{1, outputs, h.out, v.out} : Shape{1, outputs, h.out}));
        CHECK(y.values == expected);
    }
}

TEST_CASE("One input and one output channel is a plain convolution of one group") {
    ModelBuilder model;
    model.input("x", {1, 1, 4, 4});
    model.weight("w", {1, 1, 3, 3}, std::vector<float>(9, 1));
    model.node("Conv", {"x", "w"}, {"y"});
    model.output("y");
    const ImportedModel imported = model.import();
    const GraphNode& node = imported.graph.nodes[0];
    bool found = false;
    for (std::uint32_t k = 0; k < node.attribute_count; ++k) {
        const GraphAttribute& attribute = imported.graph.attributes[node.first_attribute + k];
        if (attribute.key != static_cast<std::uint32_t>(AttributeKey::Group)) continue;
        found = true;
        CHECK(imported.graph.ints[attribute.first] == 1);
    }
    CHECK(found);
    CHECK(kinds(imported.graph) == std::vector{OperatorKind::Conv});
}

TEST_CASE("Height and width keep their places in an oblong network") {
    ModelBuilder model;
    model.input("x", {1, 2, 7, 5});
    Random random(3);
    model.weight("w", {3, 2, 3, 1}, random.values(18));
    auto& conv = model.node("Conv", {"x", "w"}, {"c"});
    set_ints(conv, "pads", {1, 0, 1, 0});
    auto& pool = model.node("MaxPool", {"c"}, {"y"});
    set_ints(pool, "kernel_shape", {2, 1});
    set_ints(pool, "strides", {2, 1});
    model.output("y");
    CHECK(output_shape(model.import().graph) == Shape{1, 3, 3, 5});
}

TEST_CASE("A computed weight is listed as unsupported, with the node's name") {
    ModelBuilder model;
    model.input("x", {1, 1, 4, 4});
    model.input("w", {1, 1, 3, 3});
    model.node("Conv", {"x", "w"}, {"y"}, "first");
    model.output("y");
    const std::string text = model.failure(ExitStatus::refused);
    CHECK(contains(text, "'first' (Conv)"));
    CHECK(contains(text, "weight 'w'"));
}

TEST_CASE("Weights may come from Constant nodes, ConstantOfShape, Reshape and Transpose of initializers") {
    Random random(4);
    const auto w = random.values(2 * 3 * 4);
    const auto x = random.values(3 * 5 * 5);
    ModelBuilder direct;
    direct.input("x", {1, 3, 5, 5});
    direct.weight("w", {2, 3, 2, 2}, w);
    direct.node("Conv", {"x", "w"}, {"y"});
    direct.output("y");
    ModelBuilder indirect;
    indirect.input("x", {1, 3, 5, 5});
    // w as [12, 2], transposed to [2, 12], reshaped.
    std::vector<float> turned(24);
    for (std::size_t m = 0; m < 2; ++m)
        for (std::size_t k = 0; k < 12; ++k) turned[k * 2 + m] = w[m * 12 + k];
    auto& constant = indirect.node("Constant", {}, {"flat"});
    auto* attribute = constant.add_attribute();
    attribute->set_name("value");
    attribute->set_type(onnx::AttributeProto::TENSOR);
    attribute->mutable_t()->set_data_type(1);
    attribute->mutable_t()->add_dims(12);
    attribute->mutable_t()->add_dims(2);
    for (const float value : turned) attribute->mutable_t()->add_float_data(value);
    indirect.node("Transpose", {"flat"}, {"rows"});
    indirect.integers("shape", {2, 3, 2, 2});
    indirect.node("Reshape", {"rows", "shape"}, {"shaped"});
    indirect.integers("one_shape", {2, 3, 2, 2});
    indirect.node("ConstantOfShape", {"one_shape"}, {"zeros"});
    indirect.node("Add", {"shaped", "zeros"}, {"w"});
    indirect.node("Conv", {"x", "w"}, {"y"});
    indirect.output("y");
    const HostTensor input = tensor({1, 3, 5, 5}, x);
    CHECK(indirect.run_one({input}) == direct.run_one({input}));
    CHECK(kinds(indirect.import().graph) == std::vector{OperatorKind::Conv});
}
