// Resize and Upsample by nearest neighbour: every output position copies one input position per axis.
#include <algorithm>
#include <cmath>

#include "frontend/arithmetic.h"
#include "frontend/converters.h"

namespace weft::frontend {
namespace {

constexpr std::int64_t axis_limit = 1 << 26;

/// One axis of a resize, in the single precision that ONNX Runtime computes coordinates in, so that ties fall the same way.
struct ResizeAxis {
    std::int64_t in = 1;
    std::int64_t out = 1;
    float scale = 1;
    float roi_start = 0;
    float roi_end = 1;
};

float original_coordinate(const std::string& mode, const ResizeAxis& axis, float at) {
    const auto in = static_cast<float>(axis.in);
    const auto out = static_cast<float>(axis.out);
    if (mode == "asymmetric") return at / axis.scale;
    if (mode == "half_pixel") return (at + 0.5F) / axis.scale - 0.5F;
    if (mode == "pytorch_half_pixel") return axis.out > 1 ? (at + 0.5F) / axis.scale - 0.5F : 0.0F;
    if (mode == "tf_half_pixel_for_nn") return (at + 0.5F) / axis.scale;
    if (mode == "align_corners") return axis.out == 1 ? 0.0F : at * (in - 1) / (out - 1);
    if (mode == "half_pixel_symmetric") {
        const float adjustment = out / (axis.scale * in);
        const float offset = in / 2 * (1 - adjustment);
        return offset + (at + 0.5F) / axis.scale - 0.5F;
    }
    if (mode == "tf_crop_and_resize") {
        if (axis.out == 1) return 0.5F * (axis.roi_start + axis.roi_end) * (in - 1);
        return axis.roi_start * (in - 1) + at * (axis.roi_end - axis.roi_start) * (in - 1) / (out - 1);
    }
    bad_input("attribute 'coordinate_transformation_mode' is '{}'", mode);
}

float nearest(const std::string& mode, float at, bool shrinks) {
    if (mode == "round_prefer_floor") return std::ceil(at - 0.5F);
    if (mode == "round_prefer_ceil") return std::floor(at + 0.5F);
    if (mode == "floor") return std::floor(at);
    if (mode == "ceil") return std::ceil(at);
    // Before opset 11 the rule was left open; this is ONNX Runtime's.
    if (mode == "simple") return shrinks ? std::ceil(at) : std::floor(at);
    bad_input("attribute 'nearest_mode' is '{}'", mode);
}

std::vector<std::int32_t> axis_map(const ResizeAxis& axis, const std::string& coordinates, const std::string& rounding) {
    std::vector<std::int32_t> map;
    map.reserve(static_cast<std::size_t>(axis.out));
    const bool crops = coordinates == "tf_crop_and_resize";
    for (std::int64_t i = 0; i < axis.out; ++i) {
        // Single precision must not invent coordinates where input and output coincide.
        const float at = axis.in == axis.out && axis.scale == 1 && !crops
                             ? static_cast<float>(i)
                             : original_coordinate(coordinates, axis, static_cast<float>(i));
        const bool outside = crops && (at < 0 || at > static_cast<float>(axis.in - 1));
        const float position = std::clamp(nearest(rounding, at, axis.scale < 1), 0.0F, static_cast<float>(axis.in - 1));
        map.push_back(outside || std::isnan(position) ? -1 : static_cast<std::int32_t>(position));
    }
    return map;
}

std::vector<float> floats_of(const NodeContext& context, std::size_t index, const char* what) {
    const Constant& constant = context.constant_input(index, what);
    if (elem_count(constant.shape) > 64) bad_input("{} has the shape {}", what, shape_text(constant.shape));
    const auto wide = as_f64(constant);
    return {wide.begin(), wide.end()};
}

/// The sizes that keep the aspect ratio (opset 18): all listed axes scale by the smallest or largest factor.
void apply_aspect_ratio(const std::string& policy, std::vector<ResizeAxis>& axes, const std::vector<std::size_t>& listed) {
    if (policy == "stretch") return;
    if (policy != "not_larger" && policy != "not_smaller") bad_input("attribute 'keep_aspect_ratio_policy' is '{}'", policy);
    float scale = axes[listed[0]].scale;
    for (const std::size_t axis : listed)
        scale = policy == "not_larger" ? std::min(scale, axes[axis].scale) : std::max(scale, axes[axis].scale);
    for (const std::size_t axis : listed) {
        axes[axis].scale = scale;
        axes[axis].out =
            std::max<std::int64_t>(1, std::llround(static_cast<double>(scale * static_cast<float>(axes[axis].in))));
    }
}

std::vector<std::size_t> listed_axes(const NodeContext& context, std::size_t rank) {
    std::vector<std::size_t> listed;
    if (context.has_attribute("axes")) {
        for (const std::int64_t axis : context.ints_attribute("axes")) listed.push_back(context.axis(axis, rank));
        auto sorted = listed;
        std::sort(sorted.begin(), sorted.end());
        if (listed.empty() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
            bad_input("attribute 'axes' names no axis or one twice");
    } else {
        for (std::size_t k = 0; k < rank; ++k) listed.push_back(k);
    }
    return listed;
}

/// Sizes and scales of all axes, from whichever of scales and sizes the node gives.
std::vector<ResizeAxis> resize_axes(const NodeContext& context, const std::vector<std::size_t>& listed) {
    const Shape& in = context.shape(0);
    const bool early = context.opset() < 11 || context.operator_name() == "Upsample";
    const std::size_t scales_index = early ? 1 : 2;
    std::vector<ResizeAxis> axes(in.size());
    for (std::size_t k = 0; k < in.size(); ++k) axes[k] = {.in = in[k], .out = in[k]};
    std::vector<float> scales;
    if (early && context.has_attribute("scales"))
        scales = context.floats_attribute("scales");
    else if (context.has_input(scales_index))
        scales = floats_of(context, scales_index, "scales");
    if (!scales.empty()) {
        if (scales.size() != listed.size()) bad_input("{} scales for {} axes", scales.size(), listed.size());
        for (std::size_t i = 0; i < listed.size(); ++i) {
            ResizeAxis& axis = axes[listed[i]];
            if (!(scales[i] > 0) || std::isinf(scales[i])) bad_input("a scale of {}", scales[i]);
            axis.scale = scales[i];
            const float size = std::floor(static_cast<float>(axis.in) * axis.scale);
            if (size < 1) unsupported("scale {} leaves nothing of {}", axis.scale, axis.in);
            if (size > static_cast<float>(axis_limit)) unsupported("an axis of {} elements", size);
            axis.out = static_cast<std::int64_t>(size);
        }
        return axes;
    }
    if (early || !context.has_input(3)) bad_input("neither scales nor sizes are given");
    const auto sizes = *context.ints_input_or_attribute(3, "sizes");
    if (sizes.size() != listed.size()) bad_input("{} sizes for {} axes", sizes.size(), listed.size());
    for (std::size_t i = 0; i < listed.size(); ++i) {
        ResizeAxis& axis = axes[listed[i]];
        if (sizes[i] < 1 || sizes[i] > axis_limit) unsupported("an axis of {} elements", sizes[i]);
        axis.out = sizes[i];
        axis.scale = static_cast<float>(axis.out) / static_cast<float>(axis.in);
    }
    apply_aspect_ratio(context.text_attribute("keep_aspect_ratio_policy", "stretch"), axes, listed);
    return axes;
}

void read_region(const NodeContext& context, std::vector<ResizeAxis>& axes, const std::vector<std::size_t>& listed) {
    const auto roi = floats_of(context, 1, "roi");
    if (roi.size() != 2 * listed.size()) bad_input("roi has {} values for {} axes", roi.size(), listed.size());
    for (std::size_t i = 0; i < listed.size(); ++i) {
        axes[listed[i]].roi_start = roi[i];
        axes[listed[i]].roi_end = roi[listed.size() + i];
    }
}

}  // namespace

void convert_resize(NodeContext& context) {
    const bool early = context.opset() < 11 || context.operator_name() == "Upsample";
    const std::string mode = context.text_attribute("mode", "nearest");
    const std::string coordinates =
        early ? "asymmetric" : context.text_attribute("coordinate_transformation_mode", "half_pixel");
    const std::string rounding = early ? "simple" : context.text_attribute("nearest_mode", "round_prefer_floor");
    const auto listed = listed_axes(context, context.shape(0).size());
    auto axes = resize_axes(context, listed);
    const bool crops = coordinates == "tf_crop_and_resize";
    const bool same =
        std::all_of(axes.begin(), axes.end(), [](const ResizeAxis& axis) { return axis.in == axis.out && axis.scale == 1; });
    if (same && !crops) return context.set_output(context.value(0));
    if (mode != "nearest") unsupported("mode '{}'; only 'nearest' is supported", mode);
    if (crops) read_region(context, axes, listed);
    std::vector<std::vector<std::int32_t>> maps;
    for (const ResizeAxis& axis : axes) context.builder.check_axis(axis.out);
    for (const ResizeAxis& axis : axes) maps.push_back(axis_map(axis, coordinates, rounding));
    const float fill = context.float_attribute("extrapolation_value", 0);
    context.set_output(context.builder.remap(context.value(0), std::move(maps), static_cast<double>(fill)));
}

}  // namespace weft::frontend
