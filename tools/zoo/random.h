#pragma once

#include <cstdint>

namespace weft {

/// SplitMix64 (Steele, Lea, Flood 2014): integers only, so the same stream with every compiler and library.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    /// An almost normal integer: the sum of four uniform 16-bit parts (Irwin-Hall), centred; see bell_deviation.
    std::int64_t bell() {
        const std::uint64_t bits = next();
        const std::uint64_t sum = (bits & 0xffffU) + ((bits >> 16U) & 0xffffU) + ((bits >> 32U) & 0xffffU) + (bits >> 48U);
        return static_cast<std::int64_t>(sum) - 2 * 65535;
    }

    /// An integer in [0, 65536).
    std::uint32_t uniform() { return static_cast<std::uint32_t>(next() >> 48U); }

private:
    std::uint64_t state_;
};

/// Standard deviation of Random::bell(): sqrt(4 / 12) x 65536.
inline constexpr double bell_deviation = 37837.227;

}  // namespace weft
