#include "ipu21/topology.h"

#include <cstdlib>

namespace weft::ipu21 {
namespace {

std::int32_t column_of(std::uint32_t physical) { return static_cast<std::int32_t>((physical >> 2U) & 15U); }

/// Columns 8..15 lie opposite columns 7..0.
std::int32_t fold(std::int32_t column) { return column > 7 ? column ^ 15 : column; }

/// Cycles to the array's edge.
std::int32_t edge(std::int32_t column) { return column > 7 ? (4 * column) ^ 60 : 4 * column; }

/// Signed cycles along the column bus between the two multiplexers.
std::int32_t displacement(std::uint32_t sender, std::uint32_t receiver) {
    const std::int32_t from = column_of(sender);
    const std::int32_t to = column_of(receiver);
    const std::int32_t half = to >> 3;
    const auto lane = static_cast<std::int32_t>(receiver & 3U);
    std::int32_t lane_cycles = 0;
    if (lane > 1) {
        lane_cycles = half == static_cast<std::int32_t>(receiver & 1U) ? 2 : 4;
    } else {
        lane_cycles = half == lane ? 1 : 5;
    }
    const std::int32_t mux = fold(from) + ((from >> 3) ^ static_cast<std::int32_t>(sender & 1U));
    return 6 * (fold(to) - mux) + lane_cycles;
}

}  // namespace

std::uint32_t physical_tile(std::uint32_t tile, std::uint32_t rows) {
    const std::uint32_t pair = tile / 2;
    const std::uint32_t lane = tile & 1U;
    const std::uint32_t block = pair / rows;
    std::uint32_t row = pair % rows;
    if ((block & 1U) != 0) row = rows - 1 - row;
    return 64 * row + 4 * (block / 2) + (block & 1U) + 2 * lane;
}

Topology::Topology(const Target& target) : origin_(static_cast<std::int32_t>(target.ipu21.route_origin_cycles)) {
    WEFT_CHECK(target.family == TargetFamily::Ipu21);
    physical_.reserve(target.core_count);
    for (std::uint32_t tile = 0; tile < target.core_count; ++tile) {
        physical_.push_back(physical_tile(tile, target.ipu21.tile_rows));
    }
}

std::int32_t Topology::route_cycles(TileId sender, TileId receiver) const {
    const std::uint32_t s = physical(sender);
    const std::uint32_t d = physical(receiver);
    const std::int32_t to = column_of(d);
    const auto low = static_cast<std::int32_t>((s >> 2U) & 7U);
    const auto place = static_cast<std::int32_t>(((s >> 2U) & 8U) | ((s >> 3U) & 3U));
    const std::int32_t cross = place - to + ((low >> 1) ^ 3);
    const std::int32_t turn = ((s ^ d) & 0x20U) == 0 ? low + 1 : 16 - low;
    const auto rows = static_cast<std::int32_t>(s >> 6U) - static_cast<std::int32_t>(d >> 6U);
    return cross + edge(column_of(s)) + turn - edge(to) + 2 * rows + std::abs(displacement(s, d)) - origin_;
}

TileId Topology::partner(TileId tile) const {
    const std::uint32_t other = tile.value ^ 1U;
    return other < tile_count() ? TileId(other) : TileId::none();
}

}  // namespace weft::ipu21
