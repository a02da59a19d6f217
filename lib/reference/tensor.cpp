#include "reference/tensor.h"

#include <cmath>
#include <limits>

#include "base/checked.h"

namespace weft {

std::size_t elem_count(std::span<const std::uint32_t> dims) {
    std::size_t count = 1;
    for (const std::uint32_t dim : dims) count = checked_multiply<std::size_t>(count, dim);
    return count;
}

std::vector<std::int64_t> row_major_strides(std::span<const std::uint32_t> dims) {
    std::vector<std::int64_t> strides(dims.size());
    std::int64_t stride = 1;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
        strides[axis] = stride;
        stride *= dims[axis];
    }
    return strides;
}

std::string dims_text(std::span<const std::uint32_t> dims) {
    return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

double relative_error(std::span<const float> actual, std::span<const float> expected) {
    constexpr double never = std::numeric_limits<double>::infinity();
    if (actual.size() != expected.size()) return never;
    double scale = 0;
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (!std::isfinite(actual[i]) || !std::isfinite(expected[i])) {
            if (actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i]))) continue;
            return never;
        }
        scale = std::max(scale, std::abs(double{expected[i]}));
        worst = std::max(worst, std::abs(double{actual[i]} - double{expected[i]}));
    }
    return scale > 0 ? worst / scale : worst;
}

}  // namespace weft
