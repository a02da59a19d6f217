#pragma once

#include <cstdint>

namespace weft {

/// A small generator whose sequence is part of weft's results: the same with every compiler and machine (SplitMix64: Steele,
/// Lea, Flood 2014).
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    /// Uniform below `limit` (> 0), up to a bias of limit / 2^32.
    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(((next() >> 32U) * limit) >> 32U); }

private:
    std::uint64_t state_;
};

}  // namespace weft
