#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft {

/// A block of memory wanted from step `first` through step `last`.
struct ArenaRequest {
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 1;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    auto operator<=>(const ArenaRequest&) const = default;
    [[nodiscard]] bool meets(const ArenaRequest& other) const { return first <= other.last && other.first <= last; }
};

/// A contiguous range of addresses that blocks may lie in.
struct Arena {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Why a block found no place.
struct ArenaFailure {
    std::uint32_t request = 0;                 ///< the block
    std::vector<std::uint32_t> conflicts;      ///< placed blocks alive at the same time, ascending by address
    std::uint64_t largest_free = 0;            ///< largest gap between them, alignment not counted
    std::vector<std::uint64_t> addresses;      ///< of everything that had a place; ~0 where none
    bool proved = false;                       ///< all orders were tried: there is no placement
};

/// Addresses of all requests such that blocks alive at the same time do not overlap, every block inside one arena. Tries
/// a few orders (size, lifetime, start), each first fit from the lowest address, and keeps the one that ends lowest; where none works,
/// orders that put forward what found no place, and then all orders within a budget, which is exact for small cases (`failure->proved`).
/// `failure` describes the first order's. Requests of zero bytes get the first arena's begin.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> place_in_arenas(std::span<const ArenaRequest> requests, std::span<const Arena> arenas,
                                                                        ArenaFailure* failure = nullptr);

/// Most bytes alive at one step: no placement needs less.
[[nodiscard]] std::uint64_t most_alive_bytes(std::span<const ArenaRequest> requests);

}  // namespace weft
