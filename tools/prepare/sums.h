#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "prepare/cost.h"
#include "prepare/draft.h"

namespace weft::preparation {

/// Of SumTail::row_count: to the end of the tile.
inline constexpr std::uint32_t all_rows = std::numeric_limits<std::uint32_t>::max();

/// What happens to the sums of a tile's strips: outputs of rows [first_row, first_row + row_count) get a bias, and everything is clamped at zero.
struct SumTail {
    bool bias = false;
    bool clamp = false;
    std::uint32_t first_row = 0;
    std::uint32_t row_count = all_rows;
    bool in_matrix = false;         ///< every bias has to stand in a matrix: strips leave a row for it

    [[nodiscard]] bool has_bias(std::uint32_t row) const { return bias && row >= first_row && row - first_row < row_count; }
};

/// How it is done, and what the tile costs.
struct SumPlan {
    std::vector<char> bias_rows;    ///< per strip: its matrix has a row for the bias
    bool clamp = false;             ///< by the matrix instructions; a step otherwise, which is in the cost too
    TileCost cost;
};

/// A bias row is free where the strip is gathered anyway, and costs the copy of the strip's inputs elsewhere; without one the first results of
/// an output are added to the bias instead of being written, or copied, to their place. A tile of tile_rows x tile_columns outputs of
/// `channels` channels; the strips' targets count from its first.
[[nodiscard]] SumPlan plan_sums(std::span<const MappedStrip> strips, std::uint32_t tile_rows, std::uint32_t tile_columns, std::uint32_t channels,
                                const SumTail& tail, const ChipFacts& chip);

/// Gives the strips their bias rows. `columns`: per channel the place of its bias in `bias`, one value per channel. `blocks`: also the rows' contents.
void add_bias_rows(std::span<MappedStrip> strips, const SumPlan& plan, std::uint32_t tile_columns, std::uint32_t channels, const SumTail& tail,
                   const TaskConstant& bias, std::span<const std::uint32_t> columns, bool blocks);

}  // namespace weft::preparation
