#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// Constraints t(to, k) >= t(from, k - distance) + weight between nodes that repeat for ever. Parallel edges and self-loops are
/// allowed. Columns of equal length.
struct TimedGraph {
    std::uint32_t node_count = 0;
    std::vector<std::uint32_t> from;
    std::vector<std::uint32_t> to;
    std::vector<std::int64_t> weight;
    std::vector<std::uint32_t> distance;

    [[nodiscard]] std::size_t edge_count() const { return from.size(); }
    void add(std::uint32_t source, std::uint32_t target, std::int64_t delay, std::uint32_t iterations) {
        from.push_back(source);
        to.push_back(target);
        weight.push_back(delay);
        distance.push_back(iterations);
    }
};

enum class RatioStatus : std::uint8_t {
    Found,
    NoCycle,             ///< nothing repeats: any interval will do
    ZeroDistanceCycle,   ///< a cycle that waits for itself within one iteration: deadlock; `cycle` names it
    Overflow             ///< weights or their sums pass 63 bits
};

/// The smallest interval at which all constraints can hold: the largest weight sum per distance sum of any cycle.
struct CycleRatio {
    RatioStatus status = RatioStatus::NoCycle;
    std::int64_t numerator = 0;             ///< in lowest terms, denominator > 0
    std::int64_t denominator = 1;
    std::vector<std::uint32_t> cycle;       ///< edges, each beginning where the one before ends: a cycle of just this ratio
    /// By node: potential(to) >= potential(from) + denominator * weight - numerator * distance on every edge, which proves that no cycle has a
    /// larger ratio. Times of a periodic schedule, in parts of 1 / denominator.
    std::vector<std::int64_t> potential;
    std::uint32_t tests = 0;                ///< intervals tried
    std::uint32_t sweeps = 0;               ///< passes over the edges
};

/// Exact. Method: Newton's iteration over the ratios of cycles found (Dinkelbach); each interval is tested by longest paths that are
/// relaxed in topological order of the edges without distance, so that a test takes as many passes as a path has edges against that
/// order, and looks for a cycle among the predecessors after each pass. Time O(tests * passes * edges), memory linear.
[[nodiscard]] CycleRatio maximum_cycle_ratio(const TimedGraph& graph);

}  // namespace weft
