#pragma once

#include <cstdint>
#include <vector>

#include "artifact/target.h"
#include "base/id.h"

namespace weft::ipu21 {

/// A tile by its logical number, 0 .. tile_count - 1.
using TileId = Id<struct TileTag>;

/// Logical tiles on the physical array, and the time of every route. A physical id is 64 * row + 4 * column + lane bits, as
/// the exchange hardware counts; logical tiles walk the columns as a snake, two lanes of one place at a time, so that tiles
/// 2i and 2i + 1 always share one exchange pair (physical ids that differ in bit 1 only).
class Topology {
public:
    explicit Topology(const Target& target);

    [[nodiscard]] std::uint32_t tile_count() const { return static_cast<std::uint32_t>(physical_.size()); }
    [[nodiscard]] std::uint32_t physical(TileId tile) const { return physical_[tile.index()]; }
    /// Row of the array, 0 nearest to the exchange's origin.
    [[nodiscard]] std::uint32_t row(TileId tile) const { return physical_[tile.index()] >> 6U; }
    /// Cycles from the sender's event to the receiver's multiplexer switching; negative where the route is shorter than
    /// the fixed origin. Source: `route` in docs/ipu21.md.
    [[nodiscard]] std::int32_t route_cycles(TileId sender, TileId receiver) const;
    /// The other tile of the pair; none where the array ends with an odd tile.
    [[nodiscard]] TileId partner(TileId tile) const;

private:
    std::vector<std::uint32_t> physical_;
    std::int32_t origin_ = 0;
};

/// The physical id of logical tile `tile` on an array of `rows` rows.
[[nodiscard]] std::uint32_t physical_tile(std::uint32_t tile, std::uint32_t rows);

}  // namespace weft::ipu21
