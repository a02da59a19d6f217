#pragma once

#include <optional>
#include <span>
#include <string>

#include "dag/list_schedule.h"
#include "packing/packing.h"

namespace weft {

struct LatencyOptions {
    ListAlgorithm algorithm = ListAlgorithm::Peft;
};

struct LatencyPlacement {
    LanePlacement placement;
    bool fits = false;                 ///< into local memory, exactly
    std::string strategy;              ///< algorithm and kind of reservation, e.g. "peft", "peft-reserved", "peft-tight"
    std::int64_t makespan_ns = 0;      ///< the list schedule's own estimate of one inference
    std::uint32_t task_count = 0;
    std::uint32_t edge_count = 0;
};

/// Lanes to cores for the shortest single inference. None where no reservation of the resident weights was found.
///
/// Tasks are runs of neighbouring lanes of a family, as many per family as it may have cores (plan_replicas). Their costs are the
/// lanes' work, loads and stores of the network's inputs and outputs, and what each message keeps the core busy at either end, at the
/// mean distance; edges are the flight alone, so that nothing is counted twice.
/// The optimistic table takes the mean flight over all pairs of cores: with the true distances its minimum is nearly always the core
/// itself or a neighbour, which has room for one successor and not for all, and the table would take the square of the cores to
/// fill. Finish times take the true distances.
///
/// Crossbars: as many copies of each family's weights as plan_replicas found worth their room, once left to the list scheduler (a family is
/// resident on a core from its first task there on, placed by load and communication), once reserved beforehand (largest weight first,
/// best fit; tasks then share and choose among the reserved cores only). The first can run out of room, the second cannot; the
/// shorter one is taken. Both keep the cores' local memory, by an estimate mostly on the safe side: with less and less of it where the placement does not
/// really fit (`constants`: of constant_elems; empty: none); where neither can ("-tight"), without.
[[nodiscard]] std::optional<LatencyPlacement> find_latency_placement(const Tasks& tasks, const Target& target, const PimTiming& timing,
                                                                     const LatencyOptions& options, std::span<const std::int64_t> constants);

/// The same; refuses (Failure) where there is none.
[[nodiscard]] LatencyPlacement place_for_latency(const Tasks& tasks, const Target& target, const PimTiming& timing, const LatencyOptions& options,
                                                 std::span<const std::int64_t> constants = {});

}  // namespace weft
