#include "ipu21/check_choice.h"

#include "ipu21/gemm_exchange.h"
#include "ipu21/layout.h"

namespace weft::ipu21 {
namespace {

void check_plan(const Tasks& tasks, const TileOperator& op, const TilePlan& plan, const Target& target) {
    const auto distribution = static_cast<Distribution>(plan.distribution);
    const std::string_view name = pool_text(tasks.name_pool, op.name);
    const std::uint64_t tiles = std::uint64_t{plan.rows} * plan.columns * plan.inner;
    if (tiles > target.core_count || plan.tiles > target.core_count) {
        bad_input("the plan of operator '{}' uses {} tiles, the target has {}", name, tiles, target.core_count);
    }
    const bool gemm = static_cast<TileOperatorKind>(op.kind) == TileOperatorKind::Gemm;
    const bool gemm_plan_kind = distribution == Distribution::OutputStationary || distribution == Distribution::PanelReduction ||
                                distribution == Distribution::ParallelReduction;
    if (gemm != gemm_plan_kind) bad_input("the plan of operator '{}' is one of another kind of operator", name);
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
        check_plan(tasks, tasks.tile_operators[op], tasks.tile_plans[schedule.plan_choice[op]], target);
    }
    for (const TileConversion& conversion : schedule.conversions) {
        if (conversion.operator_index >= tasks.tile_operators.size() || conversion.input >= tasks.tile_operators[conversion.operator_index].input_count ||
            conversion.from_layout >= tasks.tile_layouts.size() || conversion.to_layout >= tasks.tile_layouts.size()) {
            bad_input("a conversion of the schedule names an input or layout that the tasks do not have");
        }
    }
}

}  // namespace weft::ipu21
