#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "arena/arena.h"
#include "base/random.h"

using namespace weft;

namespace {

bool is_legal(std::span<const ArenaRequest> requests, std::span<const Arena> arenas, std::span<const std::uint64_t> addresses) {
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
bool exact(std::span<const ArenaRequest> requests, const Arena& arena, std::vector<std::uint64_t>& addresses) {
    const std::size_t next = addresses.size();
    if (next == requests.size()) return true;
    for (std::uint64_t at = arena.begin; at + requests[next].bytes <= arena.end; at += requests[next].alignment) {
        addresses.push_back(at);
        if (is_legal(requests.first(next + 1), std::span(&arena, 1), addresses) && exact(requests, arena, addresses)) return true;
        addresses.pop_back();
    }
    return false;
}

}  // namespace

TEST_CASE("random lifetimes against an exact search: never illegal, seldom missed") {
    Random random(1);
    int possible = 0;
    int missed = 0;
    for (int round = 0; round < 400; ++round) {
        std::vector<ArenaRequest> requests;
        const std::uint32_t count = 2 + random.below(5);
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t first = random.below(6);
            requests.push_back({1 + random.below(5), 1, first, first + random.below(4)});
        }
        const Arena arena{0, std::max<std::uint64_t>(most_alive_bytes(requests), 5) + random.below(2)};
        ArenaFailure failure;
        const auto placed = place_in_arenas(requests, std::span(&arena, 1), &failure);
        std::vector<std::uint64_t> addresses;
        const bool exists = exact(requests, arena, addresses);
        if (placed) {
            REQUIRE(exists);
            CHECK(is_legal(requests, std::span(&arena, 1), *placed));
        } else {
            CHECK(failure.request < count);
            CHECK(failure.largest_free < requests[failure.request].bytes);
            missed += exists ? 1 : 0;
        }
        possible += exists ? 1 : 0;
    }
    MESSAGE(possible << " possible, " << missed << " missed");
    CHECK(possible > 200);
    CHECK(missed * 25 <= possible);
}

TEST_CASE("alignment and several arenas") {
    Random random(2);
    for (int round = 0; round < 200; ++round) {
        std::vector<ArenaRequest> requests;
        for (std::uint32_t i = 0; i < 12; ++i) {
            const std::uint32_t first = random.below(10);
            requests.push_back({random.below(100), std::uint64_t{1} << random.below(6), first, first + random.below(5)});
        }
        const std::array<Arena, 2> arenas{Arena{16, 300}, Arena{1000, 1500}};
        const auto placed = place_in_arenas(requests, arenas);
        if (placed) CHECK(is_legal(requests, arenas, *placed));
    }
}

TEST_CASE("a block that is too large is described with its neighbours") {
    const std::array<ArenaRequest, 3> requests{ArenaRequest{60, 1, 0, 9}, ArenaRequest{30, 1, 2, 4}, ArenaRequest{20, 1, 3, 3}};
    const Arena arena{100, 200};
    ArenaFailure failure;
    CHECK(!place_in_arenas(requests, std::span(&arena, 1), &failure));
    CHECK(failure.request == 2);
    CHECK(failure.conflicts == std::vector<std::uint32_t>{0, 1});
    CHECK(failure.largest_free == 10);
    CHECK(failure.addresses[0] == 100);
    CHECK(failure.addresses[1] == 160);
    CHECK(most_alive_bytes(requests) == 110);
}
