#pragma once

#include <vector>

#include "artifact/program.h"
#include "artifact/schedule.h"
#include "ipu21/gemm_exchange.h"

namespace weft::ipu21 {

struct BufferRun {
    std::uint32_t first = no_id;
    std::uint32_t count = 0;
    [[nodiscard]] bool empty() const { return count == 0; }
};

/// Two buffers that may stand in one place.
struct BufferAlias {
    enum class Kind : std::uint8_t {
        InPlace,   ///< a result over an operand that dies; tile by tile where both take the same bytes
        Renamed,   ///< a value under another layout's name, where both take the same bytes: apart, they would cost a copy that nobody counts
        View       ///< the same bytes on every tile, whatever is read past them
    };
    std::uint32_t earlier = 0;
    std::uint32_t later = 0;
    Kind kind = Kind::InPlace;
};

/// A program before placement: steps in order, phases without addresses, buffers without allocations.
struct StepProgram {
    std::vector<TileStep> steps;
    std::vector<PlannedPhase> phases;
    std::vector<std::uint32_t> phase_step;
    /// Runs of buffers that a phase reads and writes: temporaries of an operator are several buffers, so that they fit into gaps.
    std::vector<BufferRun> phase_source;
    std::vector<BufferRun> phase_sink;
    std::vector<TileBuffer> buffers;
    std::vector<BufferAlias> aliases;
    std::vector<std::uint32_t> value_buffer;      ///< per value: where it stands in the end, or none
    std::vector<std::uint64_t> temporary_bytes;   ///< per buffer: of a temporary, on every tile of its plan; 0 of others
};

/// Expand the chosen plans. Throws Failure(bad_input) where choices and conversions do not fit the tasks.
[[nodiscard]] StepProgram expand_steps(const Tasks& tasks, const Schedule& schedule, const Target& target);

}  // namespace weft::ipu21
