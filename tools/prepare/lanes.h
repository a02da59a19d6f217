#pragma once

#include "prepare/draft.h"

namespace weft::preparation {

/// Cuts every family's tiles into runs of about `lane_ns` of work and writes lanes, fragments and demands. Needs tile_ns.
/// A lane takes at least one tile.
void cut_lanes(TasksColumns& columns, std::uint64_t lane_ns);

/// The input rows and columns, counted from those of a tile's first tap, that a window family reads of input `slot`.
struct WindowReach {
    std::int64_t first_row = 0;
    std::int64_t last_row = 0;
    std::int64_t first_column = 0;
    std::int64_t last_column = 0;
};
[[nodiscard]] WindowReach window_reach(const Tasks& tasks, const Family& family, std::uint32_t slot);

}  // namespace weft::preparation
