#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "artifact/schedule.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "recurrence.h"

namespace weft {

/// A schedule before lowering, as constraints: computation of each actor as a whole, one transfer per run of positions that moves between
/// two cores, in rounds. Nothing is lowered or unrolled.
struct PlanGraph {
    EventGraph events;                  ///< instants: actors (event: first lane) and transfers
    std::vector<Picoseconds> core_work;     ///< per core and round: computation and own ends of messages, nobody in the way
    std::vector<Picoseconds> switch_work;   ///< per core and round: outgoing messages
    Picoseconds memory_service = 0;     ///< of all loads of inputs and stores of outputs in a round
    std::uint64_t transfers = 0;        ///< between cores
    std::uint64_t requests = 0;         ///< of the global memory
};

/// Edges: restart of each core (distance 1); READY from a producer to the transfer and from the transfer to the consumer, at the distance in rounds
/// that the schedule's levels give; FREE from the transfer's read back to the producer that overwrites, and from the consumer back to the next
/// arrival (a round later, or two where buffers exist twice); completion of direct transfers as the chip has it: permission before the source is read,
/// the sender done when its data are queued, the receiver when they have arrived and are written. The order of a slot's messages is not
/// known before lowering, so none is assumed; each core's share of them is in its weights. Memory requests have no order either: their
/// service is a bound of its own.
[[nodiscard]] PlanGraph plan_graph(const Tasks& tasks, const Schedule& schedule, const Target& target);

/// The diagnostic of a schedule: recurrence, work of the busiest core, memory service, busiest switch, and the largest of them as the
/// estimate of the interval; the span of the dependencies within one round apart. An estimate for people: what it leaves out is
/// listed, and weft-select does not take it.
struct PlanDiagnostic {
    Recurrence recurrence;
    EventGraph small_graph;             ///< where it has at most timing_graph_limit instants
    double interval_ns = 0;
    double busiest_core_ns = 0;
    std::uint32_t busiest_core = 0;
    double busiest_switch_ns = 0;
    std::uint32_t busiest_switch = 0;
    double memory_service_ns = 0;
    double round_span_ns = 0;
    std::uint64_t transfers = 0;
    std::uint64_t requests = 0;
};

[[nodiscard]] PlanDiagnostic diagnose_plan(const Tasks& tasks, const Schedule& schedule, const Target& target);

[[nodiscard]] nlohmann::ordered_json plan_json(const PlanDiagnostic& diagnostic);
[[nodiscard]] std::string plan_table(const PlanDiagnostic& diagnostic);

}  // namespace weft
