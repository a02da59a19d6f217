#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"

namespace weft::lower_pim {

/// A point between two operations: before operation `op` of repetition `trip` of loop `loop` (loop count: the end).
struct WeavePoint {
    std::uint32_t loop = 0;
    std::uint32_t trip = 0;
    std::uint32_t op = 0;
    auto operator<=>(const WeavePoint&) const = default;
};

/// A message between two cores as the weave sees it, or a load from global memory; all times in nanoseconds.
struct WovenMessage {
    CoreId from;
    CoreId to;                       // of a load: no core, and the loading one is `from`
    std::int64_t request_ns = 0;     // one flit from sender to receiver; from the core to the memory
    std::int64_t permission_ns = 0;  // one flit back
    std::int64_t read_ns = 0;        // local read at the sender, issue and retirement included; the memory's service time
    std::int64_t data_ns = 0;        // in the sender's outgoing queue
    std::int64_t write_ns = 0;       // local write at the receiver, issue and retirement included
    // Where buffers exist once, the message stands before the first point at which a core's computation touches the data, at both ends
    // (early), or behind the last one, at both ends (late): what one round makes is used in the next either way.
    WeavePoint send_first = {no_id, 0};
    WeavePoint send_last = {0, 0};
    WeavePoint recv_first = {no_id, 0};      // unused in a load, whose only end is the sending one
    WeavePoint recv_last = {0, 0};
    bool may_be_late = false;

    [[nodiscard]] bool is_load() const { return to.is_none(); }
};

/// A loop of a core's computation. Its operations' times add up to trip_ns; none: messages stand between repetitions only.
struct WovenLoop {
    std::uint32_t trips = 1;
    std::int64_t trip_ns = 0;
    std::uint32_t first_op = 0;      // into the core's op_ns
    std::uint32_t op_count = 0;
};

/// A core's round: work that stands at its start, then loops among which messages are put.
struct WovenCore {
    std::int64_t fixed_ns = 0;
    std::vector<WovenLoop> loops;
    std::vector<std::int64_t> op_ns;

    [[nodiscard]] std::span<const std::int64_t> ops(const WovenLoop& loop) const { return std::span(op_ns).subspan(loop.first_op, loop.op_count); }
};

/// A wish for every message: a time in the round, and on which side of its data's use it stands.
struct Wishes {
    std::vector<std::int64_t> start_ns;
    std::vector<char> late;
};

struct Weave {
    std::vector<std::uint32_t> order;        // messages in the chip-wide order
    std::vector<WeavePoint> send_point;      // per message, at the sender
    std::vector<WeavePoint> recv_point;      // per message, at the receiver
    std::int64_t interval_ns = 0;            // as played out
};

struct WeaveOptions {
    unsigned circular_steps = 12;            // attempts with places that do not conflict
    unsigned variations = 120;              // attempts with other orders of placing
    unsigned iterations = 8;                 // attempts that start from how the one before was played out
    unsigned rounds = 6;                     // played out per evaluation
};

/// Put messages among the computation so that rounds follow each other fast. `start_ns` is where each message would like to stand in
/// the first attempt (times within one round); places without conflicts (circular.h) are tried next, and then other orders of finding
/// such places. Then, repeatedly: play the rounds out, take the time of each rendezvous modulo the interval, and weave anew with messages at
/// those times (not where buffers exist once: there the order must keep to the sides). The best attempt is kept. Every core follows the projection of one order, so
/// there is no deadlock. Method: docs/lowering.md.
[[nodiscard]] Weave weave_messages(std::span<const WovenCore> cores, std::span<const WovenMessage> messages,
                                   std::span<const std::int64_t> start_ns, const WeaveOptions& options);

}  // namespace weft::lower_pim
