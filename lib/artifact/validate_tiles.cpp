#include "artifact/validate_tiles.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "artifact/validate.h"
#include "base/id.h"

namespace weft {
namespace {

constexpr std::uint32_t most_axes = 32;
constexpr std::uint64_t elem_limit = std::uint64_t{1} << 31U;
constexpr std::uint32_t tile_limit = 1U << 15U;
constexpr std::uint64_t cycle_limit = std::uint64_t{1} << 56U;   // sums of many stay below 63 bits

void check_layouts(const Tasks& tasks, const Validator& check) {
    for (std::size_t row = 0; row < tasks.tile_layouts.size(); ++row) {
        const TileLayout& layout = tasks.tile_layouts[row];
        check.below(layout.order, 6, "tile_layouts", row);
        check.below(layout.memory, 2, "tile_layouts", row);
        if (layout.elem_bytes != 2 && layout.elem_bytes != 4) check.reject("tile_layouts", row, "elements of {} bytes", layout.elem_bytes);
        std::uint64_t tiles = 1;
        for (const std::uint32_t parts : {layout.row_parts, layout.column_parts, layout.replicas}) {
            if (parts == 0 || parts > tile_limit) check.reject("tile_layouts", row, "{} parts", parts);
            tiles *= parts;
            if (tiles > tile_limit) check.reject("tile_layouts", row, "more than {} tiles", tile_limit);
        }
        if (layout.row_grain == 0 || layout.column_grain == 0 || layout.row_grain >= elem_limit || layout.column_grain >= elem_limit) {
            check.reject("tile_layouts", row, "a grain of {} x {}", layout.row_grain, layout.column_grain);
        }
        // Parts fill tiles 0 .. tiles - 1.
        std::uint64_t last = 0;
        for (const auto& [parts, stride] : {std::pair(layout.row_parts, layout.row_stride), std::pair(layout.column_parts, layout.column_stride),
                                            std::pair(layout.replicas, layout.replica_stride)}) {
            if (stride == 0) check.reject("tile_layouts", row, "a stride of zero");
            last += std::uint64_t{parts - 1} * stride;
        }
        if (last != tiles - 1) check.reject("tile_layouts", row, "its strides are no numbering of its tiles");
    }
}

void check_product(const Tasks& tasks, const TileOperator& op, std::size_t row, const Validator& check) {
    if (op.input_count != 2) check.reject("tile_operators", row, "a product of {} values", op.input_count);
    const auto is = [&](std::uint32_t value, std::uint64_t rows, std::uint64_t columns) {
        return tasks.tile_values[value].rows == rows * op.batch && tasks.tile_values[value].columns == columns;
    };
    if (!is(tasks.tile_inputs[op.first_input], op.m, op.k) || !is(tasks.tile_inputs[op.first_input + 1], op.k, op.n) || !is(op.output, op.m, op.n)) {
        check.reject("tile_operators", row, "its matrices are not those that it multiplies");
    }
}

/// One rearrangement per operator of that kind; its axes permute the elements of both its values.
void check_rearrangements(const Tasks& tasks, const Validator& check) {
    std::size_t next = 0;
    for (std::size_t op = 0; op < tasks.tile_operators.size(); ++op) {
        if (static_cast<TileOperatorKind>(tasks.tile_operators[op].kind) != TileOperatorKind::Rearrange) continue;
        if (next == tasks.tile_rearrangements.size() || tasks.tile_rearrangements[next].operator_index != op) {
            check.reject("tile_operators", op, "the order of its elements is not told");
        }
        const TileRearrangement& row = tasks.tile_rearrangements[next];
        check.range(row.first_axis, row.axis_count, tasks.tile_axes.size(), "tile_rearrangements", next);
        if (row.axis_count > most_axes || tasks.tile_operators[op].input_count != 1) check.reject("tile_rearrangements", next, "{} axes", row.axis_count);
        std::vector<TileAxis> axes(tasks.tile_axes.begin() + row.first_axis, tasks.tile_axes.begin() + row.first_axis + row.axis_count);
        std::ranges::sort(axes, {}, [](const TileAxis& axis) { return std::pair(axis.input_stride, axis.extent); });
        std::uint64_t elems = 1;
        bool nested = true;
        for (const TileAxis& axis : axes) {
            nested = nested && axis.extent != 0 && (axis.extent == 1 || axis.input_stride == elems);
            elems *= std::max(axis.extent, 1U);
            if (elems >= elem_limit) nested = false;
            if (!nested) check.reject("tile_rearrangements", next, "its axes are no permutation");
        }
        for (const std::uint32_t value : {tasks.tile_inputs[tasks.tile_operators[op].first_input], tasks.tile_operators[op].output}) {
            if (elems != std::uint64_t{tasks.tile_values[value].rows} * tasks.tile_values[value].columns) {
                check.reject("tile_rearrangements", next, "{} elements, not those of value {}", elems, value);
            }
        }
        ++next;
    }
    check.length(tasks.tile_rearrangements.size(), next, "tile_rearrangements");
}

void check_operators(const Tasks& tasks, const Validator& check) {
    std::uint64_t next_plan = 0;
    for (std::size_t row = 0; row < tasks.tile_operators.size(); ++row) {
        const TileOperator& op = tasks.tile_operators[row];
        check.text(op.name, tasks.name_pool, "tile_operators", row);
        check.below(op.kind, 10, "tile_operators", row);
        check.below(op.output, tasks.tile_values.size(), "tile_operators", row);
        if (tasks.tile_values[op.output].producer != row) check.reject("tile_operators", row, "its output has another producer");
        check.range(op.first_input, op.input_count, tasks.tile_inputs.size(), "tile_operators", row);
        if (op.input_count == 0 || op.input_count > 8) check.reject("tile_operators", row, "{} inputs", op.input_count);
        for (std::uint32_t slot = 0; slot < op.input_count; ++slot) {
            const std::uint32_t value = tasks.tile_inputs[op.first_input + slot];
            check.below(value, tasks.tile_values.size(), "tile_inputs", op.first_input + slot);
            const std::uint32_t producer = tasks.tile_values[value].producer;
            if (producer != no_id && producer >= row) check.reject("tile_operators", row, "input {} is not produced before it", slot);
        }
        if (op.first_plan != next_plan) check.reject("tile_operators", row, "its plans do not follow those of the operator before");
        check.range(op.first_plan, op.plan_count, tasks.tile_plans.size(), "tile_operators", row);
        next_plan += op.plan_count;
        for (const std::uint32_t extent : {op.m, op.n, op.batch, op.heads}) {
            if (extent == 0 || extent >= elem_limit) check.reject("tile_operators", row, "an extent of {}", extent);
        }
        const auto kind = static_cast<TileOperatorKind>(op.kind);
        const bool inner = kind == TileOperatorKind::Gemm || kind == TileOperatorKind::Attention || kind == TileOperatorKind::Product;
        if (inner && (op.k == 0 || op.k >= elem_limit)) check.reject("tile_operators", row, "an inner size of {}", op.k);
        if (kind == TileOperatorKind::Product) check_product(tasks, op, row, check);
        for (std::uint32_t plan = op.first_plan; plan < op.first_plan + op.plan_count; ++plan) {
            check.range(tasks.tile_plans[plan].first_layout, op.input_count, tasks.plan_layouts.size(), "tile_plans", plan);
        }
    }
    check.length(tasks.tile_plans.size(), next_plan, "tile_plans");
}

/// What the expansion of a GEMM divides by or counts on.
void check_gemm_plan(const TilePlan& plan, std::size_t row, const Validator& check) {
    const auto distribution = static_cast<TileDistribution>(plan.distribution);
    const bool stationary = distribution == TileDistribution::OutputStationary;
    const bool panels = distribution == TileDistribution::PanelReduction;
    if (!stationary && !panels && distribution != TileDistribution::ParallelReduction) return;
    if (plan.inner_block == 0 || plan.output_block == 0) check.reject("tile_plans", row, "an empty block");
    if (plan.weight_slabs == 0 || plan.weight_columns == 0 || plan.weight_copies == 0 || plan.weight_copies > plan.rows) {
        check.reject("tile_plans", row, "no storage of the weights");
    }
    if (stationary && plan.inner != 1) check.reject("tile_plans", row, "no output-stationary grid");
    if (panels && (plan.columns != 1 || plan.fan_in < 2 || plan.staged_panels == 0)) check.reject("tile_plans", row, "no panel reduction");
    if (!stationary && !panels) {
        if (plan.fan_in < 2) check.reject("tile_plans", row, "no parallel reduction");
        const bool by_rows = plan.order == static_cast<std::uint32_t>(TileGridOrder::ColumnsFast);
        const bool split = by_rows ? plan.split_rows == plan.inner && plan.split_columns == 1 : plan.split_columns == plan.inner && plan.split_rows == 1;
        if (!split) check.reject("tile_plans", row, "its result is not split over its partners");
    }
}

void check_plans(const Tasks& tasks, const Validator& check) {
    for (std::size_t row = 0; row < tasks.tile_plans.size(); ++row) {
        const TilePlan& plan = tasks.tile_plans[row];
        check.text(plan.key, tasks.name_pool, "tile_plans", row);
        check.below(plan.output_layout, tasks.tile_layouts.size(), "tile_plans", row);
        check.below(plan.distribution, 8, "tile_plans", row);
        check.below(plan.order, 3, "tile_plans", row);
        check.below(plan.owner_order, 3, "tile_plans", row);
        check.below(plan.local_source, 3, "tile_plans", row);
        check.below(plan.staging_source, 3, "tile_plans", row);
        for (const std::uint64_t cycles : {plan.local_cycles, plan.exchange_cycles, plan.staging_cycles, plan.launch_cycles}) {
            check.below(cycles, cycle_limit, "tile_plans", row);
        }
        if (plan.rows == 0 || plan.columns == 0 || plan.inner == 0) check.reject("tile_plans", row, "an empty grid");
        check.below(std::uint64_t{plan.rows} * plan.columns, tile_limit, "tile_plans", row);
        check_gemm_plan(plan, row, check);
        check.below(std::uint64_t{plan.rows} * plan.columns * plan.inner, tile_limit, "tile_plans", row);
    }
}

}  // namespace

void validate_tile_tasks(const Tasks& tasks, std::string_view file) {
    const Validator check(file);
    for (std::size_t row = 0; row < tasks.tile_values.size(); ++row) {
        const TileValue& value = tasks.tile_values[row];
        check.text(value.name, tasks.name_pool, "tile_values", row);
        if (value.rows == 0 || value.columns == 0 || std::uint64_t{value.rows} * value.columns >= elem_limit) {
            check.reject("tile_values", row, "{} x {} elements", value.rows, value.columns);
        }
        check.below_or_none(value.producer, tasks.tile_operators.size(), "tile_values", row);
        check.below(value.is_output, 2, "tile_values", row);
    }
    check_layouts(tasks, check);
    for (std::size_t row = 0; row < tasks.plan_layouts.size(); ++row) check.below(tasks.plan_layouts[row], tasks.tile_layouts.size(), "plan_layouts", row);
    check_operators(tasks, check);
    check_rearrangements(tasks, check);
    check_plans(tasks, check);
}

void validate_tile_schedule(const Schedule& schedule, std::string_view file) {
    const Validator check(file);
    for (std::size_t row = 0; row < schedule.conversions.size(); ++row) {
        const TileConversion& conversion = schedule.conversions[row];
        check.below(conversion.operator_index, schedule.plan_choice.size(), "conversions", row);
        check.below(conversion.input, 8, "conversions", row);
        check.below(conversion.replaces, 2, "conversions", row);
        if (row > 0 && conversion.operator_index < schedule.conversions[row - 1].operator_index) check.reject("conversions", row, "not in execution order");
    }
    // Files of before these columns have none.
    if (!schedule.plan_exchange_cycles.empty()) check.length(schedule.plan_exchange_cycles.size(), schedule.plan_choice.size(), "plan_exchange_cycles");
    for (std::size_t row = 0; row < schedule.plan_exchange_cycles.size(); ++row) check.below(schedule.plan_exchange_cycles[row], cycle_limit, "plan_exchange_cycles", row);
    if (!schedule.conversion_cycles.empty()) check.length(schedule.conversion_cycles.size(), schedule.conversions.size(), "conversion_cycles");
    for (std::size_t row = 0; row < schedule.conversion_cycles.size(); ++row) check.below(schedule.conversion_cycles[row], cycle_limit, "conversion_cycles", row);
    check.length(schedule.tile_estimate.size(), schedule.plan_choice.empty() ? 0 : 1, "tile_estimate");
}

void validate_tile_program(const Program& program, std::string_view file) {
    const Validator check(file);
    for (std::size_t row = 0; row < program.tile_steps.size(); ++row) {
        const TileStep& step = program.tile_steps[row];
        check.below(step.kind, 3, "tile_steps", row);
        check.below(step.cycles, cycle_limit, "tile_steps", row);
        check.below(step.estimated_cycles, cycle_limit, "tile_steps", row);
        if (step.kind == static_cast<std::uint32_t>(TileStepKind::Exchange)) check.below(step.index, program.tile_phases.size(), "tile_steps", row);
    }
    for (std::size_t row = 0; row < program.tile_phases.size(); ++row) {
        const TilePhase& phase = program.tile_phases[row];
        check.below(phase.role, 5, "tile_phases", row);
        check.below(phase.step, program.tile_steps.size(), "tile_phases", row);
        check.range(phase.first_transfer, phase.transfer_count, program.tile_transfers.size(), "tile_phases", row);
    }
    for (std::size_t row = 0; row < program.tile_transfers.size(); ++row) {
        const TileTransfer& transfer = program.tile_transfers[row];
        check.below(transfer.source, tile_limit, "tile_transfers", row);
        check.range(transfer.first_receiver, transfer.receiver_count, program.tile_receivers.size(), "tile_transfers", row);
        if (transfer.receiver_count == 0 || transfer.words == 0 || transfer.end < transfer.start) check.reject("tile_transfers", row, "an empty transfer");
    }
    for (std::size_t row = 0; row < program.tile_host.size(); ++row) {
        const TileHostTransfer& transfer = program.tile_host[row];
        check.below(transfer.buffer, program.tile_buffers.size(), "tile_host", row);
        check.below(transfer.from_tiles, 2, "tile_host", row);
        check.below(transfer.unused, 1, "tile_host", row);
        for (const std::uint64_t amount : {transfer.tensor_bytes, transfer.tile_bytes, transfer.packets}) check.below(amount, cycle_limit, "tile_host", row);
    }
    check.length(program.receiver_addresses.size(), program.tile_receivers.size(), "receiver_addresses");
    for (std::size_t row = 0; row < program.tile_receivers.size(); ++row) check.below(program.tile_receivers[row], tile_limit, "tile_receivers", row);
    for (std::size_t row = 0; row < program.tile_buffers.size(); ++row) {
        const TileBuffer& buffer = program.tile_buffers[row];
        check.below(buffer.kind, 5, "tile_buffers", row);
        check.below(buffer.memory, 2, "tile_buffers", row);
        check.range(buffer.first_allocation, buffer.allocation_count, program.allocations.size(), "tile_buffers", row);
        if (buffer.first_step > buffer.last_step) check.reject("tile_buffers", row, "its life ends before it begins");
    }
    for (std::size_t row = 0; row < program.allocations.size(); ++row) check.below(program.allocations[row].tile, tile_limit, "allocations", row);
}

}  // namespace weft
