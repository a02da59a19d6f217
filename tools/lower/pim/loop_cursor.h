#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "lower/pim/weave.h"

namespace weft::lower_pim {

/// Walks a core's loops and knows how much computation lies behind.
class LoopCursor {
public:
    explicit LoopCursor(const WovenCore& core) : core_(&core) {}

    /// Whole operations, as many as fit `span_ns`, but not beyond `limit` (a point between repetitions); returns what they take.
    std::int64_t advance(std::int64_t span_ns, WeavePoint limit) {
        std::int64_t passed = 0;
        while (point_.loop < core_->loops.size() && point_ < limit) {
            const WovenLoop& loop = core_->loops[point_.loop];
            if (point_.op != 0) {
                if (!advance_in_trip(loop, span_ns, passed)) return passed;
                continue;
            }
            const std::uint32_t left = (point_.loop == limit.loop ? limit.trip : loop.trips) - point_.trip;
            const std::int64_t fitting = loop.trip_ns == 0 ? left : std::max<std::int64_t>(0, span_ns - passed) / loop.trip_ns;
            if (fitting < left) {
                point_.trip += static_cast<std::uint32_t>(fitting);
                passed += fitting * loop.trip_ns;
                advance_in_trip(loop, span_ns, passed);
                return passed;
            }
            passed += left * loop.trip_ns;
            point_ = point_.loop == limit.loop ? limit : WeavePoint{point_.loop + 1, 0};
        }
        return passed;
    }

    /// Computation up to `point`, if that is not behind already; returns what it takes.
    std::int64_t reach(WeavePoint point) {
        constexpr std::int64_t ever = std::numeric_limits<std::int64_t>::max() / 4;
        return point_ < point ? advance(ever, point) : 0;
    }

    [[nodiscard]] WeavePoint point() const { return point_; }

private:
    /// Operations of the repetition at hand while they fit; true where it is done.
    bool advance_in_trip(const WovenLoop& loop, std::int64_t span_ns, std::int64_t& passed) {
        const auto ops = core_->ops(loop);
        while (point_.op < ops.size() && passed + ops[point_.op] <= span_ns) passed += ops[point_.op++];
        if (point_.op < ops.size() || ops.empty()) return false;
        point_ = point_.trip + 1 == loop.trips ? WeavePoint{point_.loop + 1, 0} : WeavePoint{point_.loop, point_.trip + 1};
        return true;
    }

    const WovenCore* core_;
    WeavePoint point_;
};

}  // namespace weft::lower_pim
