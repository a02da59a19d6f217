#pragma once

#include <array>
#include <cstdint>

#include "frontend/node_context.h"

namespace weft::frontend {

/// A sliding window along one spatial axis, resolved: every output position o reads input o * stride - pad_begin + k * dilation
/// for k in [0, kernel).
struct WindowAxis {
    std::int64_t in = 1;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    std::int64_t pad_begin = 0;
    std::int64_t pad_end = 0;   ///< as the model says it
    std::int64_t overhang = 0;  ///< what ceil_mode adds at the end beyond pad_end
    std::int64_t out = 1;

    [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

using Window = std::array<WindowAxis, 2>;  // height, width

/// The window of a Conv or pooling node over spatial sizes `in` (one or two axes; a 1-D window is 2-D with width one).
/// Attributes strides, dilations, pads, auto_pad, ceil_mode (pools) and kernel_shape; `kernel` is empty to require
/// kernel_shape. SAME_* padding follows the ONNX text with the dilated kernel; with ceil_mode a window that would start beyond
/// the input and its begin padding is dropped, as in ONNX 1.16 and PyTorch.
[[nodiscard]] Window resolve_window(const NodeContext& context, const Shape& in, Shape kernel);

/// Kernel, Strides, Dilations, Pads (top, left, bottom, right with overhang).
[[nodiscard]] std::vector<StepAttribute> window_attributes(const Window& window);

/// Positive values only, one per spatial axis, from an attribute that may be absent (then all are `standard`).
[[nodiscard]] Shape spatial_attribute(const NodeContext& context, const char* name, std::size_t axes, std::int64_t standard);

/// Run `convert` on [1, C, H, W] activations: 1-D inputs [N, C, L] become [N, C, L, 1], and a batch becomes one conversion per
/// sample, joined again. The result has x's rank. Unsupported for other ranks and batches beyond 32.
[[nodiscard]] ValueId per_sample_2d(NodeContext& context, ValueId x, const std::function<ValueId(ValueId)>& convert);

}  // namespace weft::frontend
