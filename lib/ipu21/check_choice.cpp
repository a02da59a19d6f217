#include "ipu21/check_choice.h"

#include "ipu21/gemm_exchange.h"
#include "ipu21/batched_product.h"
#include "ipu21/layout.h"
#include "ipu21/rearrange.h"

namespace weft::ipu21 {
namespace {

/// Every tile must have what its part of the output is made of.
void check_rearrange(const Tasks& tasks, std::uint32_t op_id, const TilePlan& plan, std::string_view name) {
    const Rearrangement rearrangement = rearrangement_of(tasks, op_id);
    const TileLayout& input = tasks.tile_layouts[tasks.plan_layouts[plan.first_layout]];
    const TileLayout& output = tasks.tile_layouts[plan.output_layout];
    LocalOrder local{};
    const auto carried = carried_layout(rearrangement, input, &local);
    const auto exact = carried ? with_grains(*carried, rearrangement.output, output.row_grain, output.column_grain) : std::nullopt;
    if (!exact || !same_parts(*exact, output) || input.elem_bytes != output.elem_bytes) bad_input("the plan of operator '{}' gives tiles elements that they do not hold", name);
    if (static_cast<Distribution>(plan.distribution) != Distribution::View) return;
    const auto view = viewed_layout(rearrangement, input, *carried, local);
    const bool bytes = view && view->order == output.order && view->memory == output.memory && view->row_grain == output.row_grain && view->column_grain == output.column_grain;
    if (!bytes) bad_input("the plan of operator '{}' takes its input for what it is not", name);
}

void check_plan(const Tasks& tasks, std::uint32_t op_id, const TilePlan& plan, const Target& target) {
    const TileOperator& op = tasks.tile_operators[op_id];
    const auto distribution = static_cast<Distribution>(plan.distribution);
    const std::string_view name = pool_text(tasks.name_pool, op.name);
    const std::uint64_t tiles = std::uint64_t{plan.rows} * plan.columns * plan.inner;
    if (tiles > target.core_count || plan.tiles > target.core_count) {
        bad_input("the plan of operator '{}' uses {} tiles, the target has {}", name, tiles, target.core_count);
    }
    const auto kind = static_cast<TileOperatorKind>(op.kind);
    const bool gemm = kind == TileOperatorKind::Gemm;
    const bool gemm_plan_kind = distribution == Distribution::OutputStationary || distribution == Distribution::PanelReduction ||
                                distribution == Distribution::ParallelReduction;
    const bool product = distribution == Distribution::BatchedProduct;
    const bool view = distribution == Distribution::View;
    const bool rearrange = kind == TileOperatorKind::Rearrange;
    if (gemm != gemm_plan_kind || product != (kind == TileOperatorKind::Product) || (rearrange ? !view && distribution != Distribution::Local : view)) {
        bad_input("the plan of operator '{}' is one of another kind of operator", name);
    }
    if (rearrange) check_rearrange(tasks, op_id, plan, name);
    if (product) check_product(tasks, op, plan, name);
    if (!gemm) return;
    constexpr std::uint32_t most_phases = 1U << 16U;
    const TileLayout& input = tasks.tile_layouts[tasks.plan_layouts[plan.first_layout]];
    if (!is_legal(gemm_plan(op, plan, input, target.ipu21.amp_columns)) || op.k / plan.inner_block > most_phases || op.n / plan.output_block > most_phases) {
        bad_input("the plan of operator '{}' does not fit its sizes", name);
    }
}

}  // namespace

void check_choice(const Tasks& tasks, const Schedule& schedule, const Target& target) {
    if (schedule.plan_choice.size() != tasks.tile_operators.size()) {
        bad_input("the schedule chooses {} plans and the tasks have {} operators: they do not belong together", schedule.plan_choice.size(),
                  tasks.tile_operators.size());
    }
    for (std::size_t op = 0; op < schedule.plan_choice.size(); ++op) {
        const TileOperator& row = tasks.tile_operators[op];
        if (schedule.plan_choice[op] < row.first_plan || schedule.plan_choice[op] >= row.first_plan + row.plan_count) {
            bad_input("the schedule's plan {} is none of operator '{}'", schedule.plan_choice[op], pool_text(tasks.name_pool, row.name));
        }
    }
    for (const TileLayout& layout : tasks.tile_layouts) {
        if (layout_tiles(layout) > target.core_count) bad_input("a layout uses {} tiles and the target has {}", layout_tiles(layout), target.core_count);
    }
    for (std::size_t op = 0; op < schedule.plan_choice.size(); ++op) {
        check_plan(tasks, static_cast<std::uint32_t>(op), tasks.tile_plans[schedule.plan_choice[op]], target);
    }
    for (const TileConversion& conversion : schedule.conversions) {
        if (conversion.operator_index >= tasks.tile_operators.size() || conversion.input >= tasks.tile_operators[conversion.operator_index].input_count ||
            conversion.from_layout >= tasks.tile_layouts.size() || conversion.to_layout >= tasks.tile_layouts.size()) {
            bad_input("a conversion of the schedule names an input or layout that the tasks do not have");
        }
    }
}

}  // namespace weft::ipu21
