#pragma once

#include <cstdint>
#include <vector>

#include "artifact/target.h"
#include "lower/pim/emit.h"
#include "lower/pim/weave.h"
#include "pim/core_code.h"

namespace weft::lower_pim {

/// A message or a load from global memory, or a store, put among a core's computation.
struct Insertion {
    WeavePoint point;
    std::uint32_t transfer = no_id;
    std::uint32_t store = no_id;             // into the slot's stores
};

/// Positions of a network output that go from an output buffer to global memory.
struct StoreSpan {
    std::uint32_t output = 0;
    PositionSpan span;
};

/// What a core does in one slot of the round.
struct SlotWork {
    std::vector<std::uint32_t> delayed;      // input buffers whose delay buffers hand on at the slot's start
    std::vector<std::uint32_t> local;        // transfers within the core, at the slot's start
    std::vector<std::uint32_t> loads;        // transfers from global memory
    std::vector<std::uint32_t> actors;
    std::vector<StoreSpan> stores;           // woven exchange: of what the round before made
    OperationList operations;                // the actors' code, and without a woven exchange their stores to global memory
    std::vector<std::int64_t> trip_ns;       // per loop of `operations`
    std::vector<std::int64_t> op_ns;         // per operation, loop after loop
    std::uint32_t first_loading_loop = 0;    // first loop of an actor that reads a network input
    std::vector<Insertion> insertions;       // in the order of execution
};

/// Everything that the code of the chip consists of, before messages and loads are put among the computation.
struct ChipWork {
    std::uint32_t slots_per_round = 1;
    std::vector<SlotWork> slots;             // core-major
    std::vector<std::vector<ArrayGroup>> groups;   // per core

    [[nodiscard]] SlotWork& at(CoreId core, std::uint32_t slot) { return slots[core.index() * slots_per_round + slot]; }
    [[nodiscard]] const SlotWork& at(CoreId core, std::uint32_t slot) const { return slots[core.index() * slots_per_round + slot]; }
};

[[nodiscard]] ChipWork collect_work(const Tasks& tasks, const ActorPlan& plan, const GlobalPlan& global, const Target& target,
                                    const PimTiming& timing, MemoryPlan& memory);

/// Fill in the insertions: with a burst exchange all messages of a slot stand at its start, with a woven one among the computation.
/// Loads are spread over the cores' time, because all at once would queue at the global memory.
void place_insertions(const Tasks& tasks, const ActorPlan& plan, const Target& target, const PimTiming& timing,
                      const MemoryPlan& memory, ChipWork& work);

/// Elements of a transfer.
[[nodiscard]] std::uint32_t transfer_elems(const Tasks& tasks, const ActorPlan& plan, const Transfer& transfer);

}  // namespace weft::lower_pim
