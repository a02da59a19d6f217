#pragma once

#include <string>

#include "queue.h"

namespace weft {

/// The first `rounds` rounds as a timeline in the Chrome trace event format (JSON; chrome://tracing and Perfetto open it): one row per core with its
/// local work, communication and waits, one per outgoing switch, one for the global memory. Times in microseconds, as the format has
/// them. At most `event_limit` communication events.
[[nodiscard]] std::string timeline_json(const QueueProgram& program, TieOrder ties, std::uint32_t rounds, std::uint64_t event_limit = 1'000'000);

}  // namespace weft
