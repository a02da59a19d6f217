#include "prepare/prepare.h"

#include <algorithm>

#include "base/checked.h"
#include "base/id.h"
#include "pim/kernel.h"
#include "prepare/assemble.h"
#include "prepare/cost.h"
#include "prepare/fusion.h"
#include "prepare/host_split.h"
#include "prepare/lanes.h"
#include "prepare/split.h"

namespace weft {
namespace {

using namespace preparation;

/// Maps for time; where one copy of all weights does not fit the chip, crossbars get a price that rises until it does, or until
/// they cannot be fewer.
void map_within(Draft& draft, const ChipFacts& chip) {
    const Draft unmapped = draft;
    const std::uint64_t available = std::uint64_t{chip.core_count} * chip.crossbars_per_core;
    for (const std::int64_t ns_per_crossbar : {1, 30, 300, 3000, 1'000'000}) {
        draft = unmapped;
        map_matrices(draft, chip, ns_per_crossbar);
        if (crossbar_total(draft) * 100 <= available * 95) return;
    }
}

void set_costs(TasksColumns& columns, const ChipFacts& chip) {
    for (std::uint32_t id = 0; id < columns.families.size(); ++id) {
        const KernelCost cost = kernel_cost(view(columns), FamilyId(id), chip.timing);
        Family& family = columns.families[id];
        const TaskTensor& output = columns.tensors[family.output];
        const std::int64_t tiles = std::int64_t{output.rows} * output.columns;
        family.tile_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(1, ceil_divide(cost.total_ns, tiles)));
        family.scratch_elems = static_cast<std::uint32_t>(cost.scratch_elems);
    }
}

std::uint64_t total_work_ns(const TasksColumns& columns) {
    std::uint64_t sum = 0;
    for (const Family& family : columns.families) {
        const TaskTensor& output = columns.tensors[family.output];
        sum = checked_add(sum, checked_multiply(std::uint64_t{output.rows} * output.columns, family.tile_ns));
    }
    return sum;
}

}  // namespace

TasksColumns prepare(const Graph& graph, const Target& target, const PrepareOptions& options) {
    const GraphIndex index(graph);
    const ChipFacts chip(target);
    const HostSplit split = split_host(index, options.allow_host);
    Draft draft = draft_families(index, split);
    set_gaps(draft);
    map_within(draft, chip);
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
