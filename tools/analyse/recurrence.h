#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cycle_ratio.h"
#include "event_graph.h"

namespace weft {

/// One edge of the witness, for people.
struct WitnessEdge {
    Instant from;
    Instant to;
    EdgeKind kind = EdgeKind::Order;
    std::int64_t delay_ps = 0;
    std::uint32_t distance = 0;   ///< iterations between the two
};

/// The certified period of a program or plan: no interval below numerator_ps / denominator can hold its dependencies.
struct Recurrence {
    std::string unavailable;               ///< why there is none, or nothing
    std::int64_t numerator_ps = 0;         ///< 0: nothing repeats
    std::int64_t denominator = 1;
    bool exact = false;                    ///< everything of the model but the memory's queue is in it
    bool sound = true;                     ///< false: the remarks name an assumption
    std::vector<std::string> remarks;
    std::uint64_t nodes = 0;
    std::uint64_t edges = 0;
    std::uint64_t recurrence_edges = 0;    ///< edges with distance
    std::uint32_t tests = 0;
    std::uint32_t sweeps = 0;
    std::vector<WitnessEdge> witness;      ///< the first `witness_limit` edges of the critical cycle
    std::uint64_t witness_edges = 0;       ///< of the whole cycle, like the sums
    std::int64_t witness_delay_ps = 0;
    std::uint64_t witness_distance = 0;
    std::vector<std::uint32_t> witness_cores;   ///< that the cycle passes, ascending

    [[nodiscard]] double interval_ns() const { return static_cast<double>(numerator_ps) / static_cast<double>(denominator) / 1000.0; }
};

inline constexpr std::size_t witness_limit = 128;

/// Solves the graph, and has the answer checked independently: a wrong one is a bug, not a result.
[[nodiscard]] Recurrence recurrence_of(const EventGraph& events);

/// `program` names the instruction rows of events; null for plans.
[[nodiscard]] nlohmann::ordered_json recurrence_json(const Recurrence& recurrence, const QueueProgram* program);

/// Nodes and edges of a graph of at most `timing_graph_limit` nodes; null otherwise.
inline constexpr std::size_t timing_graph_limit = 128;
[[nodiscard]] nlohmann::ordered_json timing_graph_json(const EventGraph& events, const QueueProgram* program);

}  // namespace weft
