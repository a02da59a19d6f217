#pragma once

#include <optional>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "artifact/schedule.h"
#include "artifact/target.h"
#include "artifact/tasks.h"

namespace weft::ipu21 {

/// A buffer that shares a tile with one that found no place.
struct PlacementConflict {
    std::uint32_t buffer = 0;
    std::uint32_t address = 0;
    std::uint32_t bytes = 0;
};

/// Why the exact placement failed, and the one plan whose absence may help.
struct PlacementFailure {
    std::uint32_t tile = 0;
    std::uint32_t memory = 0;              ///< TileMemory
    std::uint32_t buffer = 0;              ///< row of `buffers`
    std::vector<std::uint32_t> group;      ///< buffers that were to share its place, itself among them
    bool proved = false;                   ///< no placement exists on this tile
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 0;
    std::uint64_t largest_free = 0;
    std::vector<PlacementConflict> conflicts;
    std::vector<TileBuffer> buffers;
    std::string operator_name;             ///< of the plan to forbid
    std::string plan_key;
    std::string text;                      ///< for people
};

struct LoweredProgram {
    ProgramColumns program;
    std::optional<PlacementFailure> failure;   ///< set: the program is incomplete
};

/// The steps, exchange phases with their finalised schedules, and memory of a chosen set of plans. Throws Failure(bad_input) where
/// the schedule does not belong to the tasks.
[[nodiscard]] LoweredProgram lower(const Tasks& tasks, const Schedule& schedule, const Target& target);

/// Bytes in use on the fullest tile, per memory class.
struct PlacedBytes {
    std::uint32_t standard = 0;
    std::uint32_t interleaved = 0;
    bool operator==(const PlacedBytes&) const = default;
};

/// One entry per step of a placed program; bytes that several buffers share count once.
[[nodiscard]] std::vector<PlacedBytes> placed_bytes(const Program& program, std::uint32_t tiles);

}  // namespace weft::ipu21
