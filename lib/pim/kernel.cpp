#include "pim/kernel.h"

#include <algorithm>

#include "base/checked.h"
#include "pim/kernel_parts.h"

namespace weft {
namespace kernel {

std::int32_t pitch_elems(const TaskTensor& tensor) {
    return static_cast<std::int32_t>((tensor.columns + tensor.gap) * tensor.channels);
}

std::uint32_t segment_positions(const TaskTensor& tensor) {
    return std::clamp(segment_limit_elems / tensor.channels, 1U, tensor.columns);
}

namespace {

void emit_pointwise_rows(Emission& emission, std::uint32_t first_position, std::uint32_t position_count) {
    const std::uint32_t columns = emission.output.columns;
    for (std::uint32_t position = first_position; position < first_position + position_count;) {
        const std::uint32_t end = std::min(first_position + position_count, (position / columns + 1) * columns);
        emit_pointwise(emission, position / columns, position % columns, (end - 1) % columns + 1);
        position = end;
    }
}

/// FullConstant operands for the rows that this actor computes.
void place_full_constants(Emission& emission, std::uint32_t first_row, std::uint32_t end_row) {
    emission.full_first_row = first_row;
    emission.full_constants.assign(emission.family.step_count, 0);
    for (std::size_t i = 0; i < emission.steps().size(); ++i) {
        const Step& step = emission.steps()[i];
        if (step.operand_kind != static_cast<std::uint32_t>(OperandKind::FullConstant)) continue;
        emission.full_constants[i] =
            emission.memory.full_constant(emission.tasks, step.operand, emission.output, first_row, end_row);
    }
}

}  // namespace
}  // namespace kernel

std::int32_t element_address(const RowAddress& rows, const TaskTensor& tensor, std::int32_t row, std::int32_t column) {
    return rows.base + (row - rows.first_row) * kernel::pitch_elems(tensor) + column * static_cast<std::int32_t>(tensor.channels);
}

std::int32_t position_address(const RowAddress& rows, const TaskTensor& tensor, std::uint32_t position) {
    return element_address(rows, tensor, static_cast<std::int32_t>(position / tensor.columns),
                           static_cast<std::int32_t>(position % tensor.columns));
}

void emit_kernel(const Tasks& tasks, FamilyId family_id, std::uint32_t first_tile, std::uint32_t tile_count,
                 const KernelSpace& space, LocalMemory& memory, OperationList& code) {
    const Family& family = tasks.families[family_id.index()];
    kernel::Emission emission{tasks, family, family_id, tasks.tensors[family.output], space, memory, code, {}, {}, 0};
    const std::uint32_t tiles_per_row = ceil_divide(emission.output.columns, family.tile_columns);
    const std::uint32_t first_row = first_tile / tiles_per_row * family.tile_rows;
    const std::uint32_t end_row = ((first_tile + tile_count - 1) / tiles_per_row + 1) * family.tile_rows;
    kernel::place_full_constants(emission, std::min(first_row, emission.output.rows - family.tile_rows),
                                 std::min(end_row, emission.output.rows));
    switch (static_cast<FamilyKind>(family.kind)) {
        case FamilyKind::Matrix: kernel::emit_matrix(emission, first_tile, tile_count); break;
        case FamilyKind::Pool: kernel::emit_pool(emission, first_tile, tile_count); break;
        case FamilyKind::Move: kernel::emit_move(emission, first_tile, tile_count); break;
        case FamilyKind::BandSum: kernel::emit_band_sum(emission, first_tile, tile_count); break;
        case FamilyKind::Pointwise: kernel::emit_pointwise_rows(emission, first_tile, tile_count); break;
    }
}

std::int32_t kernel_scratch_elems(const Tasks& tasks, FamilyId family_id) {
    const Family& family = tasks.families[family_id.index()];
    const std::int32_t body =
        family.kind == static_cast<std::uint32_t>(FamilyKind::Matrix) ? kernel::matrix_scratch_elems(tasks, family) : 0;
    return std::max(body, kernel::steps_scratch_elems(tasks, family));
}

std::int64_t instruction_ns(const Instruction& instruction, std::span<const std::uint32_t> group_crossbars,
                            const PimTiming& timing) {
    const auto op = static_cast<Opcode>(instruction.op);
    const auto length = static_cast<std::uint32_t>(instruction.length);
    switch (op) {
        case Opcode::Sldi:
        case Opcode::Saddi:
        case Opcode::Smuli:
        case Opcode::Setbw: return timing.scalar_ns();
        case Opcode::Mvmul: return timing.mvmul_ns(group_crossbars[length]);
        case Opcode::Lmv: return timing.copy_ns(length);
        case Opcode::Lldi: return timing.fill_ns(length);
        default: return timing.vector_ns(op, length);
    }
}

namespace {

KernelCost tiles_cost(const Tasks& tasks, FamilyId family_id, std::uint32_t first_tile, std::uint32_t tile_count, const PimTiming& timing) {
    const Family& family = tasks.families[family_id.index()];
    const std::vector<RowAddress> inputs(family.input_count);
    KernelSpace space;
    space.inputs = inputs;
    LocalMemory memory{CoreId(0)};
    OperationList operations;
    emit_kernel(tasks, family_id, first_tile, tile_count, space, memory, operations);
    CoreCode code(8);
    code.append(operations);
    std::vector<std::uint32_t> crossbars;
    for (const Strip& strip : tasks.strips.subspan(family.first_strip, family.strip_count)) crossbars.push_back(strip.crossbars);
    KernelCost cost;
    for (const Run& run : code.runs()) {
        for (const Instruction& instruction : code.instructions().subspan(run.first_instruction, run.instruction_count)) {
            const std::int64_t ns = checked_multiply<std::int64_t>(instruction_ns(instruction, crossbars, timing), run.trip_count);
            cost.total_ns = checked_add(cost.total_ns, ns);
            cost.instructions += run.trip_count;
            const auto op = static_cast<Opcode>(instruction.op);
            if (op == Opcode::Mvmul) cost.mvmul_ns += ns;
            if (op == Opcode::Lmv || op == Opcode::Vmv) cost.copy_ns += ns;
        }
    }
    cost.scratch_elems = kernel_scratch_elems(tasks, family_id);
    cost.constant_elems = memory.used();
    return cost;
}

}  // namespace

std::int64_t kernel_ns(const Tasks& tasks, FamilyId family, std::uint32_t first_tile, std::uint32_t tile_count, const PimTiming& timing) {
    return tiles_cost(tasks, family, first_tile, tile_count, timing).total_ns;
}

KernelCost kernel_cost(const Tasks& tasks, FamilyId family_id, const PimTiming& timing) {
    const Family& family = tasks.families[family_id.index()];
    const TaskTensor& output = tasks.tensors[family.output];
    return tiles_cost(tasks, family_id, 0, ceil_divide(output.rows, family.tile_rows) * ceil_divide(output.columns, family.tile_columns), timing);
}

}  // namespace weft
