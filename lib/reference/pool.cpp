#include <algorithm>
#include <limits>

#include "reference/kernels.h"

// MaxPool and AveragePool over axes 2 and 3.
namespace weft {
namespace {

struct PoolShape {
    std::int64_t rows, columns, out_rows, out_columns;
    std::int64_t kernel_rows, kernel_columns, stride_rows, stride_columns, dilation_rows, dilation_columns, pad_top, pad_left;
};

PoolShape pool_shape(const NodeContext& context, const HostTensor& output) {
    const auto& x = context.input(0).dims;
    const auto kernel = context.ints(AttributeKey::Kernel);
    const auto strides = context.ints(AttributeKey::Strides);
    const auto pads = context.ints(AttributeKey::Pads);
    const auto dilations = context.ints(AttributeKey::Dilations);
    context.require(x.size() == 4 && output.dims.size() == 4 && x[0] == output.dims[0] && x[1] == output.dims[1],
                    "a pool keeps batch and channels and has two spatial axes");
    context.require(kernel.size() == 2 && strides.size() == 2 && pads.size() == 4 && (dilations.empty() || dilations.size() == 2),
                    "kernel, strides and pads are explicit");
    return {x[2], x[3], output.dims[2], output.dims[3], kernel[0], kernel[1], strides[0], strides[1],
            dilations.empty() ? 1 : dilations[0], dilations.empty() ? 1 : dilations[1], pads[0], pads[1]};
}

struct Window {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    std::int64_t count = 0;
};

Window pool_window(const PoolShape& s, const float* plane, std::int64_t row, std::int64_t column) {
    Window window;
    for (std::int64_t tap_row = 0; tap_row < s.kernel_rows; ++tap_row) {
        const std::int64_t y = row * s.stride_rows - s.pad_top + tap_row * s.dilation_rows;
        if (y < 0 || y >= s.rows) continue;
        for (std::int64_t tap_column = 0; tap_column < s.kernel_columns; ++tap_column) {
            const std::int64_t z = column * s.stride_columns - s.pad_left + tap_column * s.dilation_columns;
            if (z < 0 || z >= s.columns) continue;
            const double value = plane[y * s.columns + z];
            window.largest = std::max(window.largest, value);
            window.sum += value;
            ++window.count;
        }
    }
    return window;
}

}  // namespace

void run_pool(const NodeContext& context, HostTensor& output) {
    const PoolShape s = pool_shape(context, output);
    const bool is_max = context.kind() == OperatorKind::MaxPool;
    const bool counts_padding = context.integer(AttributeKey::CountIncludePad, 0) != 0;
    const auto planes = std::size_t{output.dims[0]} * output.dims[1];
    auto target = output.values.begin();
    for (std::size_t plane = 0; plane < planes; ++plane) {
        const float* source = context.input(0).values.data() + plane * static_cast<std::size_t>(s.rows * s.columns);
        for (std::int64_t row = 0; row < s.out_rows; ++row) {
            for (std::int64_t column = 0; column < s.out_columns; ++column) {
                const Window window = pool_window(s, source, row, column);
                const std::int64_t divisor = counts_padding ? s.kernel_rows * s.kernel_columns : std::max<std::int64_t>(window.count, 1);
                *target++ = static_cast<float>(is_max ? window.largest : window.sum / static_cast<double>(divisor));
            }
        }
    }
}

}  // namespace weft
