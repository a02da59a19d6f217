#include <algorithm>

#include "pim/kernel_parts.h"
#include "pim/tiles.h"

namespace weft::kernel {
namespace {

/// Slots that are summed: those that no step names.
std::vector<std::uint32_t> band_slots(const Emission& emission) {
    std::vector<std::uint32_t> slots;
    for (std::uint32_t slot = 0; slot < emission.family.input_count; ++slot) {
        const bool named = std::any_of(emission.steps().begin(), emission.steps().end(), [&](const Step& step) {
            const auto kind = static_cast<OperandKind>(step.operand_kind);
            return (kind == OperandKind::Input || kind == OperandKind::InputBroadcast) && step.operand == slot;
        });
        if (!named) slots.push_back(slot);
    }
    return slots;
}

/// Columns [first_column, end_column) of output row `y`: the first two bands that have it are added into the output, then the others.
void sum_row(Emission& emission, std::span<const std::uint32_t> slots, std::uint32_t y, std::uint32_t first_column, std::uint32_t end_column) {
    const auto elems = static_cast<std::int32_t>((end_column - first_column) * emission.output.channels);
    const auto column = static_cast<std::int32_t>(first_column);
    const Address output{element_address(emission.space.output, emission.output, static_cast<std::int32_t>(y), column), 0};
    std::optional<Address> first;
    bool summed = false;
    emission.body.clear();
    for (const std::uint32_t slot : slots) {
        const TaskTensor& part = emission.input(slot);
        const auto row = band_row(emission.tasks.families[part.producer], band_of(emission.tasks, part.producer), y);
        if (!row) continue;
        const Address term{element_address(emission.space.inputs[slot], part, static_cast<std::int32_t>(*row), column), 0};
        if (!first) {
            first = term;
            continue;
        }
        emission.body.push_back({Opcode::Vvadd, output, summed ? output : *first, term, elems, 0});
        summed = true;
    }
    WEFT_CHECK(first.has_value(), "output row {} is in no band", y);
    if (!summed) emission.body.push_back({Opcode::Lmv, output, *first, {}, elems, 0});
    emission.code.append(emission.body, 1, emission.label());
}

}  // namespace

void emit_band_sum(Emission& emission, std::uint32_t first_position, std::uint32_t position_count) {
    const auto slots = band_slots(emission);
    const std::uint32_t columns = emission.output.columns;
    const std::uint32_t limit = segment_positions(emission.output);
    for (std::uint32_t position = first_position; position < first_position + position_count;) {
        const std::uint32_t row = position / columns;
        const std::uint32_t first = position % columns;
        const std::uint32_t end = std::min(columns, first + (first_position + position_count - position));
        for (std::uint32_t column = first; column < end; column += limit) sum_row(emission, slots, row, column, std::min(end, column + limit));
        emit_steps(emission, row, first, end);
        position += end - first;
    }
}

}  // namespace weft::kernel
