#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "artifact/timing.h"
#include "pim/costs.h"

namespace weft {

enum class EventKind : std::uint8_t { Send, Recv, Load, Store, Sync, Wait };

/// One communication instruction or global request, and the local work before it. Three durations, by kind:
///   Send   a local read           b data in the own switch       c request in the own switch
///   Recv   a local write          b permission in the own switch
///   Load   a local write          b request in the own switch    c service at the memory
///   Store  a local read           b data in the own switch       c service at the memory
///   Sync                          b token in the own switch
struct QueueEvent {
    Picoseconds lead = 0;          ///< local work since the previous event of the list
    EventKind kind = EventKind::Wait;
    bool late = false;             ///< noticed one clock late where the end falls on an edge
    std::uint32_t other = 0;       ///< Send, Recv: core; Sync, Wait: token slot
    std::int32_t count = 0;        ///< Wait
    std::uint32_t row = 0;         ///< of the program's instructions
    Picoseconds a = 0;
    Picoseconds b = 0;
    Picoseconds c = 0;
};

/// Effects that can be left out, to see what they contribute.
struct QueueModel {
    bool network_queues = true;      ///< messages of a core wait for one another in its switch
    bool issue = true;               ///< scalars, issue and retirement take time; sync keeps the period that its instruction defines
    bool memory_controller = true;   ///< requests wait for one another at the global memory
    bool local_work = true;          ///< what touches no other core takes time; false for bounds of cores that overlap it
    bool operator==(const QueueModel&) const = default;
};

/// `trip_count` repetitions of events [first, last), each followed by `tail` of local work; `lead` once before.
struct QueueSegment {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t trip_count = 1;
    Picoseconds lead = 0;
    Picoseconds tail = 0;
};

/// One pass over a core's list: segments [begin, end), then `tail` of local work.
struct EventList {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    Picoseconds tail = 0;
};

/// The first pass differs from the others where a core computes before its first setbw.
struct CoreLists {
    EventList first_pass;
    EventList any_pass;
};

/// A counter of one core. With a single producer its tokens arrive in the order in which they are posted.
struct TokenSlot {
    std::uint32_t core = 0;
    std::uint32_t producer = 0xffffffffU;
    bool many_producers = false;
};

/// What local work is spent on.
enum class LocalUnit : std::uint8_t { Matrix, Vector, Copy, Scalar };
inline constexpr std::size_t local_unit_count = 4;

/// What one pass over a core's list costs without anybody in the way.
struct CoreAccount {
    Picoseconds local = 0;
    std::array<Picoseconds, local_unit_count> unit{};   ///< local, by unit; copies with fills, scalars with setbw
    Picoseconds communication = 0;
    Picoseconds switch_occupancy = 0;
    Picoseconds memory_service = 0;
    std::uint64_t instructions = 0;
    std::uint64_t messages = 0;
    std::uint64_t events = 0;
    bool has_program = false;
    bool computes_before_setbw = false;   ///< in the first pass: its memory traffic costs nothing
    bool ends_with_scalar = false;   ///< the simulator's latency mode then never ends
};

/// A program as its communication: local instructions are collapsed into the time between events, loops without
/// communication into one number.
struct QueueProgram {
    Availability availability = Availability::Available;
    std::string reason;
    Picoseconds period = 0;
    QueueModel model;
    std::vector<QueueEvent> events;
    std::vector<QueueSegment> segments;
    std::vector<CoreLists> lists;                         ///< by core
    std::vector<TokenSlot> slots;
    std::vector<CoreAccount> accounts;                    ///< by core, of any pass but the first
    Picoseconds serial_time = 0;                          ///< sum of everything: no pass can take longer
};

/// Collapse `program`. Time: the rows of all runs; repetitions cost nothing. What the chip cannot execute gives availability and
/// reason instead. Throws Failure(bad_input) where the program has more cores than `costs`' chip.
[[nodiscard]] QueueProgram collapse(const Program& program, const PimCosts& costs, std::string_view file, QueueModel model = {});

}  // namespace weft
