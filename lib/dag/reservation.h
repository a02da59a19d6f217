#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dag/list_schedule.h"

namespace weft {

/// Work that the retries of a reservation may take: a bound on time, not a proof of anything.
inline constexpr std::uint32_t reservation_check_limit = 65536;
inline constexpr std::uint32_t reservation_deviation_limit = 16;

struct Reservations {
    std::vector<Residence> residences;   ///< one per weight
    std::uint32_t retry_checks = 0;      ///< (weight, processor) pairs that retries looked at
    const char* rung = "";               ///< which try succeeded
};

/// A processor for every weight, within capacity: largest weight first, each to the processor with least room left that holds it (best
/// fit). Where that fails, smallest first; then largest first again with one choice changed to the next best one, at most 16 times. All
/// retries together look at no more than 65,536 pairs. None: these tries failed, which does not prove that no reservation exists.
[[nodiscard]] std::optional<Reservations> reserve_best_fit(std::span<const std::uint32_t> weight_size,
                                                           std::span<const std::uint32_t> capacity);

}  // namespace weft
