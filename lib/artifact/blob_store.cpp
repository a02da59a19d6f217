#include "artifact/blob_store.h"

#include <zstd.h>

#include "artifact/file.h"
#include "base/failure.h"

namespace weft {
namespace {
// Level 1: weights of trained networks hardly compress further, and the frontend's time is what users feel.
constexpr int compression_level = 1;
}  // namespace

std::filesystem::path BlobStore::path_of(Hash128 hash) const { return folder_ / (to_hex(hash) + ".zst"); }

Hash128 BlobStore::put(std::span<const std::byte> raw) {
    const Hash128 hash = hash_bytes(raw);
    const auto path = path_of(hash);
    std::error_code error;
    if (std::filesystem::exists(path, error)) return hash;
    std::filesystem::create_directories(folder_, error);
    if (error) system_failure("{}: cannot create folder: {}", folder_.string(), error.message());
    std::vector<std::byte> packed(ZSTD_compressBound(raw.size()));
    const std::size_t size = ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), compression_level);
    if (ZSTD_isError(size) != 0U) system_failure("{}: zstd: {}", path.string(), ZSTD_getErrorName(size));
    publish_file(path, std::span(packed).first(size));
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
