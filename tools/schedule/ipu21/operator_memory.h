#pragma once

#include <vector>

#include "artifact/schedule.h"
#include "artifact/target.h"
#include "artifact/tasks.h"

namespace weft::ipu21 {

/// Estimated bytes of the fullest tile while one operator and the conversions before it run: live values, copies, temporaries, and the
/// resident bytes of all operators.
struct OperatorMemory {
    std::uint64_t standard = 0;
    std::uint64_t interleaved = 0;
    bool operator==(const OperatorMemory&) const = default;
};

/// One entry per operator; the largest of each class is what the schedule's estimate says of the whole program. Evaluates the choice
/// anew, without the planner's search.
[[nodiscard]] std::vector<OperatorMemory> operator_memory(const Tasks& tasks, const Schedule& schedule, const Target& target);

}  // namespace weft::ipu21
