#pragma once

#include <cstdint>
#include <vector>

#include "artifact/target.h"
#include "artifact/tasks.h"
#include "pim/placement.h"
#include "pim/timing.h"
#include "packing/followers.h"

namespace weft {

/// What packing needs to know of a family, from the .tasks, communication estimated from the shapes.
struct FamilyLoad {
    std::uint32_t crossbars = 0;
    std::int64_t work_ns = 0;            ///< all lanes, communication included
    std::int64_t band_ns = 0;            ///< paid once by every core that works on the family: rows shared with neighbours
    std::int64_t band_elems = 0;         ///< local memory of those rows
};

struct Workload {
    std::vector<FamilyLoad> families;
    std::vector<std::int64_t> lane_ns;   ///< per lane, communication included
    std::vector<std::int64_t> charge_ns; ///< per lane, what packing charges: a leader's lanes carry their followers' work as well
    std::vector<std::int64_t> lane_elems;   ///< per lane: local memory of its own share of inputs and output
    Followers followers;
    std::int64_t total_ns = 0;
    std::uint32_t core_count = 0;
    std::uint32_t core_crossbars = 0;
    std::int64_t core_elems = 0;         ///< local memory that packing may fill with buffers of one half; the rest is for scratch and constants
};

[[nodiscard]] Workload measure_workload(const Tasks& tasks, const Target& target, const PimTiming& timing);

/// Refuses (Failure) where no packing can exist: a family that no core holds, or more crossbars than the chip has.
void require_capacity(const Tasks& tasks, const Workload& workload);

/// Per family: local memory for constants on a core that runs lanes of it; at most, because equal constants of a core share a place.
[[nodiscard]] std::vector<std::int64_t> constant_elems(const Tasks& tasks, const PimTiming& timing);

/// Busy time of every core for one inference under a placement: lanes, and every transfer that the placement causes.
struct CoreLoads {
    std::vector<std::int64_t> busy_ns;
    /// busy_ns, and the time in which the core's outgoing queue still works on what was sent, as far as it is more than an eighth of the
    /// computation: the core's next rendezvous waits for the queue, and where messages follow each other no computation fits in between.
    std::vector<std::int64_t> occupied_ns;
    std::vector<std::int64_t> lane_ns;
    std::vector<std::uint32_t> crossbars;    ///< union of resident families
    std::int64_t transfer_flits_ps = 0;      ///< sum of flits * link latency
};

[[nodiscard]] CoreLoads measure_cores(const Tasks& tasks, const Target& target, const PimTiming& timing,
                                      std::span<const std::uint16_t> lane_core, const Rhythm& rhythm);

}  // namespace weft
