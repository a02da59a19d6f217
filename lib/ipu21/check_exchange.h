#pragma once

#include <string>

#include "ipu21/phase.h"

namespace weft::ipu21 {

/// Independent check of a phase's schedule, written without the schedulers' code: every transfer has a time, lasts as long as its
/// route says, no tile holds two exclusive roles (or two streams of one kind) at once, overlapping memory keeps
/// program order, no tile sends from a memory element into which it receives (full duplex, placed), 64-bit transfers are legal, the horizon is the last end and no shorter than the busiest tile's words. Returns what is wrong, empty where nothing.
[[nodiscard]] std::string find_fault(const Target& target, const Topology& topology, const Phase& phase, const PhaseSchedule& schedule,
                                     ExchangeDiscipline discipline);

}  // namespace weft::ipu21
