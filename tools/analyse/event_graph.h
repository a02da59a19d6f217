#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cycle_ratio.h"
#include "events.h"

namespace weft {

/// Instants of the periodic event graph.
enum class InstantKind : std::uint8_t {
    CoreStart,     ///< a core's list begins
    SwitchStart,   ///< its switch is free of what the round before sent
    Requested,     ///< a send's request has reached the receiver
    Permitted,     ///< the permission has reached the sender
    Delivered,     ///< the data have arrived
    Served,        ///< a load or store has been answered
    Posted,        ///< a token has arrived
    Taken          ///< a wait is over
};

/// Why one instant comes after another.
enum class EdgeKind : std::uint8_t {
    Order,         ///< instructions of one core, in order
    Queue,         ///< the outgoing FIFO of one core
    Link,          ///< a message to another core
    Token,         ///< sync to wait
    Restart,       ///< a core's end to its next beginning, a switch's likewise
    Ready, Free, Transfer, Memory   ///< of plans; see plan_graph.h
};

struct Instant {
    InstantKind kind = InstantKind::CoreStart;
    std::uint32_t core = 0;
    std::uint32_t event = 0;   ///< of the QueueProgram; meaningless for starts
};

/// The program as constraints between instants of its rounds. Times in picoseconds.
struct EventGraph {
    std::string unavailable;            ///< why there is no graph, or nothing
    bool exact = true;                  ///< a lower bound otherwise: `remarks` say what is rounded down
    bool sound = true;                  ///< false: an assumption holds that the chip does not enforce
    std::vector<std::string> remarks;
    TimedGraph graph;
    std::vector<Instant> instants;      ///< by node
    std::vector<EdgeKind> kinds;        ///< by edge
};

/// One node per communication instant, loops written out; local work is in the weights. Edges against time: from the end of each core's list
/// and of its switch's messages to their next beginnings, distance one, so at most two per core. The global memory serves each request as
/// if it were alone: no order of the cores' requests is assumed. Typed refusals: programs whose cores repeat at different rates, waits for
/// less than nothing, more than `node_limit` instants.
[[nodiscard]] EventGraph event_graph(const QueueProgram& program, std::uint64_t node_limit = std::uint64_t{1} << 20U);

[[nodiscard]] const char* name_of(InstantKind kind);
[[nodiscard]] const char* name_of(EdgeKind kind);

}  // namespace weft
