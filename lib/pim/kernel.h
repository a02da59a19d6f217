#pragma once

#include <cstdint>
#include <span>

#include "artifact/tasks.h"
#include "pim/core_code.h"
#include "pim/local_memory.h"
#include "pim/placement.h"
#include "pim/timing.h"

namespace weft {

/// Where rows of a tensor stand in local memory: element (row, column, channel) is at base + ((row - first_row) * pitch + column) *
/// channels + channel with pitch = columns + gap.
struct RowAddress {
    std::int32_t base = 0;
    std::int32_t first_row = 0;
};

[[nodiscard]] std::int32_t element_address(const RowAddress& rows, const TaskTensor& tensor, std::int32_t row, std::int32_t column);

/// The same for a position (row * columns + column of the tensor).
[[nodiscard]] std::int32_t position_address(const RowAddress& rows, const TaskTensor& tensor, std::uint32_t position);

/// What the code of one actor may use on its core.
struct KernelSpace {
    std::span<const RowAddress> inputs;   ///< per input slot of the family
    RowAddress output;
    std::int32_t scratch = 0;             ///< scratch_elems of the family
    std::uint32_t first_group = 0;        ///< array group of the family's first strip
};

/// Emit the code that computes tiles [first_tile, first_tile + tile_count) of a family: one loop per row of tiles, then the pointwise
/// steps on whole rows. Constants go to `memory`.
void emit_kernel(const Tasks& tasks, FamilyId family, std::uint32_t first_tile, std::uint32_t tile_count, const KernelSpace& space,
                 LocalMemory& memory, OperationList& code);

/// Time of one repetition-free executed instruction by its row; network instructions are not priced here.
[[nodiscard]] std::int64_t instruction_ns(const Instruction& instruction, std::span<const std::uint32_t> group_crossbars,
                                          const PimTiming& timing);

struct KernelCost {
    std::int64_t total_ns = 0;            ///< all tiles of the family on one core
    std::int64_t mvmul_ns = 0;            ///< of which matrix work
    std::int64_t copy_ns = 0;             ///< and copies
    std::int64_t instructions = 0;        ///< executed, scalars included
    std::int32_t scratch_elems = 0;
    std::int64_t constant_elems = 0;      ///< local memory of constants on one core that runs all tiles
};

/// Time of what emit_kernel would emit for some tiles.
[[nodiscard]] std::int64_t kernel_ns(const Tasks& tasks, FamilyId family, std::uint32_t first_tile, std::uint32_t tile_count, const PimTiming& timing);

/// The exact cost of what emit_kernel would emit for all tiles.
[[nodiscard]] KernelCost kernel_cost(const Tasks& tasks, FamilyId family, const PimTiming& timing);

/// Scratch that the family's code needs on a core.
[[nodiscard]] std::int32_t kernel_scratch_elems(const Tasks& tasks, FamilyId family);

}  // namespace weft
