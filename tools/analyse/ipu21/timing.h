#pragma once

#include <string>

#include "artifact/hash.h"
#include "artifact/program.h"
#include "artifact/target.h"
#include "artifact/timing.h"

namespace weft::ipu21 {

/// Timing of a program of a tile processor: per operator and per phase, estimated by the plan and final by the program's
/// schedules. All tiles run in step, so the latency is the sum over steps, with the launches and the boundary of every phase.
[[nodiscard]] TimingColumns analyse(const Program& program, const Target& target, Hash128 program_hash);

/// The same as a table for people.
[[nodiscard]] std::string table(const Program& program, const Target& target, const Timing& timing);

/// One line per exchange phase: its schedule against the bound, and what drives it. Words out and in of the busiest tile and of the busiest
/// pair, pairs of tiles that receive the same or unrelated transfers, tiles in both roles, most transfers of one tile, routes, and the copies
/// before and the kernels after it.
[[nodiscard]] std::string phase_table(const Program& program, const Timing& timing);

}  // namespace weft::ipu21
