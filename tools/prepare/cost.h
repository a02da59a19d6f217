#pragma once

#include <cstdint>
#include <span>

#include "pim/timing.h"
#include "prepare/draft.h"

namespace weft::preparation {

/// What the passes must know about the chip.
struct ChipFacts {
    /// `kernels` may be null: instruction times are then the model's alone.
    explicit ChipFacts(const Target& target, const KernelTable* kernels = nullptr);

    PimTiming timing;
    std::uint32_t core_count;
    std::uint32_t crossbar_rows;
    std::uint32_t crossbars_per_core;
    std::uint32_t results_per_crossbar;
    /// A family takes at most this much of a core, unless a single strip needs more. What is left lets small families find room
    /// beside a large one.
    std::uint32_t family_crossbars;
};

/// Nanoseconds of one tile by kind of work, register loads included; core idle, operands in local memory.
struct TileCost {
    std::int64_t mvmul_ns = 0;
    std::int64_t add_ns = 0;        ///< partial sums of strips
    std::int64_t copy_ns = 0;       ///< gathers, moves
    std::int64_t step_ns = 0;       ///< pointwise steps and pools
    [[nodiscard]] std::int64_t total() const { return mvmul_ns + add_ns + copy_ns + step_ns; }
};

}  // namespace weft::preparation
