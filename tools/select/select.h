#pragma once

#include <cstdint>
#include <span>

#include "artifact/selection.h"
#include "artifact/timing.h"

namespace weft {

/// Uncertainty of an estimate in parts per million: 2.1 percent, the largest prediction error seen against the simulator,
/// rounded up. A margin for choosing, not a bound.
inline constexpr std::uint32_t default_margin_ppm = 21'000;

/// Choose among candidates, the conservative original first. An estimate stands for the range
/// [smaller tie estimate / (1 + margin), larger tie estimate / (1 - margin)] per inference. The candidate with the lowest larger
/// estimate wins if its range lies below the original's; close alternatives do not matter. Without an estimate of the original,
/// or where ranges meet, the original stays; so it does where its timing has no model. Equal programs count once. A pure function of the timings; at least one.
[[nodiscard]] SelectionColumns select_candidate(std::span<const Timing> timings, std::uint32_t margin_ppm = default_margin_ppm);

}  // namespace weft
