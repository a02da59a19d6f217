#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace weft {

/// The idle times of one processor, ascending and disjoint; the last one never ends.
class Timeline {
public:
    /// Earliest start, at or after `ready`, of `duration` nanoseconds without interruption.
    [[nodiscard]] std::int64_t earliest_start(std::int64_t ready, std::int64_t duration) const {
        if (gaps_.back().start <= ready) return ready;
        auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), ready, [](const Gap& a, std::int64_t time) { return a.end < time; });
        while (gap->end - std::max(gap->start, ready) < duration) ++gap;
        return std::max(gap->start, ready);
    }

    /// Take [start, start + duration), which earliest_start() found idle.
    void occupy(std::int64_t start, std::int64_t duration) {
        if (duration == 0) return;
        auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), start, [](const Gap& a, std::int64_t time) { return a.end <= time; });
        const Gap before{gap->start, start};
        const Gap after{start + duration, gap->end};
        if (before.start == before.end) {
            gap->start = after.start;
            if (after.start == after.end) gaps_.erase(gap);
            return;
        }
        gap->end = start;
        if (after.start != after.end) gaps_.insert(gap + 1, after);
    }

private:
    struct Gap {
        std::int64_t start = 0;
        std::int64_t end = 0;
    };
    // A quarter of the range: no sum with a time of the graph overflows.
    std::vector<Gap> gaps_ = {{0, std::numeric_limits<std::int64_t>::max() / 4}};
};

}  // namespace weft
