#pragma once

#include <cstdint>

#include "artifact/graph.h"
#include "artifact/hash.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "kernels/kernel_table.h"

namespace weft {

/// What mappings are chosen for: many inferences on their way, or the time of one.
enum class PrepareMode : std::uint8_t { throughput, latency };

struct PrepareOptions {
    PrepareMode mode = PrepareMode::throughput;
    bool allow_host = true;             ///< false: operators that the chip lacks are refused everywhere
    std::uint64_t lane_ns = 0;          ///< work of a lane; 0: total work / cores / lanes_per_core
    std::uint32_t lanes_per_core = 48;
    std::uint32_t widest_window = 16;   ///< rows and columns of output positions that one matrix may compute together
    std::uint32_t crossbar_percent = 0; ///< share of the chip's crossbars that weights and their copies may take; 0: what packs best
    std::uint32_t family_crossbars = 0; ///< most crossbars of a family (one strip may need more); 0: what packs best
    const KernelTable* kernels = nullptr;   ///< measured instruction times in nanoseconds; null: all from the model
    Hash128 graph_hash;                 ///< of the .graph file, recorded in the result
};

/// The work of `graph` on `target`: families, strips, lanes, fragments, demands and costs. Pure. Throws Failure(refused) with the
/// complete list of operators that can run neither on the chip nor at the host's two ends.
[[nodiscard]] TasksColumns prepare(const Graph& graph, const Target& target, const PrepareOptions& options);

/// What a .tasks amounts to.
struct TaskFigures {
    std::uint64_t families = 0;
    std::uint64_t strips = 0;
    std::uint64_t lanes = 0;
    std::uint64_t demands = 0;
    std::uint64_t crossbars = 0;            ///< one copy of every family's weights
    std::uint64_t crossbars_available = 0;
    std::uint64_t work_ns = 0;              ///< sum over lanes
    std::uint64_t mvmul_ns = 0;             ///< of which matrix work,
    std::uint64_t copy_ns = 0;              ///< gathers, moves and other copies,
    std::uint64_t other_ns = 0;             ///< additions, pointwise steps, pools and register loads
};
[[nodiscard]] TaskFigures task_figures(const Tasks& tasks, const Target& target);

}  // namespace weft
