#include "artifact/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>

namespace weft {

Hash128 hash_bytes(std::span<const std::byte> bytes) {
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return {hash.high64, hash.low64};
}

std::string to_hex(Hash128 hash) { return fmt::format("{:016x}{:016x}", hash.high, hash.low); }

bool parse_hex(std::string_view text, Hash128& hash) {
    if (text.size() != 32) return false;
    const auto half = [&](std::size_t first, std::uint64_t& value) {
        const char* begin = text.data() + first;
        const auto [end, error] = std::from_chars(begin, begin + 16, value, 16);
        return error == std::errc{} && end == begin + 16;
    };
    return half(0, hash.high) && half(16, hash.low);
}

}  // namespace weft
