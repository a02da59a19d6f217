#include "prepare/layout.h"

#include <algorithm>

#include "base/failure.h"

namespace weft::preparation {
namespace {

/// Pointwise code works row by row and buffers are whole rows: rows of about this many elements keep both cheap.
constexpr std::uint32_t row_elems_wanted = 1024;

/// The flattened index in Transpose(x) of the element of flattened index `index` in x.
class TransposedIndex {
public:
    TransposedIndex(std::span<const std::uint32_t> dims, std::span<const std::int32_t> perm) : strides_(row_major_strides(dims)), transposed_strides_(dims.size(), 0) {
        std::vector<std::uint32_t> output_dims;
        for (const std::int32_t axis : perm) output_dims.push_back(dims[static_cast<std::size_t>(axis)]);
        const auto output_strides = row_major_strides(output_dims);
        for (std::size_t axis = 0; axis < perm.size(); ++axis) transposed_strides_[static_cast<std::size_t>(perm[axis])] = output_strides[axis];
    }

    [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const {
        std::uint64_t result = 0;
        for (std::size_t axis = 0; axis < strides_.size(); ++axis) {
            result += index / strides_[axis] * transposed_strides_[axis];
            index %= strides_[axis];
        }
        return result;
    }

private:
    std::vector<std::uint64_t> strides_;                // of x's axes in x,
    std::vector<std::uint64_t> transposed_strides_;     // and in Transpose(x)
};

}  // namespace

Place Layout::place(std::uint64_t index) const {
    struct Axis {
        std::uint32_t stride;
        std::uint32_t Place::*digit;
    };
    std::array<Axis, 3> axes{{{row_stride, &Place::row}, {column_stride, &Place::column}, {channel_stride, &Place::channel}}};
    // Called for every element of a move: three comparisons instead of a general sort. Equal strides keep their order.
    if (axes[1].stride > axes[0].stride) std::swap(axes[0], axes[1]);
    if (axes[2].stride > axes[1].stride) std::swap(axes[1], axes[2]);
    if (axes[1].stride > axes[0].stride) std::swap(axes[0], axes[1]);
    Place result;
    for (const Axis& axis : axes) {
        if (axis.stride == 0) continue;
        result.*axis.digit = static_cast<std::uint32_t>(index / axis.stride);
        index %= axis.stride;
    }
    return result;
}

Layout normalized(Layout layout) {
    if (layout.rows == 1) layout.row_stride = 0;
    if (layout.columns == 1) layout.column_stride = 0;
    if (layout.channels == 1) layout.channel_stride = 0;
    return layout;
}

Layout image_layout(std::uint32_t channels, std::uint32_t rows, std::uint32_t columns) {
    return normalized({rows, columns, channels, columns, 1, rows * columns});
}

Layout default_layout(std::span<const std::uint32_t> dims) {
    if (dims.size() == 4 && dims[0] == 1) return image_layout(dims[1], dims[2], dims[3]);
    std::uint32_t positions = 1;
    for (std::size_t axis = 0; axis + 1 < dims.size(); ++axis) positions *= dims[axis];
    return list_layout(positions, dims.empty() ? 1 : dims.back());
}

Layout list_layout(std::uint32_t positions, std::uint32_t channels) {
    std::uint32_t columns = 1;
    for (std::uint32_t divisor = 2; divisor <= std::min(positions, row_elems_wanted / channels); ++divisor) {
        if (positions % divisor == 0) columns = divisor;
    }
    return normalized({positions / columns, columns, channels, columns * channels, channels, 1});
}

std::vector<std::uint64_t> row_major_strides(std::span<const std::uint32_t> dims) {
    std::vector<std::uint64_t> strides(dims.size(), 1);
    for (std::size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
    return strides;
}

std::optional<Layout> transposed(const Layout& layout, std::span<const std::uint32_t> dims, std::span<const std::int32_t> perm) {
    const TransposedIndex index(dims, perm);
    const auto step = linear_form(layout, [&](Place place) { return index(layout.logical(place)); });
    if (!step) return std::nullopt;
    Layout result = layout;
    result.row_stride = static_cast<std::uint32_t>((*step)[0]);
    result.column_stride = static_cast<std::uint32_t>((*step)[1]);
    result.channel_stride = static_cast<std::uint32_t>((*step)[2]);
    return result;
}

std::optional<std::vector<std::uint32_t>> shuffled_channels(const Layout& layout, std::span<const std::uint32_t> dims, std::span<const std::int32_t> perm) {
    const TransposedIndex index(dims, perm);
    std::vector<std::uint32_t> order;
    for (std::uint32_t channel = 0; channel < layout.channels; ++channel) {
        const std::uint64_t first = index(layout.logical({0, 0, channel}));
        if (first % layout.positions() != 0) return std::nullopt;
        for (std::uint32_t row = 0; row < layout.rows; ++row) {
            for (std::uint32_t column = 0; column < layout.columns; ++column) {
                if (index(layout.logical({row, column, channel})) != first + std::uint64_t{row} * layout.columns + column) return std::nullopt;
            }
        }
        order.push_back(static_cast<std::uint32_t>(first / layout.positions()));
    }
    return order;
}

BroadcastIndex::BroadcastIndex(std::span<const std::uint32_t> dims, std::span<const std::uint32_t> operand_dims)
    : dims_(dims.begin(), dims.end()), operand_strides_(dims.size(), 0) {
    WEFT_CHECK(operand_dims.size() <= dims.size());
    const auto strides = row_major_strides(operand_dims);
    const std::size_t shift = dims.size() - operand_dims.size();
    for (std::size_t axis = 0; axis < operand_dims.size(); ++axis) {
        if (operand_dims[axis] > 1) operand_strides_[axis + shift] = strides[axis];
    }
}

std::uint64_t BroadcastIndex::operator()(std::uint64_t index) const {
    std::uint64_t result = 0;
    for (std::size_t axis = dims_.size(); axis-- > 0;) {
        result += index % dims_[axis] * operand_strides_[axis];
        index /= dims_[axis];
    }
    return result;
}

}  // namespace weft::preparation
