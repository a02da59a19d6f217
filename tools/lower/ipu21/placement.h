#pragma once

#include "lower/ipu21/lower.h"
#include "lower/ipu21/steps.h"

namespace weft::ipu21 {

/// Bytes that every buffer takes on every tile: buffers x tiles, row-major. Values and copies by their layout's shards (with
/// the kernels' access tail), weights by their owners, exchange rows by the phases' roles.
[[nodiscard]] std::vector<std::uint32_t> buffer_bytes(const Tasks& tasks, const Schedule& schedule, const Target& target, const StepProgram& program);

/// Addresses for all buffers on all tiles: interleaved data from the region's begin, the rest of it (from the next element on)
/// and the standard region for standard data. Buffers that are aliases stand in one place for the lives of both. Fills the buffers'
/// allocation ranges and `allocations`; the support reservation is taken from the end of the standard region. Returns what failed
/// first, by tile number, or nothing.
[[nodiscard]] std::optional<PlacementFailure> place_buffers(const Tasks& tasks, const Schedule& schedule, const Target& target, StepProgram& program,
                                                            const std::vector<std::uint32_t>& bytes, std::vector<TileAllocation>& allocations);

}  // namespace weft::ipu21
