#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "exact_placement.h"

using namespace weft;
using test::is_legal;

TEST_CASE("random lifetimes against an exact search: never illegal, seldom missed") {
    Random random(1);
    int possible = 0;
    int missed = 0;
    for (int round = 0; round < 400; ++round) {
        const test::SmallPlacement small(random);
        const std::vector<ArenaRequest>& requests = small.requests;
        const Arena& arena = small.arena;
        ArenaFailure failure;
        const auto placed = place_in_arenas(requests, std::span(&arena, 1), &failure);
        std::vector<std::uint64_t> addresses;
        const bool exists = test::can_be_placed(requests, arena, addresses);
        if (placed) {
            REQUIRE(exists);
            CHECK(is_legal(requests, std::span(&arena, 1), *placed));
        } else {
            CHECK(failure.request < requests.size());
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
