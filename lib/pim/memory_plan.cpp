#include "pim/memory_plan.h"

#include <algorithm>

#include "base/checked.h"

namespace weft {
namespace {

RowAddress allocate_rows(const RowBuffer& buffer, const TaskTensor& tensor, LocalMemory& memory) {
    const std::int64_t lead = std::int64_t{tensor.gap} * tensor.channels;
    const std::int64_t pitch = std::int64_t{tensor.columns + tensor.gap} * tensor.channels;
    const std::int32_t start = memory.allocate(lead + pitch * buffer.row_count);
    return {start + narrow<std::int32_t>(lead), buffer.first_row};
}

std::int64_t spans_elems(const Tasks& tasks, const ActorPlan& plan, const RowBuffer& buffer) {
    std::int64_t elems = 0;
    for (std::uint32_t s = buffer.first_span; s < buffer.first_span + buffer.span_count; ++s) {
        elems += span_elems(tasks.tensors[buffer.tensor.index()], plan.spans[s]);
    }
    return elems;
}

}  // namespace

MemoryPlan plan_memory(const Tasks& tasks, const ActorPlan& plan, std::uint32_t core_count) {
    MemoryPlan memory;
    const bool woven = plan.exchange == ExchangePolicy::Woven;
    for (std::uint32_t c = 0; c < core_count; ++c) memory.cores.emplace_back(CoreId(c));
    const auto core_of = [&](const RowBuffer& buffer) -> LocalMemory& { return memory.cores[buffer.core.index()]; };
    for (const RowBuffer& buffer : plan.inputs) {
        memory.inputs.push_back(allocate_rows(buffer, tasks.tensors[buffer.tensor.index()], core_of(buffer)));
    }
    for (const RowBuffer& buffer : plan.outputs) {
        memory.outputs.push_back(allocate_rows(buffer, tasks.tensors[buffer.tensor.index()], core_of(buffer)));
    }
    memory.delays.assign(plan.inputs.size(), 0);
    for (const Transfer& transfer : plan.transfers) memory.delays[transfer.target] = transfer.delays;
    std::uint32_t stages = 0;
    for (const std::uint32_t delays : memory.delays) {
        memory.first_stage.push_back(stages);
        memory.stages.push_back(delay_stages(plan.exchange, delays));
        stages += memory.stages.back();
    }
    memory.stage_address.assign(stages, 0);
    for (std::uint32_t i = 0; i < plan.inputs.size(); ++i) {
        for (std::uint32_t stage = 0; stage < memory.stages[i]; ++stage) {
            memory.stage_address[memory.first_stage[i] + stage] = core_of(plan.inputs[i]).allocate(spans_elems(tasks, plan, plan.inputs[i]));
        }
    }
    for (LocalMemory& core : memory.cores) {
        const std::int64_t half = core.used();
        memory.half_distance.push_back(woven ? narrow<std::int32_t>(half) : 0);
        if (woven) (void)core.allocate(half);
    }
    std::vector<std::int32_t> scratch(core_count, 0);
    for (const Actor& actor : plan.actors) {
        std::int32_t& most = scratch[actor.core.index()];
        most = std::max(most, kernel_scratch_elems(tasks, actor.family));
    }
    for (std::uint32_t c = 0; c < core_count; ++c) memory.scratch.push_back(memory.cores[c].allocate(scratch[c]));
    return memory;
}

std::int32_t stage_address(const Tasks& tasks, const ActorPlan& plan, const MemoryPlan& memory, std::uint32_t input,
                           std::uint32_t stage, PositionSpan span) {
    const RowBuffer& buffer = plan.inputs[input];
    const TaskTensor& tensor = tasks.tensors[buffer.tensor.index()];
    std::int64_t address = memory.stage_address[memory.first_stage[input] + stage];
    for (std::uint32_t s = buffer.first_span; s < buffer.first_span + buffer.span_count; ++s) {
        const PositionSpan& held = plan.spans[s];
        if (span.first >= held.first && span.first + span.count <= held.first + held.count) {
            // As in the row buffer: distance from the span's first position, gaps included.
            const RowAddress rows{0, 0};
            return narrow<std::int32_t>(address + position_address(rows, tensor, span.first) -
                                        position_address(rows, tensor, held.first));
        }
        address += span_elems(tensor, held);
    }
    WEFT_CHECK(false, "positions {}..{} are not demanded", span.first, span.first + span.count);
    return 0;
}

}  // namespace weft
