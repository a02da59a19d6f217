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

/// A weight to be reserved.
struct ReservationRequest {
    std::uint32_t size = 0;      ///< units of capacity per copy
    std::uint32_t copies = 1;    ///< on different processors
    std::uint32_t group = 0;     ///< weights that work at the same time; two of them should not share a processor
};

struct Reservations {
    std::vector<Residence> residences;   ///< in the order in which they were made; weight: row of the requests
    std::uint32_t retry_checks = 0;      ///< (copy, processor) pairs that retries looked at
    const char* rung = "";               ///< which try succeeded
};

/// Processors for every copy of every weight, within capacity: largest weight first, each copy to a processor without another weight of
/// its group if there is one, of those to the one with least room left that holds it (best fit), of those to the lowest number. Where that
/// fails, smallest first; then largest first again with one choice changed to the next best one, at most 16 times. All retries
/// together look at no more than 65,536 pairs. None: these tries failed, which does not prove that no reservation exists.
[[nodiscard]] std::optional<Reservations> reserve_best_fit(std::span<const ReservationRequest> requests,
                                                           std::span<const std::uint32_t> capacity);

}  // namespace weft
