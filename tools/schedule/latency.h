#pragma once

#include <string>

#include "dag/list_schedule.h"
#include "schedule/packing.h"

namespace weft {

struct LatencyOptions {
    ListAlgorithm algorithm = ListAlgorithm::Peft;
};

struct LatencyPlacement {
    LanePlacement placement;
    std::string strategy;              ///< algorithm and the reservation that it needed, e.g. "peft", "peft-largest-first"
    std::int64_t makespan_ns = 0;      ///< the list schedule's own estimate of one inference
    std::uint32_t task_count = 0;
    std::uint32_t edge_count = 0;
};

/// Lanes to cores for the shortest single inference. Refuses (Failure) where no reservation of the resident weights was found.
///
/// Tasks are runs of neighbouring lanes of a family, as many per family as it may have cores (plan_replicas). Their costs are the
/// lanes' work, loads and stores of the network's inputs and outputs, and what each message keeps the core busy at either end, at the
/// mean distance; edges are the flight alone, so that nothing is counted twice.
/// The optimistic table takes the mean flight over all pairs of cores: with the true distances its minimum is nearly always the core
/// itself or a neighbour, which has room for one successor and not for all, and the table would take the square of the cores to
/// fill. Finish times take the true distances.
///
/// Crossbars: a family is resident on a core from its first task there on, on no more cores than planned. Where tasks run out of
/// cores with room: fewer copies (up to a quarter fewer at a time); then the weights largest first, one copy reserved before anything
/// is placed; then those reservations only, shared by all tasks of a family.
[[nodiscard]] LatencyPlacement place_for_latency(const Tasks& tasks, const Target& target, const PimTiming& timing,
                                                 const LatencyOptions& options);

}  // namespace weft
