#include "prepare/prepare.h"

#include <algorithm>

#include "base/checked.h"
#include "base/id.h"
#include "pim/kernel.h"
#include "pim/tiles.h"
#include "prepare/assemble.h"
#include "prepare/choose.h"
#include "prepare/cost.h"
#include "prepare/fusion.h"
#include "prepare/host_split.h"
#include "prepare/lanes.h"
#include "prepare/split.h"

namespace weft {
namespace {

using namespace preparation;

/// A rough price of everything that has no mapping to choose: pools, moves, pointwise steps.
std::int64_t other_work_ns(const Draft& draft, const ChipFacts& chip) {
    std::int64_t sum = 0;
    for (const DraftFamily& family : draft.families) {
        const TaskTensor& output = draft.tensors[family.row.output];
        const auto row_ns = [&](Opcode op) { return output.rows * chip.timing.vector_ns(op, output.columns * output.channels); };
        sum += static_cast<std::int64_t>(family.steps.size()) * row_ns(Opcode::Vvadd);
        const std::int64_t taps = std::int64_t{family.row.kernel_rows} * family.row.kernel_columns;
        if (family.row.kind == static_cast<std::uint32_t>(FamilyKind::Pool)) sum += taps * row_ns(Opcode::Vvmax);
        if (family.row.kind == static_cast<std::uint32_t>(FamilyKind::Move)) sum += std::int64_t{output.rows} * output.columns * chip.timing.copy_ns(output.channels);
    }
    return sum;
}

/// A mapping for every matrix family: the least interval of the whole chip.
std::vector<MappingChoice> choose_mappings(const Draft& draft, const ChipFacts& chip, const PrepareOptions& options) {
    std::vector<std::vector<LayerOption>> layers;
    std::vector<MatrixProblem> problems;
    for (const DraftFamily& family : draft.families) {
        if (family.matrix == no_id) continue;
        problems.push_back(matrix_problem(draft, family));
        // Networks repeat layers.
        const auto same = std::find_if(problems.begin(), problems.end() - 1, [&](const MatrixProblem& other) { return alike(other, problems.back()); });
        const auto index = static_cast<std::size_t>(same - problems.begin());
        layers.push_back(index + 1 < problems.size() ? layers[index] : layer_options(problems.back(), options.widest_window, chip));
    }
    const Budget budget{chip.core_count, chip.crossbars_per_core, options.crossbar_percent, other_work_ns(draft, chip)};
    const auto chosen = choose_options(layers, budget);
    std::vector<MappingChoice> choices;
    std::int64_t work_ns = budget.other_work_ns;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) work_ns += layers[layer][chosen[layer]].work_ns;
    const std::int64_t interval_ns = work_ns / chip.core_count;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        const LayerOption& option = layers[layer][chosen[layer]];
        choices.push_back(option.choice);
        // Cold: its crossbars outlast its work. In small parts they fill what large families leave of their cores.
        const auto longest = std::max_element(option.parts.begin(), option.parts.end(), [](const PartNeed& a, const PartNeed& b) { return a.work_ns < b.work_ns; });
        const bool cold = option.choice.positions() == 1 && problems[layer].spec.groups == 1 && option.crossbars > options.cold_crossbars && longest->work_ns * 2 < interval_ns;
        if (cold) choices.back().part_crossbars = options.cold_crossbars;
    }
    return choices;
}

void set_costs(TasksColumns& columns, const ChipFacts& chip) {
    for (std::uint32_t id = 0; id < columns.families.size(); ++id) {
        const KernelCost cost = kernel_cost(view(columns), FamilyId(id), chip.timing);
        Family& family = columns.families[id];
        const TaskTensor& output = columns.tensors[family.output];
        const auto tiles = static_cast<std::int64_t>(TileGrid(family, output).tile_count());
        family.tile_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(1, ceil_divide(cost.total_ns, tiles)));
        family.scratch_elems = static_cast<std::uint32_t>(cost.scratch_elems);
    }
}

std::uint64_t total_work_ns(const TasksColumns& columns) {
    std::uint64_t sum = 0;
    for (const Family& family : columns.families) {
        const TaskTensor& output = columns.tensors[family.output];
        sum = checked_add(sum, checked_multiply(TileGrid(family, output).tile_count(), family.tile_ns));
    }
    return sum;
}

}  // namespace

TasksColumns prepare(const Graph& graph, const Target& target, const PrepareOptions& options) {
    const GraphIndex index(graph);
    ChipFacts chip(target);
    if (options.family_crossbars != 0) chip.family_crossbars = std::min(options.family_crossbars, chip.crossbars_per_core);
    const HostSplit split = split_host(index, options.allow_host);
    Draft draft = draft_families(index, split);
    set_gaps(draft);
    map_matrices(draft, chip, choose_mappings(draft, chip, options));
    TasksColumns columns = assemble(std::move(draft));
    set_costs(columns, chip);
    const std::uint64_t work_ns = total_work_ns(columns);
    const std::uint64_t default_lane_ns = work_ns / chip.core_count / std::max(1U, options.lanes_per_core);
    cut_lanes(columns, options.lane_ns != 0 ? options.lane_ns : default_lane_ns);
    columns.host_head = split.head;
    columns.host_tail = split.tail;
    columns.graph_hash_high = options.graph_hash.high;
    columns.graph_hash_low = options.graph_hash.low;
    columns.work_bound_ns = ceil_divide(work_ns, std::uint64_t{chip.core_count});
    return columns;
}

TaskFigures task_figures(const Tasks& tasks, const Target& target) {
    const ChipFacts chip(target);
    TaskFigures figures;
    figures.families = tasks.families.size();
    figures.strips = tasks.strips.size();
    figures.lanes = tasks.lanes.size();
    figures.demands = tasks.demands.size();
    figures.crossbars_available = std::uint64_t{chip.core_count} * chip.crossbars_per_core;
    for (std::uint32_t id = 0; id < tasks.families.size(); ++id) {
        const KernelCost cost = kernel_cost(tasks, FamilyId(id), chip.timing);
        figures.crossbars += tasks.families[id].crossbars;
        figures.mvmul_ns += static_cast<std::uint64_t>(cost.mvmul_ns);
        figures.copy_ns += static_cast<std::uint64_t>(cost.copy_ns);
        figures.other_ns += static_cast<std::uint64_t>(cost.total_ns - cost.mvmul_ns - cost.copy_ns);
    }
    for (const Lane& lane : tasks.lanes) figures.work_ns += lane.work_ns;
    return figures;
}

}  // namespace weft
