#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// XXH3-128 of some bytes; prints as the 32 hexadecimal digits of `xxhsum -H2`.
struct Hash128 {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    auto operator<=>(const Hash128&) const = default;
};

[[nodiscard]] Hash128 hash_bytes(std::span<const std::byte> bytes);
[[nodiscard]] std::string to_hex(Hash128 hash);
/// False where `text` is not 32 hexadecimal digits.
[[nodiscard]] bool parse_hex(std::string_view text, Hash128& hash);

}  // namespace weft
