#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact/program.h"
#include "lower/pim/weave.h"
#include "pim/core_code.h"

namespace weft::lower_pim {

/// When a core's computation uses local elements.
struct Touch {
    WeavePoint first;     ///< before the first repetition that reads or writes them; the end where none does
    WeavePoint last;      ///< behind the last one; the start where none does
};

/// Finds out when a core's computation reads or writes given local elements. Before, they can still be filled for this round, or hold what the
/// round before left; behind, they can be filled for the next round, or hold what this round made.
class TouchIndex {
public:
    TouchIndex(const OperationList& operations, std::span<const ArrayGroup> groups);

    [[nodiscard]] Touch of(std::int32_t first, std::int32_t length) const;

private:
    struct Extent {
        std::int64_t first = 0;      // of repetition 0
        std::int64_t stride = 0;
        std::int64_t length = 0;
    };
    struct Loop {
        std::uint32_t first_extent = 0;
        std::uint32_t extent_count = 0;
        std::uint32_t trips = 1;
        std::int64_t low = 0;        // hull of everything that the loop touches
        std::int64_t end = 0;
    };

    void add(std::int32_t address, std::int32_t stride, std::int64_t length);

    std::vector<Loop> loops_;
    std::vector<Extent> extents_;
};

}  // namespace weft::lower_pim
