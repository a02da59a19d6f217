#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft {

/// Ways to fit weights into cores when time no longer matters, tried one after another.
enum class Rung : std::uint8_t {
    in_order,       ///< best fit in the order given: neighbours stay together
    largest_first,  ///< best fit, largest first
    reverse,        ///< best fit from the end of the order
    deviation,      ///< largest first, but one choice is the second best: up to sixteen of them, the last choices before the failure first
    search          ///< depth first over all distinct choices, largest first, as far as the checks go
};
inline constexpr std::size_t rung_count = 5;
[[nodiscard]] std::string_view rung_name(Rung rung);

struct RecoveryLimits {
    std::uint64_t checks = 65536;       ///< of one core for one item, all rungs together
    std::uint32_t deviations = 16;
    /// Rungs that are left out, for tests of the others.
    std::array<bool, rung_count> skipped{};
};

struct Recovery {
    std::vector<std::uint16_t> core_of;     ///< per item; empty: not found, which proves nothing unless `exhausted`
    Rung rung = Rung::in_order;             ///< that found it
    std::uint64_t checks = 0;
    bool exhausted = false;                 ///< the search looked at everything: there is no solution
};

/// Every item (its crossbars) on one of `cores` cores that hold `capacity` each. Deterministic; never more than the checks allowed.
[[nodiscard]] Recovery fit_weights(std::span<const std::uint32_t> sizes, std::uint32_t cores, std::uint32_t capacity, const RecoveryLimits& limits = {});

}  // namespace weft
