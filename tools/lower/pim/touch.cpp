#include "lower/pim/touch.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace weft::lower_pim {
namespace {

/// The first repetition in which [first + trip * stride, ... + length) meets [low, end); `trips` where none does.
std::uint32_t first_trip(std::int64_t first, std::int64_t stride, std::int64_t length, std::uint32_t trips, std::int64_t low, std::int64_t end) {
    const auto meets = [&](std::int64_t trip) { return first + trip * stride < end && first + trip * stride + length > low; };
    if (meets(0)) return 0;
    if (stride == 0) return trips;
    // Moving towards the elements, the first meeting is where the leading end passes their near end.
    const std::int64_t distance = stride > 0 ? low - (first + length) + 1 : first - end + 1;
    const std::int64_t trip = std::max<std::int64_t>(0, ceil_divide(distance, std::abs(stride)));
    return trip < trips && meets(trip) ? static_cast<std::uint32_t>(trip) : trips;
}

}  // namespace

void TouchIndex::add(std::int32_t address, std::int32_t stride, std::int64_t length) {
    Loop& loop = loops_.back();
    const Extent extent{address & ~half_marks, stride, length};
    const std::int64_t last = extent.first + extent.stride * (std::int64_t{loop.trips} - 1);
    loop.low = std::min({loop.low, extent.first, last});
    loop.end = std::max(loop.end, std::max(extent.first, last) + length);
    ++loop.extent_count;
    extents_.push_back(extent);
}

TouchIndex::TouchIndex(const OperationList& operations, std::span<const ArrayGroup> groups) {
    for (const OperationList::Loop& loop : operations.loops()) {
        loops_.push_back({narrow<std::uint32_t>(extents_.size()), 0, loop.trips, std::numeric_limits<std::int64_t>::max(), 0});
        for (const Operation& operation : operations.body(loop)) {
            std::array<Address, 3> operands;
            const std::size_t count = local_operands(operation, operands);
            for (std::size_t i = 0; i < count; ++i) {
                if (is_literal(operation, i)) continue;
                std::int64_t length = operation.length;
                if (operation.op == Opcode::Mvmul) {
                    const ArrayGroup& group = groups[static_cast<std::size_t>(operation.argument)];
                    length = i == 0 ? group.rows : group.columns;
                } else if (operation.op == Opcode::Vmv && i == 0) {
                    // Every `second`-th element.
                    length = (std::int64_t{operation.length} - 1) * std::abs(operation.second.base) + 1;
                }
                add(operands[i].base, operands[i].stride, length);
            }
        }
    }
}

Touch TouchIndex::of(std::int32_t first, std::int32_t length) const {
    const std::int64_t low = first & ~half_marks;
    const std::int64_t end = low + length;
    Touch touch{{narrow<std::uint32_t>(loops_.size()), 0}, {0, 0}};
    for (std::uint32_t l = 0; l < loops_.size(); ++l) {
        const Loop& loop = loops_[l];
        if (loop.extent_count == 0 || loop.end <= low || loop.low >= end) continue;
        std::uint32_t early = loop.trips;
        std::uint32_t late = loop.trips;    // counted from the last repetition backwards
        for (const Extent& extent : std::span(extents_).subspan(loop.first_extent, loop.extent_count)) {
            early = std::min(early, first_trip(extent.first, extent.stride, extent.length, loop.trips, low, end));
            const std::int64_t last = extent.first + extent.stride * (std::int64_t{loop.trips} - 1);
            late = std::min(late, first_trip(last, -extent.stride, extent.length, loop.trips, low, end));
        }
        if (early == loop.trips) continue;
        touch.first = std::min(touch.first, WeavePoint{l, early});
        touch.last = late == 0 ? WeavePoint{l + 1, 0} : WeavePoint{l, loop.trips - late};
    }
    return touch;
}

}  // namespace weft::lower_pim
