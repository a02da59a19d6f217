#pragma once

#include "artifact/program.h"
#include "artifact/schedule.h"
#include "artifact/target.h"
#include "artifact/tasks.h"

namespace weft {

struct LowerOptions {
    /// Rounds of pipeline depth that the program may have; the schedule decides, this only refuses.
    std::uint32_t max_depth = 0xffffffffU;
    /// Check the finished program for deadlock over this many rounds (0: do not).
    unsigned liveness_rounds = 3;
};

/// The program of a schedule: buffers in local memory, messages in a chip-wide order, instructions. Refuses (Failure) a schedule that
/// does not belong to the tasks, passes the depth, or needs more local memory than the target's cores have.
[[nodiscard]] ProgramColumns lower(const Tasks& tasks, const Schedule& schedule, const Target& target, const LowerOptions& options);

}  // namespace weft
