#pragma once

#include <cstdint>

#include "artifact/tasks.h"
#include "base/id.h"
#include "prepare/cost.h"
#include "prepare/prepare.h"

namespace weft::preparation {

/// What one tile of a family takes, and its scratch.
struct FamilyCost {
    std::uint64_t tile_ns = 0;
    std::uint32_t scratch_elems = 0;
};

[[nodiscard]] FamilyCost family_cost(const TasksColumns& columns, FamilyId id, const ChipFacts& chip);

/// `cost_of(family)` for every family.
template <class CostOf>
void set_costs(TasksColumns& columns, const CostOf& cost_of) {
    for (std::uint32_t id = 0; id < columns.families.size(); ++id) {
        const FamilyCost cost = cost_of(FamilyId(id));
        columns.families[id].tile_ns = cost.tile_ns;
        columns.families[id].scratch_elems = cost.scratch_elems;
    }
}

/// Tasks with costs, but without lanes, become tasks with lanes. Returns the work of all tiles in nanoseconds.
std::uint64_t finish_lanes(TasksColumns& columns, const ChipFacts& chip, const PrepareOptions& options);

}  // namespace weft::preparation
