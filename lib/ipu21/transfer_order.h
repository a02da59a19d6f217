#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "ipu21/phase.h"

namespace weft::ipu21 {

/// CSR of hazards: who must follow a transfer, and how many a transfer must follow.
struct HazardGraph {
    std::vector<std::uint32_t> first;     // transfers + 1
    std::vector<std::uint32_t> after;
    std::vector<std::uint32_t> waiting;   // per transfer: predecessors
};

[[nodiscard]] inline HazardGraph hazard_graph(const Phase& phase, std::uint32_t tile_count) {
    HazardGraph graph;
    graph.first.assign(phase.transfers.size() + 1, 0);
    graph.waiting.assign(phase.transfers.size(), 0);
    for (const Hazard& hazard : hazards_of(phase, tile_count)) {   // sorted by `before`
        ++graph.first[hazard.before + 1];
        ++graph.waiting[hazard.after];
        graph.after.push_back(hazard.after);
    }
    for (std::size_t row = 0; row < phase.transfers.size(); ++row) graph.first[row + 1] += graph.first[row];
    return graph;
}

/// Priority of a ready transfer, larger first: pressure of its endpoints, fan-out, words, lower source, lower row.
struct Priority {
    std::uint64_t pressure = 0;
    std::uint32_t fan_out = 0;
    std::uint32_t words = 0;
    std::uint32_t source = 0;
    std::uint32_t row = 0;

    /// Whether this one comes after `other` (so that a standard heap yields the first one).
    bool operator<(const Priority& other) const {
        return std::tuple(pressure, fan_out, words, other.source, other.row) <
               std::tuple(other.pressure, other.fan_out, other.words, source, row);
    }
};

}  // namespace weft::ipu21
