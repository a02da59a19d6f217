#include "reference/kernels.h"

// Conv and Linear: sums of products in double, rounded once.
namespace weft {
namespace {

void store_row(const std::vector<double>& sums, std::span<float> target) {
    for (std::size_t m = 0; m < sums.size(); ++m) target[m] = static_cast<float>(sums[m]);
}

/// A bias of `columns` values, or zeros where input 2 is absent.
std::vector<double> bias_row(const NodeContext& context, std::size_t columns) {
    std::vector<double> bias(columns, 0.0);
    if (!context.has_input(2)) return bias;
    context.require(context.input(2).values.size() == columns, "the bias has one value per output channel");
    bias.assign(context.input(2).values.begin(), context.input(2).values.end());
    return bias;
}

/// Geometry of one Conv, checked against the shapes. Rows and columns are axes 2 and 3.
struct ConvolutionShape {
    std::int64_t channels, rows, columns, out_channels, out_rows, out_columns;
    std::int64_t kernel_rows, kernel_columns, stride_rows, stride_columns, dilation_rows, dilation_columns, pad_top, pad_left;
    std::int64_t groups, group_channels, group_outputs;
};

ConvolutionShape convolution_shape(const NodeContext& context, const HostTensor& output) {
    const auto& x = context.input(0).dims;
    const auto& w = context.input(1).dims;
    const auto strides = context.ints(AttributeKey::Strides);
    const auto pads = context.ints(AttributeKey::Pads);
    const auto dilations = context.ints(AttributeKey::Dilations);
    context.require(x.size() == 4 && w.size() == 4 && output.dims.size() == 4, "a convolution has two spatial axes");
    context.require(strides.size() == 2 && pads.size() == 4 && dilations.size() == 2, "strides, pads and dilations are explicit");
    const std::int64_t groups = context.integer(AttributeKey::Group, 1);
    context.require(groups > 0 && x[0] == 1 && output.dims[0] == 1, "batch of one, positive group count");
    ConvolutionShape shape{x[1], x[2], x[3], output.dims[1], output.dims[2], output.dims[3],
                           w[0], w[1], strides[0], strides[1], dilations[0], dilations[1], pads[0], pads[1],
                           groups, w[2], w[3] / groups};
    context.require(shape.groups * shape.group_channels == shape.channels && shape.groups * shape.group_outputs == shape.out_channels &&
                        shape.out_channels == w[3],
                    "the weight's shape fits channels and groups");
    const auto out_size = [](std::int64_t size, std::int64_t pad, std::int64_t kernel, std::int64_t dilation, std::int64_t stride) {
        return stride > 0 ? (size + pad - dilation * (kernel - 1) - 1) / stride + 1 : -1;
    };
    context.require(out_size(shape.rows, std::int64_t{pads[0]} + pads[2], w[0], dilations[0], strides[0]) == shape.out_rows &&
                        out_size(shape.columns, std::int64_t{pads[1]} + pads[3], w[1], dilations[1], strides[1]) == shape.out_columns,
                    "the output's shape follows from kernel, strides, pads and dilations");
    return shape;
}

/// Adds to sums[group * group_outputs + m] the products of output position (row, column).
void convolve_position(const ConvolutionShape& s, const float* x, const float* w, std::int64_t row, std::int64_t column,
                       std::vector<double>& sums) {
    for (std::int64_t tap_row = 0; tap_row < s.kernel_rows; ++tap_row) {
        const std::int64_t y = row * s.stride_rows - s.pad_top + tap_row * s.dilation_rows;
        if (y < 0 || y >= s.rows) continue;
        for (std::int64_t tap_column = 0; tap_column < s.kernel_columns; ++tap_column) {
            const std::int64_t z = column * s.stride_columns - s.pad_left + tap_column * s.dilation_columns;
            if (z < 0 || z >= s.columns) continue;
            const float* tap = w + (tap_row * s.kernel_columns + tap_column) * s.group_channels * s.out_channels;
            for (std::int64_t channel = 0; channel < s.channels; ++channel) {
                const std::int64_t group = channel / s.group_channels;
                const double value = x[(channel * s.rows + y) * s.columns + z];
                const float* weights = tap + (channel % s.group_channels) * s.out_channels + group * s.group_outputs;
                double* target = sums.data() + group * s.group_outputs;
                for (std::int64_t m = 0; m < s.group_outputs; ++m) target[m] += value * double{weights[m]};
            }
        }
    }
}

}  // namespace

void run_convolution(const NodeContext& context, HostTensor& output) {
    const ConvolutionShape s = convolution_shape(context, output);
    const std::vector<double> bias = bias_row(context, static_cast<std::size_t>(s.out_channels));
    const float* x = context.input(0).values.data();
    const float* w = context.input(1).values.data();
    std::vector<double> sums;
    for (std::int64_t row = 0; row < s.out_rows; ++row) {
        for (std::int64_t column = 0; column < s.out_columns; ++column) {
            sums = bias;
            convolve_position(s, x, w, row, column, sums);
            for (std::int64_t m = 0; m < s.out_channels; ++m) {
                output.values[static_cast<std::size_t>((m * s.out_rows + row) * s.out_columns + column)] =
                    static_cast<float>(sums[static_cast<std::size_t>(m)]);
            }
        }
    }
}

void run_linear(const NodeContext& context, HostTensor& output) {
    const HostTensor& x = context.input(0);
    const HostTensor& w = context.input(1);
    context.require(w.dims.size() == 2 && !x.dims.empty() && x.dims.back() == w.dims[0], "Linear: x [...,K], weight [K,N]");
    const std::size_t inner = w.dims[0];
    const std::size_t columns = w.dims[1];
    const std::size_t rows = inner == 0 ? 0 : x.values.size() / inner;
    context.require(output.values.size() == rows * columns, "Linear: output [...,N]");
    const std::vector<double> bias = bias_row(context, columns);
    for (std::size_t row = 0; row < rows; ++row) {
        std::vector<double> sums = bias;
        for (std::size_t k = 0; k < inner; ++k) {
            const double value = x.values[row * inner + k];
            const float* weights = w.values.data() + k * columns;
            for (std::size_t n = 0; n < columns; ++n) sums[n] += value * double{weights[n]};
        }
        store_row(sums, std::span(output.values).subspan(row * columns, columns));
    }
}

}  // namespace weft
