#pragma once

#include <cstdint>

#include "base/random.h"

namespace weft {

/// An almost normal integer: the sum of four uniform 16-bit parts (Irwin-Hall), centred; see bell_deviation.
inline std::int64_t bell(Random& random) {
    const std::uint64_t bits = random.next();
    const std::uint64_t sum = (bits & 0xffffU) + ((bits >> 16U) & 0xffffU) + ((bits >> 32U) & 0xffffU) + (bits >> 48U);
    return static_cast<std::int64_t>(sum) - 2 * 65535;
}

/// An integer in [0, 65536).
inline std::uint32_t uniform(Random& random) { return static_cast<std::uint32_t>(random.next() >> 48U); }

/// Standard deviation of bell(): sqrt(4 / 12) x 65536.
inline constexpr double bell_deviation = 37837.227;

}  // namespace weft
