#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "prepare/options.h"

namespace weft::preparation {

/// What choose_options may spend.
struct Budget {
    std::uint64_t cores = 0;
    std::uint64_t crossbars_per_core = 0;
    std::uint32_t crossbar_percent = 80;    ///< share of all crossbars that weights with their replicas may take
    std::int64_t other_work_ns = 0;         ///< work of families that have no choice
};

/// One option per layer, for the least interval that the budget allows: at a trial interval T every part needs enough cores to
/// do its work in T and so many copies of its crossbars; among the choices whose copies fit, the one of least work is found by
/// an exact knapsack, and T is bisected on whether that work fits the cores. Where not even one copy of everything fits, the
/// fewest crossbars. `layers[i]` is never empty. Returns indices into each layer's options.
[[nodiscard]] std::vector<std::size_t> choose_options(const std::vector<std::vector<LayerOption>>& layers, const Budget& budget);

/// One option per layer for the shortest time of one inference, layer after layer: an option's copies share its work, as do its parts, and cost their
/// crossbars. The copies share the exchange of the layer's tensors (`exchange_ns` per layer) too, but its parts do not: each of them receives whole inputs. The
/// sum of the layers' times is minimised by a Lagrange multiplier on the crossbars. Where not even one copy of everything fits, the fewest crossbars.
[[nodiscard]] std::vector<std::size_t> choose_for_latency(const std::vector<std::vector<LayerOption>>& layers, std::span<const std::int64_t> exchange_ns, const Budget& budget);

/// Crossbars that an option takes in an interval of `interval_ns`, replicas included. A part that is large for a core wastes
/// what it leaves there, so it counts for more.
[[nodiscard]] std::uint64_t crossbars_at(const LayerOption& option, std::int64_t interval_ns, std::uint64_t crossbars_per_core);

}  // namespace weft::preparation
