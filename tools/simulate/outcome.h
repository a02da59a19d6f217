#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "artifact/program.h"
#include "artifact/target.h"
#include "base/tool.h"
#include "simulate/host.h"
#include "simulate/simulate.h"

namespace weft {

/// "core retire_order op rob_push_ns rob_retire_ns", tab-separated, by core and retirement order.
[[nodiscard]] std::string trace_text(const SimulationResult& result);
/// One "name value" per line: mode, latency, interval, output count.
[[nodiscard]] std::string outcome_text(const Program& program, const SimulationResult& result, const SimulationOptions& options);
[[nodiscard]] nlohmann::ordered_json outcome_json(const Program& program, const SimulationResult& result, const SimulationOptions& options);
/// Names every stuck core, its instruction and what it waits for.
[[nodiscard]] std::string deadlock_text(const SimulationResult& result);
/// Picoseconds as nanoseconds, without needless digits.
[[nodiscard]] std::string nanoseconds_text(Picoseconds time);

/// Throws Failure(refused) where values cannot be computed: programs for time only, reorder buffers above one.
void require_values(const Program& program, const Target& target);

/// Writes the outputs of the first `inferences` inferences under `folder` (none where it is empty, but checks them all the same).
void write_outputs(Tool& tool, Host& host, const ValueMachine& values, std::uint64_t inferences, const std::string& folder);

}  // namespace weft
