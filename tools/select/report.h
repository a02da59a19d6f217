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

/// Seconds of earlier stages out of their --report files: what belongs to one candidate (lower, analyse: by the name of the file made) and
/// what all share (schedule: generation of the candidates).
[[nodiscard]] nlohmann::ordered_json stage_seconds(const Candidates& candidates, std::span<const std::string> reports);

[[nodiscard]] std::string selection_table(const Candidates& candidates, std::span<const Timing> timings, const Selection& selection);

}  // namespace weft
