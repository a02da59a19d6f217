#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// A tensor on the host: shape outermost axis first, values row-major. Every type of the model is held as f32 (exact for
/// f16, for the small integers and for booleans).
struct HostTensor {
    std::vector<std::uint32_t> dims;
    std::vector<float> values;

    bool operator==(const HostTensor&) const = default;
};

/// Product of `dims`; 1 for a scalar. Throws Failure(system) where 64 bits do not hold it.
[[nodiscard]] std::size_t elem_count(std::span<const std::uint32_t> dims);

/// Distance in elements between neighbours along each axis, row-major.
[[nodiscard]] std::vector<std::int64_t> row_major_strides(std::span<const std::uint32_t> dims);

/// "1x3x224x224", for messages.
[[nodiscard]] std::string dims_text(std::span<const std::uint32_t> dims);

/// How far `actual` is from `expected`, relative to the scale of `expected`: max |actual - expected| / max |expected|.
/// Values that are no finite numbers must be the same on both sides and do not count for the scale. An infinite result where
/// they differ or the element counts do; the plain distance where `expected` is all zero.
[[nodiscard]] double relative_error(std::span<const float> actual, std::span<const float> expected);

}  // namespace weft
