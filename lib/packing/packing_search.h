#pragma once

#include <algorithm>

#include "packing/packing.h"

namespace weft {

template <class Pack>
std::optional<Packing> smallest_packing(const Tasks& tasks, const Workload& workload, Pack pack) {
    const std::int64_t bound = std::max<std::int64_t>(1, workload.total_ns / workload.core_count);
    std::int64_t fails = 0;
    std::int64_t limit = bound;
    std::optional<LanePlacement> best;
    // Doubling in steps of one percent ends after some 2,000 steps at the total work, where time no longer limits.
    while (!best) {
        best = pack(tasks, workload, limit);
        if (best) break;
        if (limit > workload.total_ns * 2) return std::nullopt;
        fails = limit;
        // Far from the bound time hardly matters and only capacity does: larger steps.
        limit += std::max<std::int64_t>(1, limit > 4 * bound ? limit / 4 : limit / 100);
    }
    for (int probe = 0; probe < 6 && limit - fails > 1; ++probe) {
        const std::int64_t middle = fails + (limit - fails) / 2;
        if (auto packed = pack(tasks, workload, middle)) {
            best = std::move(packed);
            limit = middle;
        } else {
            fails = middle;
        }
    }
    return Packing{std::move(*best), limit};
}

}  // namespace weft
