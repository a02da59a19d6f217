#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "artifact/hash.h"

namespace weft {

/// A folder of weight tensors, each stored once: <hash>.zst, a zstd frame (of raw blocks where compressing does not pay), named by
/// the XXH3-128 of its raw bytes.
/// Stages that write artifacts never read it; only simulate and export do.
class BlobStore {
public:
    explicit BlobStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Store raw bytes (creates the folder). Cheap where the blob is already there. Many writers are safe.
    Hash128 put(std::span<const std::byte> raw);

    /// The raw f32 values of a blob; checks size and hash. Throws Failure(bad_input) naming the missing or damaged blob.
    [[nodiscard]] std::vector<float> get_f32(Hash128 hash, std::size_t elem_count) const;

    [[nodiscard]] std::filesystem::path path_of(Hash128 hash) const;

private:
    std::filesystem::path folder_;
};

}  // namespace weft
