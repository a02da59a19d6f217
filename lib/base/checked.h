#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "base/failure.h"

namespace weft {

/// a + b, or Failure(system) where 64 bits do not hold it.
template <std::integral T>
[[nodiscard]] constexpr T checked_add(T a, T b) {
    T result{};
    if (__builtin_add_overflow(a, b, &result)) system_failure("a sum passes {} bits", sizeof(T) * 8);
    return result;
}

/// a * b, or Failure(system) where 64 bits do not hold it.
template <std::integral T>
[[nodiscard]] constexpr T checked_multiply(T a, T b) {
    T result{};
    if (__builtin_mul_overflow(a, b, &result)) system_failure("a product passes {} bits", sizeof(T) * 8);
    return result;
}

/// a * b / c, rounded down, exact in between; c > 0.
[[nodiscard]] constexpr std::int64_t multiply_divide(std::int64_t a, std::int64_t b, std::int64_t c) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(static_cast<Wide>(a) * b / c);
}

/// ceil(a / b) for non-negative a and positive b.
template <std::integral T>
[[nodiscard]] constexpr T ceil_divide(T a, T b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

/// `value` as a To, or Failure(system) where To cannot hold it.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr To narrow(From value) {
    const To result = static_cast<To>(value);
    if (static_cast<From>(result) != value || (result < To{}) != (value < From{})) {
        system_failure("{} does not fit {} bits", value, sizeof(To) * 8);
    }
    return result;
}

}  // namespace weft
