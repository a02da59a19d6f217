#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dag/dag.h"
#include "dag/ranks.h"

namespace weft {

enum class ListAlgorithm : std::uint8_t {
    Peft,        ///< optimistic cost table: Arabnejad and Barbosa, IEEE TPDS 25(3), 2014
    Heft,        ///< upward rank, earliest finish: Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002
    LookAhead,   ///< HEFT's order; the processor on which the latest of the children could finish first: Bittencourt et al., PDP 2010
    Cpop,        ///< critical path on one processor: Topcuoglu, Hariri and Wu, 2002
};

/// A weight that is resident on a processor.
struct Residence {
    std::uint32_t weight = 0;
    std::uint32_t processor = 0;
    bool operator==(const Residence&) const = default;
};

struct ListOptions {
    ListAlgorithm algorithm = ListAlgorithm::Peft;
    OptimisticLinks optimistic_links = OptimisticLinks::Mean;
    /// Weights resident from the start. They take capacity whether or not a task uses them.
    std::span<const Residence> reserved;
    /// Weights that have a reservation run only where they are reserved; false: there, and wherever capacity is left.
    bool only_reserved = false;
};

struct DagSchedule {
    std::vector<std::uint32_t> processor;    ///< per task; no_id from the failed task on
    std::vector<std::int64_t> start_ns;      ///< per task
    std::vector<std::int64_t> finish_ns;     ///< per task
    std::vector<std::uint32_t> order;        ///< tasks in the order in which they were placed
    std::int64_t makespan_ns = 0;
    std::vector<Residence> residents;        ///< in the order in which weights became resident, reservations first
    std::uint32_t failed_task = no_id;       ///< the first task that no processor had capacity for; no_id: all are placed
};

/// List scheduling with insertion: the ready task of highest priority goes, into the earliest idle time that is long enough, to the
/// processor with the least objective among those that hold its weight or have capacity for it. Priorities and objectives:
///     Peft        rank_oct,        finish + OCT(task, processor)
///     Heft        rank_u,          finish
///     LookAhead   rank_u,          max over children of the earliest finish each could have by itself, from what is placed so far
///     Cpop        rank_u + rank_d, finish; tasks of the critical path go to the processor on which the path costs least
/// Ties: of equal priorities the higher rank_u, then the lower task number; of equal objectives the earlier finish, then the lower
/// processor number. So two numberings of one graph give the same schedule unless two ready tasks have both ranks equal.
/// Peft, Heft, Cpop: O(edges + tasks * processors) with one distance between all processors, O(edges * processors) otherwise, plus the
/// search for idle times. LookAhead: O(edges * processors^2).
[[nodiscard]] DagSchedule list_schedule(const Dag& dag, const ListOptions& options = {});

}  // namespace weft
