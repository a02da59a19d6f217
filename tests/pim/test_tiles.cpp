#include "pim/tiles.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "base/random.h"

using namespace weft;

TEST_CASE("every position is owned by the one tile whose cell it is in, and computed by it") {
    Random random(31);
    for (int round = 0; round < 300; ++round) {
        TaskTensor output{};
        output.rows = 1 + random.below(12);
        output.columns = 1 + random.below(12);
        Family family{};
        family.tile_rows = 1 + random.below(output.rows);
        family.tile_columns = 1 + random.below(output.columns);
        const TileGrid grid(family, output);
        const std::uint32_t per_row = (output.columns + family.tile_columns - 1) / family.tile_columns;
        CHECK(grid.tiles_per_row() == per_row);
        CHECK(grid.tile_count() == std::uint64_t{(output.rows + family.tile_rows - 1) / family.tile_rows} * per_row);
        const auto tiles = static_cast<std::uint32_t>(grid.tile_count());
        const std::uint32_t first = random.below(tiles);
        const std::uint32_t count = 1 + random.below(tiles - first);
        std::set<std::uint32_t> expected;
        for (std::uint32_t position = 0; position < output.rows * output.columns; ++position) {
            const std::uint32_t tile = position / output.columns / family.tile_rows * per_row + position % output.columns / family.tile_columns;
            if (tile >= first && tile < first + count) expected.insert(position);
        }
        std::set<std::uint32_t> owned;
        std::vector<PositionSpan> spans;
        grid.for_each_owned_span(first, count, [&](PositionSpan span) {
            spans.push_back(span);
            for (std::uint32_t i = 0; i < span.count; ++i) CHECK(owned.insert(span.first + i).second);
        });
        CHECK(owned == expected);
        CHECK(grid.owned_positions(first, count) == expected.size());
        for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i].first != spans[i - 1].first + spans[i - 1].count);
        std::set<std::uint32_t> computed;
        grid.for_each_row(first, count, [&](const TileRectangle&, const TileRectangle& rectangle) {
            CHECK(rectangle.end_row <= output.rows);
            CHECK(rectangle.end_column <= output.columns);
            CHECK(rectangle.end_row - rectangle.first_row == family.tile_rows);
            for (std::uint32_t row = rectangle.first_row; row < rectangle.end_row; ++row) {
                for (std::uint32_t column = rectangle.first_column; column < rectangle.end_column; ++column) computed.insert(row * output.columns + column);
            }
        });
        for (const std::uint32_t position : expected) CHECK(computed.count(position) == 1);
    }
}
