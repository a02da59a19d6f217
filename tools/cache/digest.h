#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::cache {

/// How a store names its content. XXH3-128 finds errors and is fast; SHA-256 also resists people who choose bytes, for stores
/// that not only trusted users write.
enum class Algorithm : std::uint8_t { xxh3_128, sha256 };

/// "xxh3-128" or "sha256": the name in FORMAT files and in paths.
[[nodiscard]] std::string_view algorithm_tag(Algorithm algorithm);
/// Throws Failure(usage) where `tag` is unknown.
[[nodiscard]] Algorithm parse_algorithm(std::string_view tag);

/// Lower-case hexadecimal digits: 32 (as xxhsum -H2 prints) or 64 (as sha256sum prints).
[[nodiscard]] std::string digest(Algorithm algorithm, std::span<const std::byte> bytes);
[[nodiscard]] std::string digest(Algorithm algorithm, std::string_view text);
/// Throws Failure(bad_input) where the file cannot be read.
[[nodiscard]] std::string digest_file(Algorithm algorithm, const std::string& path);

/// A stored or hashed file: its digest and size.
struct Content {
    std::string hash;
    std::uint64_t size = 0;
    bool operator==(const Content&) const = default;
};

}  // namespace weft::cache
