#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "artifact/tasks.h"
#include "base/id.h"
#include "base/checked.h"

namespace weft {

/// A run of positions of a tensor.
struct PositionSpan {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    bool operator==(const PositionSpan&) const = default;
};

/// Output positions [first_row, end_row) x [first_column, end_column).
struct TileRectangle {
    std::uint32_t first_row = 0;
    std::uint32_t end_row = 0;
    std::uint32_t first_column = 0;
    std::uint32_t end_column = 0;
};

[[nodiscard]] inline FamilyBand band_of(const Tasks& tasks, std::size_t family) {
    return tasks.bands.empty() ? FamilyBand{} : tasks.bands[family];
}

[[nodiscard]] inline FamilyBias bias_of(const Tasks& tasks, std::size_t family) {
    return tasks.biases.empty() ? FamilyBias{no_id, 0, 0, 0} : tasks.biases[family];
}

/// Input row under the first row of the window that computes output row `y` (the first of a tile), counted from the input's top, padding
/// negative. The tiles of a band are as far apart as the whole tiles.
[[nodiscard]] inline std::int32_t window_origin_row(const Family& family, const FamilyBand& band, std::uint32_t y) {
    const std::uint32_t row = band.period != 0 ? y / family.tile_rows * band.period : y;
    return static_cast<std::int32_t>(row * family.stride_rows) - static_cast<std::int32_t>(family.pad_top);
}

/// The row of a band's tensor that belongs to row `y` of the whole; none where another band has it.
[[nodiscard]] inline std::optional<std::uint32_t> band_row(const Family& family, const FamilyBand& band, std::uint32_t y) {
    const std::uint32_t row = y % band.period;
    if (row < band.first_row || row >= band.first_row + family.tile_rows) return std::nullopt;
    return y / band.period * family.tile_rows + row - band.first_row;
}

/// The tiles of a family, numbered row-major. A tile *owns* a cell of the grid, cut at the tensor's end; it *computes* tile_rows x
/// tile_columns positions: the last tile of a row or column lies inside the tensor and computes some positions of its neighbours a
/// second time, to the same values.
class TileGrid {
public:
    TileGrid(const Family& family, const TaskTensor& output)
        : tile_rows_(family.tile_rows), tile_columns_(family.tile_columns), rows_(output.rows), columns_(output.columns),
          tiles_per_row_(ceil_divide(output.columns, family.tile_columns)) {}

    [[nodiscard]] std::uint64_t tile_count() const { return std::uint64_t{ceil_divide(rows_, tile_rows_)} * tiles_per_row_; }
    [[nodiscard]] std::uint32_t tiles_per_row() const { return tiles_per_row_; }

    /// First row and column of what a tile computes, by its row and column in the grid.
    [[nodiscard]] std::uint32_t row_origin(std::uint32_t tile_row) const { return std::min(tile_row * tile_rows_, rows_ - tile_rows_); }
    [[nodiscard]] std::uint32_t column_origin(std::uint32_t tile_column) const {
        return std::min(tile_column * tile_columns_, columns_ - tile_columns_);
    }

    /// Calls function(owned, computed) with the rectangles of each row of tiles in [first_tile, first_tile + count).
    template <class Function>
    void for_each_row(std::uint32_t first_tile, std::uint32_t count, const Function& function) const {
        for (std::uint32_t tile = first_tile; tile < first_tile + count;) {
            const std::uint32_t tile_row = tile / tiles_per_row_;
            const std::uint32_t first = tile % tiles_per_row_;
            const std::uint32_t end = std::min(tiles_per_row_, first + (first_tile + count - tile));
            const std::uint32_t end_column = std::min(columns_, end * tile_columns_);
            const std::uint32_t row = row_origin(tile_row);
            function(TileRectangle{tile_row * tile_rows_, std::min(rows_, (tile_row + 1) * tile_rows_), first * tile_columns_, end_column},
                     TileRectangle{row, row + tile_rows_, column_origin(first), end_column});
            tile += end - first;
        }
    }

    /// Calls function(PositionSpan) for the positions that the tiles own: ascending within a row of tiles, touching ones joined.
    template <class Function>
    void for_each_owned_span(std::uint32_t first_tile, std::uint32_t count, const Function& function) const {
        PositionSpan open;
        for_each_row(first_tile, count, [&](const TileRectangle& owned, const TileRectangle&) {
            for (std::uint32_t row = owned.first_row; row < owned.end_row; ++row) {
                const PositionSpan span{row * columns_ + owned.first_column, owned.end_column - owned.first_column};
                if (open.count != 0 && open.first + open.count == span.first) {
                    open.count += span.count;
                    continue;
                }
                if (open.count != 0) function(open);
                open = span;
            }
        });
        if (open.count != 0) function(open);
    }

    [[nodiscard]] std::uint32_t owned_positions(std::uint32_t first_tile, std::uint32_t count) const {
        std::uint32_t sum = 0;
        for_each_row(first_tile, count, [&](const TileRectangle& owned, const TileRectangle&) {
            sum += (owned.end_row - owned.first_row) * (owned.end_column - owned.first_column);
        });
        return sum;
    }

private:
    std::uint32_t tile_rows_;
    std::uint32_t tile_columns_;
    std::uint32_t rows_;
    std::uint32_t columns_;
    std::uint32_t tiles_per_row_;
};

}  // namespace weft
