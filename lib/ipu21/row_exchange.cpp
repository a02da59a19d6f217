#include "ipu21/row_exchange.h"

#include <algorithm>

#include "base/checked.h"

namespace weft::ipu21 {

std::vector<PlannedPhase> attention_phases(const TileOperator& op, const TilePlan& plan, const TileLayout& keys, MatrixShape shape, std::uint32_t limit,
                                           std::string_view name) {
    constexpr std::uint64_t word_bytes = 4;
    const std::uint32_t parts = op.batch == 0 ? 0 : keys.row_parts / op.batch;
    const std::uint32_t senders = std::max(1U, plan.staged_panels);
    if (op.input_count != 3 || parts == 0 || keys.row_parts % op.batch != 0 || ceil_divide(parts, senders) != plan.phases) {
        bad_input("the streamed attention plan of operator '{}' contradicts itself", name);
    }
    std::vector<PlannedPhase> result;
    std::vector<std::uint32_t> others;
    for (std::uint32_t round = 0; round < plan.phases; ++round) {
        PlannedPhase planned{PhaseRole::Attention, {}};
        for (std::uint32_t row = 0; row < keys.row_parts; ++row) {
            const std::uint32_t part = row % parts;
            if (part / senders != round) continue;
            for (std::uint32_t head = 0; head < keys.column_parts; ++head) {
                others.clear();
                for (std::uint32_t to = row - part; to < row - part + parts; ++to) {
                    if (to != row) others.push_back(layout_tile(keys, to, head, 0));
                }
                const std::uint64_t elems = std::uint64_t{rows_of(keys, shape, row).length()} * columns_of(keys, shape, head).length();
                const std::uint64_t words = ceil_divide<std::uint64_t>(elems * keys.elem_bytes, word_bytes);
                const TileId sender(layout_tile(keys, row, head, 0));
                for (int operand = 0; operand < 2; ++operand) add_transfer(planned.phase, sender, others, words, limit);   // keys, then values
            }
        }
        result.push_back(std::move(planned));
    }
    return result;
}

std::vector<PlannedPhase> row_phases(const TilePlan& plan, const TileLayout& layout, MatrixShape shape, std::uint32_t limit) {
    PlannedPhase planned{PhaseRole::Reduction, {}};
    std::vector<std::uint32_t> others;
    for (std::uint32_t row = 0; row < layout.row_parts; ++row) {
        const std::uint64_t words = 2 * std::uint64_t{rows_of(layout, shape, row).length()};
        for (std::uint32_t column = 0; column < layout.column_parts; ++column) {
            others.clear();
            for (std::uint32_t to = 0; to < layout.column_parts; ++to) {
                if (to != column) others.push_back(layout_tile(layout, row, to, 0));
            }
            add_transfer(planned.phase, TileId(layout_tile(layout, row, column, 0)), others, words, limit);
        }
    }
    return std::vector<PlannedPhase>(plan.phases, planned);
}

std::vector<PlannedPhase> operator_phases(const Tasks& tasks, std::uint32_t op_id, const TilePlan& plan, const Target& target) {
    const TileOperator& op = tasks.tile_operators[op_id];
    const std::uint32_t limit = target.ipu21.max_transfer_words;
    const auto shape_of = [&](std::uint32_t value) { return MatrixShape{tasks.tile_values[value].rows, tasks.tile_values[value].columns}; };
    if (plan.phases == 0) return {};
    switch (static_cast<Distribution>(plan.distribution)) {
        case Distribution::AttentionGrid: {
            if (op.input_count != 3) bad_input("the attention '{}' has {} inputs", pool_text(tasks.name_pool, op.name), op.input_count);
            const TileLayout& keys = tasks.tile_layouts[tasks.plan_layouts[plan.first_layout + 1]];
            return attention_phases(op, plan, keys, shape_of(tasks.tile_inputs[op.first_input + 1]), limit, pool_text(tasks.name_pool, op.name));
        }
        case Distribution::RowExchange: return row_phases(plan, tasks.tile_layouts[plan.output_layout], shape_of(op.output), limit);
        case Distribution::Local:
        case Distribution::View:
        case Distribution::BatchedProduct: return {};
        default: break;
    }
    return gemm_phases(gemm_plan(op, plan, tasks.tile_layouts[tasks.plan_layouts[plan.first_layout]], target.ipu21.amp_columns), limit);
}

}  // namespace weft::ipu21
