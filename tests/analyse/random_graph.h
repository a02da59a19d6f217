#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "analyse/cycle_ratio.h"

namespace weft::test {

/// Random graphs whose edges without distance go from lower to higher nodes. Draws from the raw engine only.
class RandomGraph {
public:
    explicit RandomGraph(std::uint64_t seed) : engine_(seed) {}

    std::uint32_t below(std::uint64_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }

    /// Few nodes, any edges; weights of both signs, distances 0 to 3; edges against the order may lack a distance where asked for.
    TimedGraph small(bool may_deadlock) {
        TimedGraph graph;
        graph.node_count = 1 + below(7);
        const std::uint32_t edges = below(std::uint64_t{graph.node_count} * 3 + 1);
        for (std::uint32_t edge = 0; edge < edges; ++edge) {
            const std::uint32_t from = below(graph.node_count);
            const std::uint32_t to = below(graph.node_count);
            const std::uint32_t least = from < to || (may_deadlock && below(5) == 0) ? 0 : 1;
            graph.add(from, to, static_cast<std::int64_t>(below(201)) - 60, least + below(3));
        }
        return graph;
    }

    /// `cores` chains of `length` events that repeat, with messages between them within an iteration.
    TimedGraph cores(std::uint32_t cores, std::uint32_t length, std::uint32_t messages) {
        TimedGraph graph;
        graph.node_count = cores * length;
        for (std::uint32_t core = 0; core < cores; ++core) {
            const std::uint32_t base = core * length;
            for (std::uint32_t at = 1; at < length; ++at) graph.add(base + at - 1, base + at, 1 + below(5000), 0);
            graph.add(base + length - 1, base, 1 + below(5000), 1);
        }
        for (std::uint32_t message = 0; message < messages; ++message) {
            const std::uint32_t early = below(length);
            const std::uint32_t late = early + 1 + below(std::min<std::uint32_t>(length - early, 40));
            if (late >= length) continue;
            graph.add(below(cores) * length + early, below(cores) * length + late, 1 + below(3000), 0);
        }
        return graph;
    }

    /// The same with as many tokens that return to an earlier iteration: a consumer's FREE sets its producer free for a later round.
    TimedGraph tokens(std::uint32_t cores_count, std::uint32_t length, std::uint32_t pairs, std::uint32_t delay = 200) {
        TimedGraph graph = cores(cores_count, length, 0);
        for (std::uint32_t pair = 0; pair < pairs; ++pair) {
            const std::uint32_t producer = below(cores_count) * length + below(length);
            const std::uint32_t consumer = below(cores_count) * length + below(length);
            const bool same_round = producer % length < consumer % length;
            graph.add(producer, consumer, 1 + below(delay), same_round ? 0 : 1);     // READY
            graph.add(consumer, producer, 1 + below(delay), (same_round ? 1 : 0) + 1 + below(2));   // FREE
        }
        return graph;
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace weft::test
