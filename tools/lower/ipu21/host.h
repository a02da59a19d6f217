#pragma once

#include <vector>

#include "artifact/program.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "lower/ipu21/steps.h"

namespace weft::ipu21 {

/// What one inference exchanges with the host, network inputs first. Nothing where the target does not describe a host exchange.
[[nodiscard]] std::vector<TileHostTransfer> host_transfers(const Tasks& tasks, const Target& target, const StepProgram& program);

/// Bytes on the tiles in one direction.
[[nodiscard]] std::uint64_t host_bytes(std::span<const TileHostTransfer> transfers, bool from_tiles);

}  // namespace weft::ipu21
