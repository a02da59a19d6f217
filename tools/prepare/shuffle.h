#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "prepare/draft.h"

namespace weft::preparation {

/// A tensor [1, C, H, W] whose channels stand in another order: channel k of the pixels of `view`, an image, is its channel order[k].
struct Shuffle {
    View view;
    std::vector<std::uint32_t> order;
    View moved;                             ///< its pixels in its own order, from when somebody needs them
};

/// The leading evenly spaced ascending run of values.
struct EvenRun {
    std::uint32_t length = 1;
    std::uint32_t step = 1;
};
[[nodiscard]] EvenRun even_run(std::span<const std::uint32_t> values);

[[nodiscard]] std::vector<std::uint32_t> inverse_order(std::span<const std::uint32_t> order);

/// Evenly spaced runs of one pixel that a move into the tensor's own order copies.
[[nodiscard]] std::uint32_t moved_runs(std::span<const std::uint32_t> order);

/// Contiguous runs of one pixel that groups of `per_group` channels of the tensor stand in.
[[nodiscard]] std::uint32_t group_runs(std::span<const std::uint32_t> order, std::uint32_t per_group);

}  // namespace weft::preparation
