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

/// Whether any placement exists: every aligned address of every arena, block after block.
inline bool can_be_placed(std::span<const ArenaRequest> requests, std::span<const Arena> arenas, std::vector<std::uint64_t>& addresses) {
    const std::size_t next = addresses.size();
    if (next == requests.size()) return true;
    const ArenaRequest& request = requests[next];
    for (const Arena& arena : arenas) {
        for (std::uint64_t at = (arena.begin + request.alignment - 1) / request.alignment * request.alignment; at + request.bytes <= arena.end; at += request.alignment) {
            addresses.push_back(at);
            bool clashes = false;
            for (std::size_t j = 0; j < next && !clashes; ++j) {
                clashes = request.meets(requests[j]) && at < addresses[j] + requests[j].bytes && addresses[j] < at + request.bytes;
            }
            if (!clashes && can_be_placed(requests, arenas, addresses)) return true;
            addresses.pop_back();
        }
    }
    return false;
}
inline bool can_be_placed(std::span<const ArenaRequest> requests, const Arena& arena, std::vector<std::uint64_t>& addresses) {
    return can_be_placed(requests, std::span(&arena, 1), addresses);
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

/// Lives that lead greedy orders astray, in arenas without a byte to spare.
struct AdversarialPlacement {
    std::vector<ArenaRequest> requests;
    std::vector<Arena> arenas;

    AdversarialPlacement(Random& random, std::uint32_t shape) {
        switch (shape % 4) {
            case 0: staircase(random); break;
            case 1: comb(random); break;
            case 2: relay(random); break;
            default: two_arenas(random); break;
        }
        for (std::uint32_t i = static_cast<std::uint32_t>(requests.size()); i > 1; --i) std::swap(requests[i - 1], requests[random.below(i)]);
    }

private:
    /// Each block overlaps the one before and the one after; sizes alternate, so that holes of the wrong size stay.
    void staircase(Random& random) {
        const std::uint32_t count = 5 + random.below(3);
        for (std::uint32_t i = 0; i < count; ++i) requests.push_back({1 + random.below(3) + (i % 2 == 0 ? 3U : 0U), 1, i, i + 1 + random.below(2)});
        arenas = {{0, most_alive_bytes(requests)}};
    }
    /// A few blocks that live throughout between short ones that come and go.
    void comb(Random& random) {
        requests.push_back({2 + random.below(3), 1, 0, 6});
        requests.push_back({1 + random.below(3), 1, 1, 6});
        for (std::uint32_t i = 0; i < 5; ++i) requests.push_back({1 + random.below(4), 1, i, i + random.below(2)});
        arenas = {{0, most_alive_bytes(requests)}};
    }
    /// Two halves of the memory are handed over at different times; a placement exists by construction.
    void relay(Random& random) {
        const std::uint32_t half = 3 + random.below(3);
        const std::uint32_t left = 1 + random.below(half);
        const std::uint32_t right = 1 + random.below(half);
        requests = {{left, 1, 0, 2}, {half + half - left, 1, 0, 1}, {right, 1, 3, 5}, {half + half - right, 1, 2, 5}};
        if (left + half + half - right > 2 * half) requests[3].bytes = 2 * half - left;
        requests.push_back({1, 1, 6, 6});
        arenas = {{0, 2 * half}};
    }
    /// Alignments and two regions: a bin packing with lives.
    void two_arenas(Random& random) {
        const std::uint32_t count = 4 + random.below(3);
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t first = random.below(3);
            requests.push_back({1 + random.below(6), std::uint64_t{1} << random.below(3), first, first + random.below(3)});
        }
        const std::uint64_t whole = most_alive_bytes(requests) + random.below(3);
        const std::uint64_t cut = whole / 2 + random.below(2);
        arenas = {{1, 1 + cut}, {20, 20 + whole - cut}};
    }
};

}  // namespace weft::test
