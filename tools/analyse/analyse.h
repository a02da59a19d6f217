#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/hash.h"
#include "artifact/program.h"
#include "artifact/target.h"
#include "artifact/timing.h"
#include "accounting.h"
#include "queue.h"
#include "recurrence.h"
#include "unit_bound.h"

namespace weft {

struct AnalyseOptions {
    QueueBudget budget;
    unsigned liveness_generations = 3;
    QueueModel model;
    bool recurrence = true;
    bool accounting = false;   ///< who waits for whom: one more execution
};

/// What the cores together spend their busy time on, picoseconds a round.
struct WorkShares {
    std::array<Picoseconds, local_unit_count> unit{};
    Picoseconds communication = 0;     ///< messages, tokens and global requests as if nobody kept them waiting
};

/// A .timing and what it does not hold.
struct Analysis {
    TimingColumns timing;
    bool exact = false;                ///< both intervals are exact periods, not averages
    double interval_ns = 0;            ///< before rounding to whole nanoseconds
    std::uint32_t slowest_core = 0;    ///< of the interval
    std::uint32_t busiest_core = 0;
    std::uint32_t busiest_switch = 0;
    QueueProgram queue;                ///< what was executed
    WorkShares shares;
    Recurrence recurrence;
    EventGraph small_graph;            ///< where it has at most timing_graph_limit instants
    Accounting accounting;             ///< where asked for
    UnitBound unit;                    ///< where cores overlap their instructions
    bool overlapping = false;          ///< a reorder buffer above one: a core's sums are work, not time
    std::vector<std::string> notes;    ///< what a reader should know, for people
};

/// Static timing of `program` on `target`: liveness, queue execution under both tie orders, latency of one pass, accounting
/// per core, bounds. Programs that cannot be timed give a typed reason, not an error. `file` is for messages.
///
/// Method: with a reorder buffer of one the event graph of docs/pim-timing.md executed with time-stamped tokens (queue.h); with larger ones
/// every instruction of as many rounds as it takes (reorder.h).
[[nodiscard]] Analysis analyse(const Program& program, const Target& target, Hash128 program_hash, const AnalyseOptions& options,
                               std::string_view file);

}  // namespace weft
