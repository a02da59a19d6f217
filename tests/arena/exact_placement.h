#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "arena/arena.h"
#include "base/random.h"

namespace weft::test {

inline bool is_legal(std::span<const ArenaRequest> requests, std::span<const Arena> arenas, std::span<const std::uint64_t> addresses) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].bytes == 0) continue;
        if (addresses[i] % requests[i].alignment != 0) return false;
        const bool inside = std::ranges::any_of(arenas, [&](const Arena& a) { return addresses[i] >= a.begin && addresses[i] + requests[i].bytes <= a.end; });
        if (!inside) return false;
        for (std::size_t j = 0; j < i; ++j) {
            if (!requests[i].meets(requests[j]) || requests[j].bytes == 0) continue;
            if (addresses[i] < addresses[j] + requests[j].bytes && addresses[j] < addresses[i] + requests[i].bytes) return false;
        }
    }
    return true;
}

/// Whether any placement at multiples of one byte exists: every address, block after block.
inline bool can_be_placed(std::span<const ArenaRequest> requests, const Arena& arena, std::vector<std::uint64_t>& addresses) {
    const std::size_t next = addresses.size();
    if (next == requests.size()) return true;
    for (std::uint64_t at = arena.begin; at + requests[next].bytes <= arena.end; at += requests[next].alignment) {
        addresses.push_back(at);
        if (is_legal(requests.first(next + 1), std::span(&arena, 1), addresses) && can_be_placed(requests, arena, addresses)) return true;
        addresses.pop_back();
    }
    return false;
}

/// A few blocks with short lives in random order, and an arena that holds the busiest step with little to spare.
struct SmallPlacement {
    std::vector<ArenaRequest> requests;
    Arena arena;

    explicit SmallPlacement(Random& random) {
        const std::uint32_t count = 2 + random.below(5);
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t first = random.below(6);
            requests.push_back({1 + random.below(5), 1, first, first + random.below(4)});
        }
        arena = {0, std::max<std::uint64_t>(most_alive_bytes(requests), 5) + random.below(2)};
    }
};

}  // namespace weft::test
