#pragma once

#include <array>
#include <cstdint>

#include "artifact/program.h"
#include "pim/costs.h"

namespace weft {

/// What a core's registers hold.
using RegisterFile = std::array<std::int32_t, 32>;

/// Byte addresses from first to last, both included; none where last < first.
struct AddressRange {
    std::int64_t first = 0;
    std::int64_t last = -1;
    [[nodiscard]] bool meets(const AddressRange& other) const { return first <= last && other.first <= other.last && first <= other.last && other.first <= last; }
};

/// What the reorder buffer protects of one instruction (docs/pim-timing.md §7).
struct Hazards {
    std::array<AddressRange, 2> reads;
    AddressRange write;

    /// Writes against earlier reads and reads against earlier writes; two writes do not conflict.
    [[nodiscard]] bool conflicts_with(const Hazards& earlier) const {
        return write.meets(earlier.reads[0]) || write.meets(earlier.reads[1]) || reads[0].meets(earlier.write) || reads[1].meets(earlier.write);
    }
};

/// The ranges of `row` with these registers and bit widths; `crossbars` of its group where it is an mvmul.
[[nodiscard]] Hazards hazards_of(const Instruction& row, const RegisterFile& registers, BitWidths widths, const PimCosts& costs, std::uint32_t crossbars);

/// Executes a scalar instruction.
void execute_scalar(const Instruction& row, RegisterFile& registers, BitWidths& widths);

}  // namespace weft
