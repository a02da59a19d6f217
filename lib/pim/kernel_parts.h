#pragma once

#include <vector>

#include "pim/kernel.h"

namespace weft::kernel {

/// Longest piece of a row that one pointwise instruction handles: bounds the constants and scratch that rows need. A piece this long
/// takes over a microsecond, so what its own instruction costs beside that does not count.
inline constexpr std::uint32_t segment_limit_elems = 1024;

/// Everything one emission needs, gathered once.
struct Emission {
    const Tasks& tasks;
    const Family& family;
    FamilyId family_id;
    const TaskTensor& output;
    const KernelSpace& space;
    LocalMemory& memory;
    OperationList& code;
    std::vector<Operation> body;           // reused between runs
    std::vector<std::int32_t> full_constants;   // per step: address of the first row of a FullConstant
    std::uint32_t full_first_row = 0;

    [[nodiscard]] const TaskTensor& input(std::uint32_t slot) const {
        return tasks.tensors[tasks.inputs[family.first_input + slot]];
    }
    [[nodiscard]] std::span<const Step> steps() const { return tasks.steps.subspan(family.first_step, family.step_count); }
    [[nodiscard]] std::uint32_t label() const { return family_id.value; }
};

[[nodiscard]] std::int32_t pitch_elems(const TaskTensor& tensor);

/// Positions of a row that the pointwise steps handle at once.
[[nodiscard]] std::uint32_t segment_positions(const TaskTensor& tensor);

void emit_matrix(Emission& emission, std::uint32_t first_tile, std::uint32_t tile_count);
void emit_pool(Emission& emission, std::uint32_t first_position, std::uint32_t position_count);
void emit_move(Emission& emission, std::uint32_t first_position, std::uint32_t position_count);
void emit_band_sum(Emission& emission, std::uint32_t first_position, std::uint32_t position_count);

/// The family's steps on columns [first_column, end_column) of an output row; the running value is in the output row already.
void emit_steps(Emission& emission, std::uint32_t row, std::uint32_t first_column, std::uint32_t end_column);
/// As emit_steps, but the running value starts in input slot 0 (Pointwise families).
void emit_pointwise(Emission& emission, std::uint32_t row, std::uint32_t first_column, std::uint32_t end_column);

/// Scratch of the parts, in elements; each starts at the family's scratch address: they never hold data at the same time.
[[nodiscard]] std::int32_t matrix_scratch_elems(const Tasks& tasks, const Family& family);
[[nodiscard]] std::int32_t steps_scratch_elems(const Tasks& tasks, const Family& family);

}  // namespace weft::kernel
