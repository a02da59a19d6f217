#pragma once

#include <cstdint>
#include <vector>

#include "pim/kernel.h"
#include "pim/local_memory.h"
#include "pim/placement.h"

namespace weft {

/// Addresses of everything that an ActorPlan needs in the cores' local memories. With a woven exchange the buffers that messages touch
/// exist twice, half_distance apart, and their addresses here are those of the first half; who uses one adds the mark of the half it
/// means (core_code.h).
struct MemoryPlan {
    std::vector<LocalMemory> cores;
    std::vector<std::int32_t> half_distance;      // per core; 0 with a burst exchange
    std::vector<RowAddress> inputs;               // per input buffer
    std::vector<RowAddress> outputs;              // per output buffer
    std::vector<std::int32_t> scratch;            // per core
    std::vector<std::uint32_t> delays;            // per input buffer: rounds that its data wait
    std::vector<std::uint32_t> stages;            // per input buffer: delay buffers before it
    std::vector<std::uint32_t> first_stage;       // per input buffer: into stage_address
    std::vector<std::int32_t> stage_address;      // delay buffers: the input buffer's spans one after another
};

[[nodiscard]] MemoryPlan plan_memory(const Tasks& tasks, const ActorPlan& plan, std::uint32_t core_count);

/// Where the positions of `span` (within one span of the input buffer) stand in delay buffer `stage` (0 is the first).
[[nodiscard]] std::int32_t stage_address(const Tasks& tasks, const ActorPlan& plan, const MemoryPlan& memory, std::uint32_t input,
                                         std::uint32_t stage, PositionSpan span);

}  // namespace weft
