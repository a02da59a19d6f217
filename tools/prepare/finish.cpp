#include "prepare/finish.h"

#include <algorithm>

#include "base/checked.h"
#include "pim/kernel.h"
#include "pim/tiles.h"
#include "prepare/lanes.h"

namespace weft::preparation {
namespace {

std::uint64_t total_work_ns(const TasksColumns& columns) {
    std::uint64_t sum = 0;
    for (const Family& family : columns.families) {
        const TaskTensor& output = columns.tensors[family.output];
        sum = checked_add(sum, checked_multiply(TileGrid(family, output).tile_count(), family.tile_ns));
    }
    return sum;
}

/// Windows of a pool that hang over the edge have fewer inputs, so that lanes of equally many positions differ.
void set_pool_work(TasksColumns& columns, const ChipFacts& chip) {
    for (Lane& lane : columns.lanes) {
        if (columns.families[lane.family].kind != static_cast<std::uint32_t>(FamilyKind::Pool)) continue;
        lane.work_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(1, kernel_ns(view(columns), FamilyId(lane.family), lane.first_tile, lane.tile_count, chip.timing)));
    }
}

}  // namespace

FamilyCost family_cost(const TasksColumns& columns, FamilyId id, const ChipFacts& chip) {
    const KernelCost cost = kernel_cost(view(columns), id, chip.timing);
    const Family& family = columns.families[id.index()];
    const auto tiles = static_cast<std::int64_t>(TileGrid(family, columns.tensors[family.output]).tile_count());
    return {static_cast<std::uint64_t>(std::max<std::int64_t>(1, ceil_divide(cost.total_ns, tiles))), static_cast<std::uint32_t>(cost.scratch_elems)};
}

std::uint64_t finish_lanes(TasksColumns& columns, const ChipFacts& chip, const PrepareOptions& options) {
    const std::uint64_t work_ns = total_work_ns(columns);
    const std::uint64_t default_lane_ns = work_ns / chip.core_count / std::max(1U, options.lanes_per_core);
    cut_lanes(columns, options.lane_ns != 0 ? options.lane_ns : default_lane_ns);
    set_pool_work(columns, chip);
    return work_ns;
}

}  // namespace weft::preparation
