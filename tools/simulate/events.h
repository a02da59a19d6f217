#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "simulate/chip_times.h"

namespace weft {

/// What happens at one instant happens in this order: what ends before the clock's edge is seen; messages; the edge itself
/// (results become visible, units start), array groups behind the other units; the front ends look at the new state; what runs
/// after the edge; and last the global memory takes what has reached it.
enum class EventRank : std::uint8_t { before_edge, message, edge, group, front_end, after_edge, memory };

enum class EventKind : std::uint8_t {
    step_ends,         // a unit's timed wait is over; argument: unit
    message_arrives,   // the message in service of a core's switch
    switch_free,       // after a "sender ready" was delivered
    memory_answers,
    unit_ready,        // argument: unit
    retires,           // argument: reorder buffer sequence number
    starts,            // the instruction that was dispatched
    group_starts,      // argument: array group
    group_reads,       // argument: array group
    front_end,
    memory_request     // reaches the global memory
};

struct Event {
    Picoseconds time = 0;
    EventRank rank = EventRank::edge;
    EventKind kind = EventKind::front_end;
    std::uint32_t core = 0;
    std::uint64_t argument = 0;
};

/// Events by time, rank, core (in the chosen order) and age.
class EventQueue {
public:
    explicit EventQueue(bool reverse) : reverse_(reverse) {}

    void push(const Event& event) { heap_.push({event, reverse_ ? ~event.core : event.core, ++pushed_}); }
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] const Event& top() const { return heap_.top().event; }
    void pop() { heap_.pop(); }

private:
    struct Entry {
        Event event;
        std::uint32_t order;
        std::uint64_t age;
        bool operator<(const Entry& other) const {   // the heap's top is the largest
            if (event.time != other.event.time) return event.time > other.event.time;
            if (event.rank != other.event.rank) return event.rank > other.event.rank;
            if (order != other.order) return order > other.order;
            return age > other.age;
        }
    };

    bool reverse_;
    std::uint64_t pushed_ = 0;
    std::priority_queue<Entry> heap_;
};

}  // namespace weft
