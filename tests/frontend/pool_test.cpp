#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "model_builder.h"

using namespace weft;
using namespace weft::frontend;
using namespace weft::frontend::test;

namespace {

struct Axis {
    std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0, out = 1;
};

Axis random_axis(Random& random, bool ceil_mode, const std::string& auto_pad) {
    for (;;) {
        Axis axis;
        axis.kernel = random.between(1, 4);
        axis.stride = random.between(1, 4);
        axis.dilation = random.between(1, 2);
        axis.in = random.between(4, 10);
        const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
        if (auto_pad != "NOTSET") {
            axis.out = (axis.in + axis.stride - 1) / axis.stride;
            const std::int64_t total = std::max<std::int64_t>(0, (axis.out - 1) * axis.stride + reach - axis.in);
            axis.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : (total + 1) / 2;
            axis.pad_end = total - axis.pad_begin;
        } else {
            axis.pad_begin = random.between(0, axis.kernel - 1);
            axis.pad_end = random.between(0, axis.kernel + 3);
            const std::int64_t free = axis.in + axis.pad_begin + axis.pad_end - reach;
            if (free < 0) continue;
            axis.out = ceil_mode ? (free + axis.stride - 1) / axis.stride + 1 : free / axis.stride + 1;
            // A window that would start in the end padding is dropped.
            if (ceil_mode && (axis.out - 1) * axis.stride >= axis.in + axis.pad_begin) --axis.out;
        }
        bool all_hit = true;
        for (std::int64_t o = 0; o < axis.out; ++o) {
            bool hit = false;
            for (std::int64_t k = 0; k < axis.kernel; ++k) {
                const std::int64_t at = o * axis.stride - axis.pad_begin + k * axis.dilation;
                hit = hit || (at >= 0 && at < axis.in);
            }
            all_hit = all_hit && hit;
        }
        if (all_hit) return axis;
    }
}

std::vector<float> pool(const std::vector<float>& x, bool maximum, bool count_padding, std::int64_t channels, const Axis& h,
                        const Axis& v) {
    std::vector<float> y;
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t i = 0; i < h.out; ++i)
            for (std::int64_t j = 0; j < v.out; ++j) {
                double best = -std::numeric_limits<double>::infinity();
                double sum = 0;
                int counted = 0;
                for (std::int64_t a = 0; a < h.kernel; ++a)
                    for (std::int64_t b = 0; b < v.kernel; ++b) {
                        const std::int64_t row = i * h.stride - h.pad_begin + a * h.dilation;
                        const std::int64_t column = j * v.stride - v.pad_begin + b * v.dilation;
                        const bool inside = row >= 0 && row < h.in && column >= 0 && column < v.in;
                        const bool padded = row < h.in + h.pad_end && column < v.in + v.pad_end;
                        if (inside || (count_padding && padded)) ++counted;
                        if (!inside) continue;
                        const auto value = static_cast<double>(x[static_cast<std::size_t>((c * h.in + row) * v.in + column)]);
                        best = std::max(best, value);
                        sum += value;
                    }
                y.push_back(static_cast<float>(maximum ? best : sum / counted));
            }
    return y;
}

}  // namespace

TEST_CASE("Pooling equals its definition: ceil_mode, padding counted or not, dilations with auto_pad, one axis") {
    Random random(11);
    for (int trial = 0; trial < 400; ++trial) {
        const bool maximum = random.between(0, 1) == 0;
        const bool ceil_mode = random.between(0, 1) == 0;
        const bool count_padding = random.between(0, 1) == 0;
        const bool plane = random.between(0, 3) != 0;
        const std::string auto_pad = std::vector<std::string>{"NOTSET", "NOTSET", "SAME_UPPER",
                                                              "SAME_LOWER"}[static_cast<std::size_t>(random.between(0, 3))];
        const Axis h = random_axis(random, ceil_mode, auto_pad);
        const Axis v = plane ? random_axis(random, ceil_mode, auto_pad) : Axis{};
        CAPTURE(trial);
        ModelBuilder model(19);
        const Shape x_shape = plane ? Shape{1, 2, h.in, v.in} : Shape{1, 2, h.in};
        model.input("x", x_shape);
        auto& node = model.node(maximum ? "MaxPool" : "AveragePool", {"x"}, {"y"});
        const auto each = [&](auto field) { return plane ? Shape{field(h), field(v)} : Shape{field(h)}; };
        set_ints(node, "kernel_shape", each([](const Axis& a) { return a.kernel; }));
        set_ints(node, "strides", each([](const Axis& a) { return a.stride; }));
        set_ints(node, "dilations", each([](const Axis& a) { return a.dilation; }));
        if (auto_pad == "NOTSET")
            set_ints(node, "pads",
                     plane ? Shape{h.pad_begin, v.pad_begin, h.pad_end, v.pad_end} : Shape{h.pad_begin, h.pad_end});
        else
            set_text(node, "auto_pad", auto_pad);
        set_int(node, "ceil_mode", ceil_mode ? 1 : 0);
        if (!maximum) set_int(node, "count_include_pad", count_padding ? 1 : 0);
        model.output("y");
        const auto x = random.values(2 * h.in * v.in);
        const HostTensor y = model.run_one({tensor(x_shape, x)});
        CHECK(Shape(y.dims.begin(), y.dims.end()) == (plane ? Shape{1, 2, h.out, v.out} : Shape{1, 2, h.out}));
        CHECK(relative_error(y.values, pool(x, maximum, count_padding, 2, h, v)) < 1e-6);
    }
}

TEST_CASE("AveragePool with ceil_mode: the published example's extent and values") {
    ModelBuilder model(10);
    model.input("x", {1, 1, 4, 4});
    auto& node = model.node("AveragePool", {"x"}, {"y"});
    set_ints(node, "kernel_shape", {3, 3});
    set_ints(node, "strides", {2, 2});
    set_int(node, "ceil_mode", 1);
    model.output("y");
    std::vector<float> x;
    for (int i = 1; i <= 16; ++i) x.push_back(static_cast<float>(i));
    CHECK(model.run_one({tensor({1, 1, 4, 4}, x)}).values == std::vector<float>{6, 7.5, 12, 13.5});
}

TEST_CASE("Global pooling takes the whole window, whatever the number of spatial axes") {
    Random random(12);
    for (const Shape& shape : {Shape{1, 3, 7, 5}, Shape{1, 3, 6}, Shape{1, 3, 2, 3, 4}, Shape{2, 3, 4, 4}}) {
        std::int64_t positions = 1;
        for (std::size_t k = 2; k < shape.size(); ++k) positions *= shape[k];
        const std::int64_t rows = shape[0] * shape[1];
        const auto x = random.values(rows * positions);
        std::vector<float> sums;
        std::vector<float> maxima;
        for (std::int64_t c = 0; c < rows; ++c) {
            const auto begin = x.begin() + c * positions;
            maxima.push_back(*std::max_element(begin, begin + positions));
            float sum = 0;
            for (auto at = begin; at != begin + positions; ++at) sum += *at;
            sums.push_back(sum / static_cast<float>(positions));
        }
        for (const bool maximum : {false, true}) {
            ModelBuilder model;
            model.input("x", shape);
            model.node(maximum ? "GlobalMaxPool" : "GlobalAveragePool", {"x"}, {"y"});
            model.output("y");
            const HostTensor y = model.run_one({tensor(shape, x)});
            CHECK(y.dims.size() == shape.size());
            CHECK(relative_error(y.values, maximum ? maxima : sums) < 1e-6);
        }
    }
}

TEST_CASE("MaxPool's indices are unsupported where they are read, and ignored where not") {
    ModelBuilder model(12);
    model.input("x", {1, 1, 4, 4});
    auto& node = model.node("MaxPool", {"x"}, {"y", "where"}, "pool");
    set_ints(node, "kernel_shape", {2, 2});
    model.output("y");
    CHECK(model.failure(ExitStatus::refused).empty());
    model.output("where", 7);
    CHECK(contains(model.failure(ExitStatus::refused), "'pool' (MaxPool): its indices"));
}
