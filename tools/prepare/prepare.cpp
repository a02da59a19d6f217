#include "prepare/prepare.h"

#include "base/checked.h"
#include "base/id.h"
#include "pim/kernel.h"
#include "prepare/assemble.h"
#include "prepare/cost.h"
#include "prepare/finish.h"
#include "prepare/fusion.h"
#include "prepare/host_split.h"
#include "prepare/mapping_search.h"
#include "prepare/pools.h"
#include "prepare/split.h"

namespace weft {

using namespace preparation;

TasksColumns prepare(const Graph& graph, const Target& target, const PrepareOptions& options) {
    const GraphIndex index(graph);
    ChipFacts chip(target, options.kernels);
    const HostSplit split = split_host(index, options.allow_host);
    Draft draft = draft_families(index, split, chip);
    move_steps_behind_maxima(draft);
    set_gaps(draft);
    build_moves(draft);
    const ChosenMappings chosen = choose_mappings(draft, chip, target, options);
    map_matrices(draft, chip, chosen.choices);
    TasksColumns columns = assemble(std::move(draft));
    set_costs(columns, [&](FamilyId id) { return family_cost(columns, id, chip); });
    PrepareOptions lanes = options;
    lanes.lanes_per_core = chosen.lanes_per_core;
    const std::uint64_t work_ns = finish_lanes(columns, chip, lanes);
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
