#pragma once

#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "artifact/columns.h"
#include "artifact/file.h"
#include "artifact/hash.h"

namespace weft {

/// Semantic rules of one kind beyond FlatBuffers' structure: equal column lengths, monotone CSR offsets, ids in range, known
/// enums. Each kind defines its own in validate_<kind>.cpp; a violation throws Failure(bad_input) naming file, column, row.
template <class Kind>
void validate(const Kind& columns, std::string_view file);

/// Verified and validated columns over `bytes`, which must outlive the result.
template <class Kind>
[[nodiscard]] Kind read_artifact(std::span<const std::byte> bytes, std::string_view file) {
    using Traits = ArtifactTraits<Kind>;
    constexpr std::size_t smallest = 8;
    if (bytes.size() < smallest || std::memcmp(bytes.data() + 4, Traits::identifier.data(), 4) != 0) {
        bad_input("{}: not a .{} artifact (identifier '{}' is not at byte 4)", file, Traits::extension, Traits::identifier);
    }
    if (!Traits::verify(bytes)) bad_input("{}: damaged .{} artifact (FlatBuffers verification or exact size failed)", file, Traits::extension);
    Kind columns = Traits::read(bytes, file);
    validate(columns, file);
    return columns;
}

/// A mapped artifact: the file and the spans over it.
template <class Kind>
class Artifact {
public:
    explicit Artifact(const std::filesystem::path& path)
        : file_(std::make_unique<MappedFile>(path)), columns_(read_artifact<Kind>(file_->bytes(), file_->name())) {}

    [[nodiscard]] const Kind& operator*() const { return columns_; }
    [[nodiscard]] const Kind* operator->() const { return &columns_; }
    [[nodiscard]] Hash128 hash() const { return hash_bytes(file_->bytes()); }
    [[nodiscard]] const std::string& name() const { return file_->name(); }

private:
    std::unique_ptr<MappedFile> file_;
    Kind columns_;
};

/// Encode, guard the size, and publish atomically. Returns the hash of the bytes.
template <class Kind>
Hash128 write_artifact(const std::filesystem::path& path, const Kind& columns) {
    validate(columns, path.string());
    const flatbuffers::DetachedBuffer buffer = serialize(columns);
    const auto bytes = std::as_bytes(std::span(buffer.data(), buffer.size()));
    guard_artifact_size(bytes.size());
    publish_file(path, bytes);
    return hash_bytes(bytes);
}

}  // namespace weft
