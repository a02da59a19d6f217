#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "exact_placement.h"

using namespace weft;
using test::is_legal;

TEST_CASE("random lifetimes against an exact search: never illegal, never missed") {
    Random random(1);
    for (int round = 0; round < 600; ++round) {
        const test::SmallPlacement small(random);
        const std::vector<ArenaRequest>& requests = small.requests;
        const Arena& arena = small.arena;
        ArenaFailure failure;
        const auto placed = place_in_arenas(requests, std::span(&arena, 1), &failure);
        std::vector<std::uint64_t> addresses;
        REQUIRE(placed.has_value() == test::can_be_placed(requests, arena, addresses));
        if (placed) {
            CHECK(is_legal(requests, std::span(&arena, 1), *placed));
        } else {
            CHECK(failure.proved);
            CHECK(failure.request < requests.size());
            CHECK(failure.largest_free < requests[failure.request].bytes);
        }
    }
}

TEST_CASE("adversarial lifetimes, alignments and regions against an exact search: never illegal, never missed") {
    Random random(3);
    int possible = 0;
    int impossible = 0;
    for (std::uint32_t round = 0; round < 1200; ++round) {
        const test::AdversarialPlacement hard(random, round);
        ArenaFailure failure;
        const auto placed = place_in_arenas(hard.requests, hard.arenas, &failure);
        std::vector<std::uint64_t> addresses;
        REQUIRE(placed.has_value() == test::can_be_placed(hard.requests, hard.arenas, addresses));
        ++(placed ? possible : impossible);
        if (placed) CHECK(is_legal(hard.requests, hard.arenas, *placed));
        else CHECK(failure.proved);
    }
    MESSAGE(possible << " possible, " << impossible << " impossible");
    CHECK(possible > 600);
    CHECK(impossible > 20);
}

TEST_CASE("many blocks: a bounded search gives up without a proof, and the same way twice") {
    Random random(4);
    std::vector<ArenaRequest> requests;
    for (std::uint32_t i = 0; i < 40; ++i) {
        const std::uint32_t first = random.below(30);
        requests.push_back({50 + random.below(100), 4, first, first + random.below(12)});
    }
    const Arena arena{0, most_alive_bytes(requests)};
    ArenaFailure failure;
    const auto placed = place_in_arenas(requests, std::span(&arena, 1), &failure);
    const auto again = place_in_arenas(requests, std::span(&arena, 1));
    CHECK(placed == again);
    if (placed) CHECK(is_legal(requests, std::span(&arena, 1), *placed));
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
