#include "artifact/blob_store.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "artifact/file.h"
#include "base/failure.h"

namespace weft {
namespace {

// Level 1: weights of trained networks hardly compress further, and the frontend's time is what users feel.
constexpr int compression_level = 1;
// Above this share of its size, a blob is stored as it is, in raw blocks of a zstd frame: trained f32 weights compress to
// 0.92 of their size at a tenth of the speed.
constexpr std::size_t worthwhile_percent = 85;
constexpr std::size_t sample_bytes = 16384;
constexpr std::size_t sample_count = 4;
// The largest block of the format.
constexpr std::size_t block_bytes = 128 * 1024;

std::vector<std::byte> compressed(std::span<const std::byte> raw) {
    std::vector<std::byte> packed(ZSTD_compressBound(raw.size()));
    const std::size_t size = ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), compression_level);
    if (ZSTD_isError(size) != 0U) system_failure("zstd: {}", ZSTD_getErrorName(size));
    packed.resize(size);
    return packed;
}

/// Judged by samples at fixed places, so that the same bytes are always stored the same way.
bool compresses(std::span<const std::byte> raw) {
    std::size_t before = 0;
    std::size_t after = 0;
    for (std::size_t i = 0; i < sample_count; ++i) {
        const std::size_t first = raw.size() / sample_count * i;
        const auto sample = raw.subspan(first, std::min(sample_bytes, raw.size() - first));
        before += sample.size();
        after += compressed(sample).size();
    }
    return after * 100 < before * worthwhile_percent;
}

void append_little_endian(std::vector<std::byte>& out, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i) & 0xffU));
}

/// A zstd frame (RFC 8878) of raw blocks: one segment, the content's size in 8 bytes, no checksum (the name is a hash).
void publish_raw_frame(const std::filesystem::path& path, std::span<const std::byte> raw) {
    std::vector<std::byte> headers;
    append_little_endian(headers, 0xfd2fb528U, 4);
    append_little_endian(headers, 0xe0U, 1);
    append_little_endian(headers, raw.size(), 8);
    const std::size_t first_header = headers.size();
    const std::size_t blocks = std::max<std::size_t>(1, (raw.size() + block_bytes - 1) / block_bytes);
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t size = std::min(block_bytes, raw.size() - block * block_bytes);
        append_little_endian(headers, size << 3U | (block + 1 == blocks ? 1U : 0U), 3);
    }
    std::vector<std::span<const std::byte>> parts;
    parts.reserve(2 * blocks + 1);
    parts.push_back(std::span(headers).first(first_header));
    for (std::size_t block = 0; block < blocks; ++block) {
        parts.push_back(std::span(headers).subspan(first_header + 3 * block, 3));
        parts.push_back(raw.subspan(block * block_bytes, std::min(block_bytes, raw.size() - block * block_bytes)));
    }
    publish_parts(path, parts, false);
}

}  // namespace

std::filesystem::path BlobStore::path_of(Hash128 hash) const { return folder_ / (to_hex(hash) + ".zst"); }

Hash128 BlobStore::put(std::span<const std::byte> raw) {
    const Hash128 hash = hash_bytes(raw);
    const auto path = path_of(hash);
    std::error_code error;
    if (std::filesystem::exists(path, error)) return hash;
    std::filesystem::create_directories(folder_, error);
    if (error) system_failure("{}: cannot create folder: {}", folder_.string(), error.message());
    // Blobs are checked by their hash when read, so they are not synced one by one.
    if (compresses(raw)) {
        const auto packed = compressed(raw);
        const std::array<std::span<const std::byte>, 1> parts = {packed};
        publish_parts(path, parts, false);
    } else {
        publish_raw_frame(path, raw);
    }
    return hash;
}

std::vector<float> BlobStore::get_f32(Hash128 hash, std::size_t elem_count) const {
    const auto path = path_of(hash);
    const MappedFile file(path);
    const auto declared = ZSTD_getFrameContentSize(file.bytes().data(), file.bytes().size());
    if (declared != elem_count * sizeof(float)) {
        bad_input("{}: holds {} bytes, {} expected", path.string(), declared, elem_count * sizeof(float));
    }
    std::vector<float> values(elem_count);
    const std::size_t size =
        ZSTD_decompress(values.data(), values.size() * sizeof(float), file.bytes().data(), file.bytes().size());
    if (ZSTD_isError(size) != 0U) bad_input("{}: damaged: {}", path.string(), ZSTD_getErrorName(size));
    if (hash_bytes(std::as_bytes(std::span(values))) != hash) bad_input("{}: damaged: its hash differs", path.string());
    return values;
}

}  // namespace weft
