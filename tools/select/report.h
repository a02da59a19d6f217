#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "artifact/candidates.h"
#include "artifact/selection.h"
#include "artifact/timing.h"

namespace weft {

/// Every candidate with its estimates, range, verdict in words; the choice and its reason.
[[nodiscard]] nlohmann::ordered_json selection_report(const Candidates& candidates, std::span<const std::string> timing_files,
                                                      std::span<const Timing> timings, const Selection& selection);

/// Tool and seconds of each earlier stage's --report file.
[[nodiscard]] nlohmann::ordered_json stage_seconds(std::span<const std::string> reports);

[[nodiscard]] std::string selection_table(const Candidates& candidates, std::span<const Timing> timings, const Selection& selection);

}  // namespace weft
