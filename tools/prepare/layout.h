#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "artifact/tasks.h"

namespace weft::preparation {

/// Element (row, column, channel) of a pixel tensor: three digits of a physical place.
struct Place {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    std::uint32_t channel = 0;
    bool operator==(const Place&) const = default;
};

/// How a logical tensor stands in pixels: extents and, per physical axis, the step in the logical tensor's flattened,
/// row-major index. Axes of extent one have stride zero, so that equal layouts compare equal.
struct Layout {
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
    std::uint32_t channels = 1;
    std::uint32_t row_stride = 0;
    std::uint32_t column_stride = 0;
    std::uint32_t channel_stride = 0;
    bool operator==(const Layout&) const = default;

    [[nodiscard]] std::uint64_t positions() const { return std::uint64_t{rows} * columns; }
    [[nodiscard]] std::uint64_t elems() const { return positions() * channels; }
    [[nodiscard]] std::uint64_t logical(Place place) const {
        return std::uint64_t{place.row} * row_stride + std::uint64_t{place.column} * column_stride + std::uint64_t{place.channel} * channel_stride;
    }
    /// The place of flattened index `index`. Strides of a bijection are nested, so this is a division per axis.
    [[nodiscard]] Place place(std::uint64_t index) const;
};

/// Strides of axes of extent one set to zero.
[[nodiscard]] Layout normalized(Layout layout);

/// A list of positions in pixels of `channels`, folded into rows of moderate length.
[[nodiscard]] Layout list_layout(std::uint32_t positions, std::uint32_t channels);

/// Where a logical shape stands unless something asks otherwise: [1,C,H,W] in H x W pixels of C channels, anything else as a
/// list of its last axis.
[[nodiscard]] Layout default_layout(std::span<const std::uint32_t> dims);

/// [1,C,H,W] in H x W pixels of C channels.
[[nodiscard]] Layout image_layout(std::uint32_t channels, std::uint32_t rows, std::uint32_t columns);

/// Row-major strides of a shape.
[[nodiscard]] std::vector<std::uint64_t> row_major_strides(std::span<const std::uint32_t> dims);

/// The linear form c_r * row + c_c * column + c_k * channel that `index_of(place)` equals at every place of `layout`, or
/// nothing. Axes of extent one get zero.
template <class Function>
[[nodiscard]] std::optional<std::array<std::uint64_t, 3>> linear_form(const Layout& layout, const Function& index_of) {
    const std::uint64_t origin = index_of(Place{});
    if (origin != 0) return std::nullopt;
    std::array<std::uint64_t, 3> step{};
    if (layout.rows > 1) step[0] = index_of(Place{1, 0, 0});
    if (layout.columns > 1) step[1] = index_of(Place{0, 1, 0});
    if (layout.channels > 1) step[2] = index_of(Place{0, 0, 1});
    for (std::uint32_t row = 0; row < layout.rows; ++row) {
        for (std::uint32_t column = 0; column < layout.columns; ++column) {
            const std::uint64_t first = row * step[0] + column * step[1];
            for (std::uint32_t channel = 0; channel < layout.channels; ++channel) {
                if (index_of(Place{row, column, channel}) != first + channel * step[2]) return std::nullopt;
            }
        }
    }
    return step;
}

/// The layout of Transpose(x) in the same pixels, where strides can express it. `dims` is x's shape; output axis j is input
/// axis perm[j].
[[nodiscard]] std::optional<Layout> transposed(const Layout& layout, std::span<const std::uint32_t> dims, std::span<const std::int32_t> perm);

/// The channels of Transpose(x) where x's pixels are an image of it but for their order: channel k of the pixels is channel order[k].
[[nodiscard]] std::optional<std::vector<std::uint32_t>> shuffled_channels(const Layout& layout, std::span<const std::uint32_t> dims,
                                                                          std::span<const std::int32_t> perm);

/// Index into an operand of shape `operand_dims`, broadcast to `dims` by ONNX' rule, of the element whose flattened index in
/// `dims` is `index`.
class BroadcastIndex {
public:
    BroadcastIndex(std::span<const std::uint32_t> dims, std::span<const std::uint32_t> operand_dims);
    [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const;
    /// Per axis of `dims`: the operand's stride, zero where it is broadcast.
    [[nodiscard]] std::span<const std::uint64_t> strides() const { return operand_strides_; }

private:
    std::vector<std::uint32_t> dims_;
    std::vector<std::uint64_t> operand_strides_;
};

}  // namespace weft::preparation
