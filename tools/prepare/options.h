#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "prepare/matrix.h"

namespace weft::preparation {

/// Some rows of a tile.
struct RowBand {
    std::uint32_t first_row = 0;
    std::uint32_t row_count = 0;
};

/// Output channels [first_channel, first_channel + channel_count) and the strips that compute them, in parts of consecutive
/// strips that each fit a core.
struct ColumnGroup {
    std::uint32_t first_channel = 0;
    std::uint32_t channel_count = 0;
    std::vector<MappedStrip> strips;
    std::vector<std::size_t> part_ends;
    std::vector<RowBand> bands;         ///< of a banded choice, per part: the tile's output rows that it makes; its targets count from the first
};

/// The rows of a band that no band before has, counted from its own first.
[[nodiscard]] RowBand first_rows(std::span<const RowBand> bands, std::size_t part);

/// What a family of an option needs: the work of all its tiles, and crossbars on each core that runs some of them.
struct PartNeed {
    std::int64_t work_ns = 0;
    std::uint32_t crossbars = 0;
};

/// One way to compute a layer, priced.
struct LayerOption {
    MappingChoice choice;
    std::vector<PartNeed> parts;
    std::int64_t work_ns = 0;           ///< all parts and what joining their results costs
    std::uint64_t crossbars = 0;        ///< one copy of all parts
};

/// Strips of a layer under a choice: cut by output channels where a strip is wider than a core or channels are computed apart
/// anyway, then by strips where a group does not fit a core.
[[nodiscard]] std::vector<ColumnGroup> column_groups(const MatrixProblem& problem, const MappingChoice& choice, const ChipFacts& chip, bool blocks);

/// The options of a layer that no other beats in both work and crossbars, least work first. Windows of several positions are
/// offered only where every part computes something of every output, or every part of a banded choice of its rows.
[[nodiscard]] std::vector<LayerOption> layer_options(const MatrixProblem& problem, std::uint32_t widest_tile, const ChipFacts& chip);

}  // namespace weft::preparation
