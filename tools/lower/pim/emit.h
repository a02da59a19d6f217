#pragma once

#include "artifact/program.h"
#include "artifact/target.h"
#include "pim/memory_plan.h"
#include "pim/placement.h"
#include "pim/timing.h"

namespace weft::lower_pim {

/// Global memory: every network input and output stands once, in port order.
struct GlobalPlan {
    std::vector<Port> inputs;
    std::vector<Port> outputs;
    std::vector<std::uint32_t> tensor_address;   // per task tensor; no_id where it is not in global memory
};

[[nodiscard]] GlobalPlan plan_global(const Tasks& tasks, const Rhythm& rhythm);

/// Runs, instructions and array groups of every core into `program`; constants are added to `memory`.
void emit_cores(const Tasks& tasks, const ActorPlan& plan, const GlobalPlan& global, const Target& target, const PimTiming& timing,
                MemoryPlan& memory, ProgramColumns& program);

}  // namespace weft::lower_pim
