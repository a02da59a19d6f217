#include "artifact/columns.h"

#include <doctest/doctest.h>

#include "artifact/hash.h"
#include "base/checked.h"
#include "base/id.h"

namespace {

using namespace weft;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

TEST_CASE("hashes are XXH3-128 as xxhsum -H2 prints them") {
    CHECK(to_hex(hash_bytes({})) == "99aa06d3014798d86001c324468d497f");
    CHECK(to_hex(hash_bytes(bytes_of("a"))) == "a96faf705af16834e6c632b61e964e1f");
    CHECK(to_hex(hash_bytes(bytes_of("abc"))) == "06b05ab6733a618578af5f94892f3950");
    CHECK(hash_bytes(bytes_of("abc")) != hash_bytes(bytes_of("abd")));
}

TEST_CASE("hexadecimal hashes") {
    Hash128 hash;
    CHECK(parse_hex("0123456789abcdeffedcba9876543210", hash));
    CHECK(hash.high == 0x0123456789abcdefULL);
    CHECK(hash.low == 0xfedcba9876543210ULL);
    CHECK(to_hex(hash) == "0123456789abcdeffedcba9876543210");
    for (const char* bad : {"", "0123456789abcdeffedcba987654321", "0123456789abcdeffedcba98765432100", "0123456789abcdefgedcba9876543210",
                            " 123456789abcdeffedcba9876543210", "-123456789abcdeffedcba9876543210", "0123456789abcdef0x123456789abcde"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_hex(bad, hash));
    }
}

TEST_CASE("name pools") {
    std::vector<std::uint8_t> pool;
    const auto first = pool_append(pool, "conv");
    const auto empty = pool_append(pool, "");
    const auto last = pool_append(pool, "fc");
    CHECK(first == 0);
    CHECK(pool_text(pool, first) == "conv");
    CHECK(pool_text(pool, empty).empty());
    CHECK(pool_text(pool, last) == "fc");
    CHECK(pool_text(pool, 2) == "nv");
    CHECK(pool_text(pool, 9).empty());
    CHECK(pool_text(pool, 0xffffffffU).empty());
    pool.pop_back();   // a last text without its NUL ends with the pool
    CHECK(pool_text(pool, last) == "fc");
}

TEST_CASE("sizes near 2 GiB are refused before they are built") {
    CHECK_NOTHROW(guard_artifact_size(0));
    CHECK_NOTHROW(guard_artifact_size(1U << 30U));
    CHECK_THROWS_AS(guard_artifact_size(0x7fffffffU), Failure);
    CHECK_THROWS_AS(guard_artifact_size(std::size_t{1} << 40U), Failure);
    try {
        guard_artifact_size(0x7fffffffU);
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::system);
    }
}

TEST_CASE("checked arithmetic") {
    CHECK(checked_add(std::int64_t{5}, std::int64_t{-7}) == -2);
    CHECK_THROWS_AS(static_cast<void>(checked_add(std::numeric_limits<std::int64_t>::max(), std::int64_t{1})), Failure);
    CHECK_THROWS_AS(static_cast<void>(checked_multiply(std::uint64_t{1} << 33U, std::uint64_t{1} << 31U)), Failure);
    CHECK(checked_multiply(std::uint64_t{1} << 32U, std::uint64_t{1} << 31U) == std::uint64_t{1} << 63U);
    CHECK(ceil_divide(7, 3) == 3);
    CHECK(ceil_divide(6, 3) == 2);
    CHECK(ceil_divide(0, 3) == 0);
    CHECK(narrow<std::uint8_t>(255) == 255);
    CHECK_THROWS_AS(static_cast<void>(narrow<std::uint8_t>(256)), Failure);
    CHECK_THROWS_AS(static_cast<void>(narrow<std::uint32_t>(-1)), Failure);
    CHECK_THROWS_AS(static_cast<void>(narrow<std::int32_t>(0x80000000U)), Failure);
}

TEST_CASE("ids of different tables do not mix") {
    static_assert(!std::is_convertible_v<CoreId, LaneId>);
    static_assert(!std::is_convertible_v<std::uint32_t, CoreId>);
    CHECK(CoreId::none().is_none());
    CHECK_FALSE(CoreId(0).is_none());
    CHECK(CoreId(3) < CoreId(4));
    CHECK(CoreId::none().value == no_id);
}

}  // namespace
