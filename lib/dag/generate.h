#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "dag/dag.h"

namespace weft {

/// Graphs without costs, for tests and comparisons. Tasks are numbered along the edges.
struct DagTopology {
    std::uint32_t task_count = 0;
    std::vector<DagEdge> edges;
    /// Per task, or empty: tasks of a kind run the same program, so that they have the same mean time, and edges between the same two
    /// kinds carry as much.
    std::vector<std::uint32_t> kind;
};

/// Layers of random width; parameters with the meaning that the DAGGEN generator made usual.
struct LayeredOptions {
    std::uint32_t tasks = 100;
    std::uint32_t fat_percent = 40;          ///< mean width of a layer: tasks ^ fat
    std::uint32_t regularity_percent = 50;   ///< widths differ by up to 100 - regularity percent from the mean
    std::uint32_t density_percent = 50;      ///< parents of a task: at most this share of the layer before it, at least one
    std::uint32_t jump = 1;                  ///< edges skip fewer than this many layers
};

[[nodiscard]] DagTopology layered_topology(const LayeredOptions& options, Random& random);

/// Fast Fourier transform on `points` (a power of two): a binary tree of calls, then log2(points) layers of butterflies.
[[nodiscard]] DagTopology fourier_topology(std::uint32_t points);

/// Gaussian elimination of a matrix of `size` rows: in each step one pivot task, then one update task per later column.
[[nodiscard]] DagTopology elimination_topology(std::uint32_t size);

/// The shape of the Montage workflow of sky mosaics: projections, differences of neighbours, one fit, backgrounds, a final chain.
[[nodiscard]] DagTopology montage_topology(std::uint32_t images, Random& random);

/// The shape of the Epigenomics workflow: `lanes` splits into `chunks` chains of four, merged per lane, then over all lanes.
[[nodiscard]] DagTopology epigenomics_topology(std::uint32_t lanes, std::uint32_t chunks);

struct CostOptions {
    std::uint32_t processors = 8;
    std::uint32_t ccr_percent = 100;     ///< mean time of an edge / mean time of a task
    std::uint32_t beta_percent = 100;    ///< a task's times differ by up to half of this from its mean over processors
};

/// Mean times of tasks (kinds) uniform in (0, 20] microseconds, times on the processors uniform around them, times of edges uniform up to twice
/// their mean.
[[nodiscard]] DagColumns add_costs(const DagTopology& topology, const CostOptions& options, Random& random);

/// The same graph with its tasks numbered anew: task t becomes new_number[t].
[[nodiscard]] DagColumns renumber(const Dag& dag, std::span<const std::uint32_t> new_number);

}  // namespace weft
