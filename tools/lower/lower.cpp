#include "lower/lower.h"

#include <algorithm>

#include "base/checked.h"
#include "lower/pim/emit.h"
#include "pim/liveness.h"
#include "pim/memory_plan.h"
#include "pim/placement.h"
#include "pim/timing.h"

namespace weft {
namespace {

void check_inputs(const Tasks& tasks, const Schedule& schedule, const Target& target, const LowerOptions& options) {
    if (target.family != TargetFamily::Pim) refuse("the target is not of the pim family");
    if (schedule.lane_core.size() != tasks.lanes.size() || schedule.family_level.size() != tasks.families.size()) {
        bad_input("the schedule has {} lanes and {} families, the tasks {} and {}: they do not belong together",
                  schedule.lane_core.size(), schedule.family_level.size(), tasks.lanes.size(), tasks.families.size());
    }
    for (std::size_t l = 0; l < schedule.lane_core.size(); ++l) {
        if (schedule.lane_core[l] >= target.core_count) {
            bad_input("lane {} is placed on core {}, the target has {}", l, schedule.lane_core[l], target.core_count);
        }
    }
    if (schedule.depth > options.max_depth) {
        refuse("the schedule is {} rounds deep, --max-depth allows {}; schedule with --max-depth too", schedule.depth,
               options.max_depth);
    }
}

/// Names of the families become the labels of the runs.
void copy_tables(const Tasks& tasks, ProgramColumns& program) {
    for (const Family& family : tasks.families) {
        program.labels.push_back(pool_append(program.name_pool, pool_text(tasks.name_pool, family.name)));
    }
    for (const MatrixBlock& block : tasks.blocks) {
        program.blocks.push_back({block.weight, block.row, block.column, block.rows, block.columns, block.offset, block.row_stride,
                                  block.column_stride});
    }
    for (const Weight& weight : tasks.weights) program.weights.push_back({weight.hash_high, weight.hash_low, weight.elem_count});
    program.host_head.assign(tasks.host_head.begin(), tasks.host_head.end());
    program.host_tail.assign(tasks.host_tail.begin(), tasks.host_tail.end());
    program.graph_hash_high = tasks.graph_hash_high;
    program.graph_hash_low = tasks.graph_hash_low;
}

void copy_memory(const MemoryPlan& memory, const Target& target, ProgramColumns& program) {
    for (std::uint32_t c = 0; c < memory.cores.size(); ++c) {
        const LocalMemory& core = memory.cores[c];
        if (core.used() > static_cast<std::int64_t>(target.core.local_memory_bytes)) {
            refuse("core {} needs {} bytes of local memory, the target has {}; use more cores, a smaller input, or a smaller depth", c,
                   core.used(), target.core.local_memory_bytes);
        }
        program.core_local_elems.push_back(narrow<std::uint32_t>(core.used()));
        program.constants.insert(program.constants.end(), core.constants().begin(), core.constants().end());
    }
}

}  // namespace

ProgramColumns lower(const Tasks& tasks, const Schedule& schedule, const Target& target, const LowerOptions& options) {
    check_inputs(tasks, schedule, target, options);
    const PimTiming timing(target);
    ProgramColumns program;
    program.value_kind = ValueKind::F32;
    program.slots_per_round = schedule.slots_per_round;
    program.stage_count = schedule.stage_count;
    program.inferences_per_round = 1;
    copy_tables(tasks, program);

    const Rhythm rhythm{schedule.exchange, schedule.slots_per_round, schedule.family_level};
    const ActorPlan plan = plan_actors(tasks, schedule.lane_core, rhythm);
    MemoryPlan memory = plan_memory(tasks, plan, target.core_count);
    const lower_pim::GlobalPlan global = lower_pim::plan_global(tasks, rhythm);
    lower_pim::emit_cores(tasks, plan, global, target, timing, memory, program);
    copy_memory(memory, target, program);

    program.inputs = global.inputs;
    program.outputs = global.outputs;
    for (const Port& port : program.outputs) program.depth = std::max(program.depth, port.offset);
    if (options.liveness_rounds > 0) {
        const LivenessReport report = check_liveness(view(program), target, options.liveness_rounds);
        WEFT_CHECK(report.live, "the program would deadlock: {}", report.text());
    }
    return program;
}

}  // namespace weft
