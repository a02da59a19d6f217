#pragma once

#include <cstdint>
#include <string>

#include "dag/list_schedule.h"

namespace weft {

/// No schedule is shorter than either. Capacity is not considered.
struct DagBounds {
    std::int64_t critical_path_ns = 0;   ///< longest chain, every task at its least cost, no communication
    std::int64_t work_ns = 0;            ///< all tasks at their least costs / processors, rounded up
    [[nodiscard]] std::int64_t makespan_ns() const { return critical_path_ns > work_ns ? critical_path_ns : work_ns; }
};

[[nodiscard]] DagBounds lower_bounds(const Dag& dag);

/// What is wrong with a complete schedule, or an empty text: every task placed once and as long as it costs, no two at a time on a
/// processor, every start after its data arrive, the makespan the last finish, weights resident where they are used and within capacity, space
/// enough.
[[nodiscard]] std::string find_fault(const Dag& dag, const DagSchedule& schedule);

}  // namespace weft
