#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact/schedule.h"
#include "artifact/tasks.h"
#include "base/id.h"
#include "pim/tiles.h"

namespace weft {

/// What a placement of lanes means on the chip: the actors, the buffers they need, and what must be moved between them. Shared by
/// the scheduler (which prices it) and the lowering (which realises it).

/// Neighbouring lanes of one family on one core, run as one loop.
struct Actor {
    FamilyId family;
    CoreId core;
    std::uint32_t first_lane = 0;
    std::uint32_t lane_count = 0;
    std::uint32_t first_tile = 0;
    std::uint32_t tile_count = 0;
    std::uint32_t level = 0;
    std::uint32_t first_input = 0;      ///< into ActorPlan::actor_inputs; as many as the family has input slots
    std::uint32_t output = 0;           ///< into ActorPlan::outputs
};

/// Rows [first_row, first_row + row_count) of a tensor in one core's local memory, with a leading gap. Rows outside the tensor are
/// vertical padding: zero for ever.
struct RowBuffer {
    CoreId core;
    TensorId tensor;
    std::uint32_t level = 0;            ///< of the consumers (input buffers) or of the producer (output buffers)
    std::int32_t first_row = 0;
    std::int32_t row_count = 0;
    std::uint32_t first_span = 0;       ///< positions really demanded or produced: into ActorPlan::spans, ascending, disjoint
    std::uint32_t span_count = 0;
};

/// Positions [first, first + count) of a tensor go from an output buffer (none: global memory) into an input buffer. On one core it is
/// a local copy. `slot` is the slot within the round; after arrival the data wait `delays` rounds in delay buffers.
struct Transfer {
    std::uint32_t source = no_id;       ///< output buffer
    std::uint32_t target = 0;           ///< input buffer
    PositionSpan span;
    std::uint32_t slot = 0;
    std::uint32_t delays = 0;
};

/// How a schedule's slots and levels are to be read.
struct Rhythm {
    ExchangePolicy exchange = ExchangePolicy::Burst;
    std::uint32_t slots_per_round = 1;
    std::span<const std::uint32_t> family_level;
};

/// Delay buffers, and copies a round, for a value that waits `delays` rounds. A woven exchange has every one of them twice and so keeps in it what came
/// in two rounds; where `delays` is odd, the first hands on after one.
[[nodiscard]] inline std::uint32_t delay_stages(ExchangePolicy exchange, std::uint32_t delays) {
    return exchange == ExchangePolicy::Woven ? (delays + 1) / 2 : delays;
}

/// Rounds after its input in which what a level makes is complete in global memory: with a woven exchange it is stored a round later.
[[nodiscard]] inline std::uint32_t output_round(const Rhythm& rhythm, std::uint32_t level) {
    return level / rhythm.slots_per_round + (rhythm.exchange == ExchangePolicy::Woven ? 1 : 0);
}

struct ActorPlan {
    std::vector<Actor> actors;                  // by family, tiles ascending
    std::vector<std::uint32_t> actor_inputs;    // input buffers
    std::vector<RowBuffer> inputs;
    std::vector<RowBuffer> outputs;             // one per family and core
    std::vector<PositionSpan> spans;
    std::vector<Transfer> transfers;            // by target, then source
    std::uint32_t slots_per_round = 1;
    ExchangePolicy exchange = ExchangePolicy::Burst;
};

/// Rows [first, end) of a tensor or window, padding included; none where end <= first.
struct RowRange {
    std::int32_t first = 0;
    std::int32_t end = 0;

    [[nodiscard]] bool empty() const { return end <= first; }
    /// Both, and what lies between.
    void add(RowRange other);
};

/// Rows of an input that the strips of a matrix family read, counted from the first row of a tile's window.
[[nodiscard]] RowRange strip_rows(const Tasks& tasks, const Family& family);

/// Rows of the inputs that the windows of consecutive tiles of a matrix family read, padding included, counted from the input's top.
[[nodiscard]] RowRange window_rows(const Tasks& tasks, FamilyId family, std::uint32_t first_tile, std::uint32_t tile_count, RowRange rows);

/// Two runs of demanded positions of a tensor with at most so many between them travel together, the positions between included.
[[nodiscard]] std::uint32_t bridged_positions(const TaskTensor& tensor);
/// The most positions of a tensor that one message, or one load of a network input, moves.
[[nodiscard]] std::uint32_t message_positions(const TaskTensor& tensor, ExchangePolicy exchange);
[[nodiscard]] std::uint32_t load_positions(const TaskTensor& tensor);

struct TravelTime {
    std::uint32_t slot = 0;
    std::uint32_t delays = 0;
};
/// When what level `producer` makes reaches level `consumer`. Throws Failure(bad_input) where that is not late enough.
[[nodiscard]] TravelTime travel_time(ExchangePolicy exchange, std::uint32_t slots_per_round, std::uint32_t producer, std::uint32_t consumer);
/// The same for what is loaded from global memory.
[[nodiscard]] TravelTime load_time(ExchangePolicy exchange, std::uint32_t slots_per_round, std::uint32_t consumer);

/// Levels: each family `step` after its latest producer, at least `first`. Burst exchange: 0 and 1, woven: 1 and 2.
[[nodiscard]] std::vector<std::uint32_t> dependency_levels(const Tasks& tasks, std::uint32_t first = 0, std::uint32_t step = 1);

/// Throws Failure(bad_input) where a level is not late enough for a producer's.
[[nodiscard]] ActorPlan plan_actors(const Tasks& tasks, std::span<const std::uint16_t> lane_core, const Rhythm& rhythm);

/// Calls function(PositionSpan) for every store of what consecutive tiles make of a network output. A woven exchange puts stores among other things, so
/// in pieces like loads.
template <class Function>
void for_each_store(const Family& family, const TaskTensor& output, std::uint32_t first_tile, std::uint32_t tile_count, ExchangePolicy exchange,
                    const Function& function) {
    const std::uint32_t most = exchange == ExchangePolicy::Woven ? load_positions(output) : no_id;
    TileGrid(family, output).for_each_owned_span(first_tile, tile_count, [&](PositionSpan span) {
        for (std::uint32_t done = 0; done < span.count; done += std::min(most, span.count - done)) function({span.first + done, std::min(most, span.count - done)});
    });
}

/// Elements that a run of positions takes in local or global memory, gaps between included.
[[nodiscard]] std::uint32_t span_elems(const TaskTensor& tensor, PositionSpan span);

}  // namespace weft
