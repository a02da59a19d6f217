#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/tasks.h"
#include "ipu21/phase.h"

namespace weft::ipu21 {

/// Half-open run of rows or columns.
struct Interval {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    [[nodiscard]] std::uint32_t length() const { return end - begin; }
    bool operator==(const Interval&) const = default;
};

[[nodiscard]] constexpr Interval intersection(Interval a, Interval b) {
    const std::uint32_t begin = a.begin > b.begin ? a.begin : b.begin;
    const std::uint32_t end = a.end < b.end ? a.end : b.end;
    return {begin, end > begin ? end : begin};
}

/// Run `part` when `extent` elements are dealt in whole grains to `parts` parts, longer runs first (the last one may be cut short by
/// the extent, and empty where there are fewer grains than parts).
[[nodiscard]] Interval dealt_interval(std::uint32_t extent, std::uint32_t grain, std::uint32_t parts, std::uint32_t part);

/// Part that holds element `index` under the same dealing.
[[nodiscard]] std::uint32_t part_of(std::uint32_t extent, std::uint32_t grain, std::uint32_t parts, std::uint32_t index);

/// A matrix of rows x columns elements, as layouts see it.
struct MatrixShape {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
};

[[nodiscard]] inline Interval rows_of(const TileLayout& layout, MatrixShape shape, std::uint32_t part) {
    return dealt_interval(shape.rows, layout.row_grain, layout.row_parts, part);
}
[[nodiscard]] inline Interval columns_of(const TileLayout& layout, MatrixShape shape, std::uint32_t part) {
    return dealt_interval(shape.columns, layout.column_grain, layout.column_parts, part);
}

/// Tiles that hold something: parts times copies.
[[nodiscard]] inline std::uint32_t layout_tiles(const TileLayout& layout) {
    return layout.row_parts * layout.column_parts * layout.replicas;
}

[[nodiscard]] inline std::uint32_t layout_tile(const TileLayout& layout, std::uint32_t row, std::uint32_t column, std::uint32_t copy) {
    return row * layout.row_stride + column * layout.column_stride + copy * layout.replica_stride;
}

/// The part on a tile; `held` false beyond the layout's tiles.
struct LayoutPart {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    std::uint32_t copy = 0;
    bool held = false;
};
[[nodiscard]] LayoutPart part_on(const TileLayout& layout, std::uint32_t tile);

/// Whether tiles 0 .. layout_tiles() - 1 hold one part each: strides are nested.
[[nodiscard]] bool is_bijection(const TileLayout& layout);

/// Bytes of the largest shard, whole grains.
[[nodiscard]] std::uint64_t shard_bytes(const TileLayout& layout, MatrixShape shape);

/// "2916x4608/81x18 cf amp-left standard" and the like, unique per layout.
[[nodiscard]] std::string to_text(const TileLayout& layout);
/// The layout that to_text() describes; false where it describes none.
[[nodiscard]] bool parse_layout(std::string_view text, TileLayout& layout);

/// What changing a layout costs.
struct ConversionCost {
    std::uint64_t exchange_cycles = 0;   ///< one phase, without its synchronisation
    std::uint64_t staging_cycles = 0;    ///< copies and repacking in the tile
    std::uint64_t launch_cycles = 0;     ///< launches and synchronisation
    std::uint64_t row_bytes = 0;
    std::uint32_t phases = 0;
    [[nodiscard]] std::uint64_t total() const { return exchange_cycles + staging_cycles + launch_cycles; }
};

/// What a layout gives every tile, tabulated: estimates compare many pairs of few layouts.
struct LayoutParts {
    std::vector<Interval> rows;            ///< per row part
    std::vector<Interval> columns;
    std::vector<std::uint16_t> row_part;   ///< per tile that holds something
    std::vector<std::uint16_t> column_part;

    LayoutParts(const TileLayout& layout, MatrixShape shape);
};

/// Estimate from each tile's words and transfers in both roles (exclusive: their sum, full duplex: the larger), which the
/// greedy schedules approach when transfers are few per tile; linear in tiles.
[[nodiscard]] ConversionCost estimate_conversion(const Target& target, MatrixShape shape, const TileLayout& from, const TileLayout& to);
[[nodiscard]] ConversionCost estimate_conversion(const Target& target, MatrixShape shape, const TileLayout& from, const LayoutParts& from_table,
                                                 const TileLayout& to, const LayoutParts& to_table);

/// The transfers of a conversion: every piece that one part of `to` needs of one part of `from`, sent once to all copies that lack
/// it. Copies of `from` take turns.
[[nodiscard]] Phase conversion_phase(const Target& target, MatrixShape shape, const TileLayout& from, const TileLayout& to);

}  // namespace weft::ipu21
