#pragma once

#include <string>
#include <vector>

#include "artifact/schedule.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "packing/latency.h"

namespace weft {

inline constexpr std::uint32_t usual_candidates = 4;

struct ScheduleOptions {
    ScheduleMode mode = ScheduleMode::Throughput;
    /// Pipeline stages: inferences that are under way at once. 0: as many as the network has dependency levels.
    std::uint32_t stages = 0;
    /// Rounds of pipeline depth at most; 0 keeps one inference per round.
    std::uint32_t max_depth = 0xffffffffU;
    /// Latency mode only.
    LatencyOptions latency;
    /// Moves of the placement search per core.
    std::uint32_t placement_moves_per_core = 2000;
    std::uint32_t refinement_trials_per_core = 150;
    /// Throughput: at most so many. With more than usual there are other orders and partitions, most of them slower; the best gain measured was 1 %.
    std::uint32_t most_candidates = usual_candidates;
};

/// Candidate schedules, all verified against the target's capacity, candidate zero first. Refuses (Failure) with what the network
/// needs and what the chip has where it does not fit.
[[nodiscard]] std::vector<ScheduleColumns> make_schedules(const Tasks& tasks, const Target& target, const ScheduleOptions& options,
                                                          Hash128 tasks_hash);

}  // namespace weft
