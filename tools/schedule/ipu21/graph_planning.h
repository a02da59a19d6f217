#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "artifact/hash.h"
#include "artifact/schedule.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "frontier/graph_planner.h"
#include "schedule/ipu21/conversion_costs.h"

namespace weft::ipu21 {

struct PlanningOptions {
    /// Width 0: more for networks of few operators, see automatic_width().
    PlannerOptions planner{.width = 0, .resident_step = 128 * 1024};
    /// (operator, plan key) that may not be chosen: what failed placements have named.
    std::vector<std::pair<std::string, std::string>> forbidden;
    /// (operator, plan key): the only plan of that operator.
    std::vector<std::pair<std::string, std::string>> required;
    /// Two finalists whose estimates differ by at most `tie_percent` per cent of the combined expected error are equal; the better known one
    /// comes first.
    std::uint32_t tie_percent = 100;
    /// How often planning starts again with the finalists' conversions scheduled instead of estimated; it ends before where nothing
    /// new turns up. 0: estimates only.
    std::uint32_t refinements = 8;
};

/// States kept after each operator where none are asked for: 2,048 for up to four operators (an MLP with a batch of one loses 10 % with 512), else
/// as many as bring the whole search to 1,536, but at least 128.
[[nodiscard]] constexpr std::size_t automatic_width(std::size_t operators) {
    constexpr std::size_t least = 128;
    constexpr std::size_t most = 2048;
    constexpr std::size_t whole = 1536;
    if (operators <= 4) return most;
    return whole / operators <= least ? least : whole / operators;
}

/// Memory that a choice may use: whether the fullest tile's estimate leaves room for both classes and their boundary.
[[nodiscard]] bool fits_tile(const Target& target, const PlanObjectives& objectives);

/// The planning problem of a .tasks; plans that `forbidden` names are left out. `row_of` gets the tile_plans row per plan of
/// the problem, whose order does not depend on the file's.
[[nodiscard]] PlanProblem planning_problem(const Tasks& tasks, const Target& target, std::shared_ptr<ConversionCosts> costs,
                                           const std::vector<std::pair<std::string, std::string>>& forbidden,
                                           const std::vector<std::pair<std::string, std::string>>& required,
                                           std::vector<std::uint32_t>& row_of);

/// One schedule per finalist, best estimate first (up to the tie rule). Throws Failure(refused) where no choice fits, naming
/// the operator at which the search stopped and what it needs at least.
[[nodiscard]] std::vector<ScheduleColumns> make_schedules(const Tasks& tasks, const Target& target, const PlanningOptions& options, Hash128 tasks_hash,
                                                          PlannerCounts* counts = nullptr);

}  // namespace weft::ipu21
