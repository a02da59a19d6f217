#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"

namespace weft {

using DagTaskId = Id<struct DagTaskTag>;        // task of a Dag
using ProcessorId = Id<struct ProcessorTag>;    // processor of a Dag

/// A directed acyclic graph of tasks on processors that need not be alike. Columns; all times are whole nanoseconds, none negative.
/// Data of an edge from a task on p to a task on q take
///     p == q: 0        otherwise: edge_ns + ceil(edge_flits * link_ps[p][q] / 1000).
/// With empty edge_flits and link_ps every pair of processors is the same distance apart, as in the published examples.
///
/// Tasks may need resident data: a task with a weight runs only where that weight is resident, and a processor keeps every weight that
/// it ever took. Tasks of one weight share it. Empty columns: none needs anything. Tasks may also need space of their own, which they keep
/// for ever: the task_space of all tasks of a processor is at most its space.
struct Dag {
    std::uint32_t task_count = 0;
    std::uint32_t processor_count = 0;
    std::span<const std::uint32_t> successor_first;   ///< CSR, task_count + 1
    std::span<const std::uint32_t> successors;        ///< tasks; no edge twice
    std::span<const std::int64_t> edge_ns;            ///< per edge
    std::span<const std::uint32_t> edge_flits;        ///< per edge, or empty
    std::span<const std::uint32_t> link_ps;           ///< [source][destination], or empty
    std::span<const std::int64_t> cost_ns;            ///< [task][processor]
    std::span<const std::uint32_t> task_weight;       ///< per task: row of weight_size, or no_id; or empty
    std::span<const std::uint32_t> weight_size;       ///< in units of capacity
    std::span<const std::uint32_t> weight_limit;      ///< per weight: on how many processors it may be resident; or empty: on all
    std::span<const std::uint32_t> capacity;          ///< per processor
    std::span<const std::int64_t> task_space;         ///< per task; or empty
    std::span<const std::int64_t> space;              ///< per processor; or empty

    [[nodiscard]] std::span<const std::int64_t> costs(std::uint32_t task) const {
        return cost_ns.subspan(std::size_t{task} * processor_count, processor_count);
    }
    [[nodiscard]] std::uint32_t weight_of(std::uint32_t task) const { return task_weight.empty() ? no_id : task_weight[task]; }
    /// Between two different processors.
    [[nodiscard]] std::int64_t communication_ns(std::size_t edge, std::uint32_t from, std::uint32_t to) const {
        if (from == to) return 0;
        if (link_ps.empty()) return edge_ns[edge];
        return edge_ns[edge] + flight_ns(edge_flits[edge], link_ps[std::size_t{from} * processor_count + to]);
    }
    [[nodiscard]] static std::int64_t flight_ns(std::uint32_t flits, std::uint32_t ps_per_flit) {
        return static_cast<std::int64_t>((std::uint64_t{flits} * ps_per_flit + 999U) / 1000U);
    }
};

/// Owner of a Dag's columns.
struct DagColumns {
    std::uint32_t task_count = 0;
    std::uint32_t processor_count = 0;
    std::vector<std::uint32_t> successor_first;
    std::vector<std::uint32_t> successors;
    std::vector<std::int64_t> edge_ns;
    std::vector<std::uint32_t> edge_flits;
    std::vector<std::uint32_t> link_ps;
    std::vector<std::int64_t> cost_ns;
    std::vector<std::uint32_t> task_weight;
    std::vector<std::uint32_t> weight_size;
    std::vector<std::uint32_t> weight_limit;
    std::vector<std::uint32_t> capacity;
    std::vector<std::int64_t> task_space;
    std::vector<std::int64_t> space;
};

[[nodiscard]] Dag view(const DagColumns& columns);

struct DagEdge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::int64_t ns = 0;
    std::uint32_t flits = 0;
};

/// Sort edges by (from, to) into the successor columns; edges between one pair of tasks become one, their times and flits added.
/// edge_flits is filled only where an edge has flits.
void set_edges(DagColumns& columns, std::vector<DagEdge> edges);

/// The mirror of the successor columns: edges into each task, by ascending predecessor.
struct Predecessors {
    std::vector<std::uint32_t> first;   ///< CSR, task_count + 1
    std::vector<std::uint32_t> task;
    std::vector<std::uint32_t> edge;    ///< row of edge_ns
};

[[nodiscard]] Predecessors predecessors_of(const Dag& dag);

/// Tasks, each after all its predecessors; of several possible ones the lowest number first.
[[nodiscard]] std::vector<std::uint32_t> topological_order(const Dag& dag);

/// Mean of communication_ns over all ordered pairs of different processors, rounded to the nearest nanosecond; per edge.
[[nodiscard]] std::vector<std::int64_t> mean_communication(const Dag& dag);

/// Checks shapes, ranges, the absence of cycles (invariants of weft: Failure(bug)), and that no sum of times in any of the algorithms
/// can pass 64 bits (Failure(system)).
void check_dag(const Dag& dag);

}  // namespace weft
