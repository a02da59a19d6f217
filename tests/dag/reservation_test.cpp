#include "dag/reservation.h"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>

#include "base/random.h"

using namespace weft;

namespace {

std::optional<Reservations> reserve(std::span<const std::uint32_t> sizes, std::span<const std::uint32_t> capacity) {
    std::vector<ReservationRequest> requests;
    for (const std::uint32_t size : sizes) requests.push_back({size, 1, static_cast<std::uint32_t>(requests.size())});
    return reserve_best_fit(requests, capacity);
}

bool exists(std::span<const std::uint32_t> sizes, std::vector<std::uint32_t> room) {
    const std::function<bool(std::size_t)> extend = [&](std::size_t i) {
        if (i == sizes.size()) return true;
        for (std::uint32_t& left : room) {
            if (left < sizes[i]) continue;
            left -= sizes[i];
            if (extend(i + 1)) return true;
            left += sizes[i];
        }
        return false;
    };
    return extend(0);
}

void check_reservations(const Reservations& found, std::span<const std::uint32_t> sizes, std::vector<std::uint32_t> room) {
    REQUIRE(found.residences.size() == sizes.size());
    std::vector<bool> seen(sizes.size(), false);
    for (const Residence& residence : found.residences) {
        REQUIRE(residence.processor < room.size());
        REQUIRE(!seen[residence.weight]);
        REQUIRE(room[residence.processor] >= sizes[residence.weight]);
        seen[residence.weight] = true;
        room[residence.processor] -= sizes[residence.weight];
    }
}

/// An instance that needs a retry: found by search, the same one every time.
std::vector<std::uint32_t> reversed_only_sizes(std::vector<std::uint32_t>& capacity) {
    Random random(32);
    while (true) {
        std::vector<std::uint32_t> sizes;
        capacity.clear();
        for (std::uint32_t i = 4 + random.below(6); i > 0; --i) sizes.push_back(2 + random.below(9));
        for (std::uint32_t i = 2 + random.below(2); i > 0; --i) capacity.push_back(10 + random.below(14));
        const auto found = reserve(sizes, capacity);
        if (found && std::string(found->rung) == "reversed") return sizes;
    }
}

}  // namespace

TEST_CASE("reservations are within capacity, and most that exist are found") {
    Random random(31);
    int found_count = 0;
    int exist_count = 0;
    for (int round = 0; round < 1000; ++round) {
        std::vector<std::uint32_t> sizes;
        std::vector<std::uint32_t> capacity;
        for (std::uint32_t i = 1 + random.below(9); i > 0; --i) sizes.push_back(1 + random.below(9));
        for (std::uint32_t i = 1 + random.below(4); i > 0; --i) capacity.push_back(4 + random.below(14));
        const auto found = reserve(sizes, capacity);
        const bool possible = exists(sizes, capacity);
        if (found) check_reservations(*found, sizes, capacity);
        CHECK((possible || !found));
        exist_count += possible ? 1 : 0;
        found_count += found ? 1 : 0;
    }
    CHECK(exist_count > 300);
    CHECK(found_count >= exist_count * 97 / 100);
}

TEST_CASE("each rung has an instance that only it solves") {
    const auto rung = [](std::vector<std::uint32_t> sizes, std::vector<std::uint32_t> capacity) {
        const auto found = reserve(sizes, capacity);
        if (found) check_reservations(*found, sizes, capacity);
        return found ? std::string(found->rung) : "none";
    };
    CHECK(rung({3, 5, 4}, {8, 4}) == "largest-first");
    CHECK(rung({9, 1}, {8, 8}) == "none");
    Random random(32);
    int reversed = 0;
    int deviation = 0;
    for (int round = 0; round < 5000; ++round) {
        std::vector<std::uint32_t> sizes;
        std::vector<std::uint32_t> capacity;
        for (std::uint32_t i = 4 + random.below(6); i > 0; --i) sizes.push_back(2 + random.below(9));
        for (std::uint32_t i = 2 + random.below(2); i > 0; --i) capacity.push_back(10 + random.below(14));
        const std::string name = rung(sizes, capacity);
        reversed += name == "reversed" ? 1 : 0;
        deviation += name == "deviation" ? 1 : 0;
    }
    CHECK(reversed > 0);
    CHECK(deviation > 0);
}

TEST_CASE("copies are on different processors, and a group shares one only where it must") {
    const std::vector<ReservationRequest> apart = {{4, 2, 0}, {3, 1, 0}, {2, 1, 1}};
    const auto found = reserve_best_fit(apart, std::vector<std::uint32_t>{9, 9, 9});
    REQUIRE(found);
    CHECK(found->residences == std::vector<Residence>{{0, 0}, {0, 1}, {1, 2}, {2, 0}});
    const auto together = reserve_best_fit(apart, std::vector<std::uint32_t>{9, 4});
    REQUIRE(together);
    CHECK(together->residences == std::vector<Residence>{{0, 1}, {0, 0}, {1, 0}, {2, 0}});
    CHECK(!reserve_best_fit(apart, std::vector<std::uint32_t>{20}));
}

TEST_CASE("only retries are bounded") {
    const auto first = reserve(std::vector<std::uint32_t>(1000, 3), std::vector<std::uint32_t>(1000, 5));
    REQUIRE(first);
    CHECK(first->retry_checks == 0);
    // Two weights do not share a processor, and there is one processor too few: no try can succeed.
    CHECK(!reserve(std::vector<std::uint32_t>(1000, 3), std::vector<std::uint32_t>(999, 5)));
    // Only the reversed order succeeds; with many full processors in front it passes the limit.
    std::vector<std::uint32_t> capacity;
    const std::vector<std::uint32_t> sizes = reversed_only_sizes(capacity);
    REQUIRE(reserve(sizes, capacity));
    CHECK(reserve(sizes, capacity)->retry_checks > 0);
    capacity.insert(capacity.begin(), reservation_check_limit, 0U);
    CHECK(!reserve(sizes, capacity));
}
