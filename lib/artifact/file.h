#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// A whole file, mapped privately and read-only for as long as the object lives. Artifacts are immutable once published, so
/// the mapping never changes under a reader.
class MappedFile {
public:
    /// Throws Failure(bad_input) where the file cannot be opened or is no regular file.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    std::string name_;
    std::span<const std::byte> bytes_;
};

/// Publish `bytes` as `path`: temporary file in the same folder, sync, rename. On failure nothing is left behind and an
/// earlier file of that name stays. Throws Failure(system). "-" writes to standard output.
void publish_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// The same for a file in several parts. Without `sync`, a crash of the machine may leave a damaged file, so only for content
/// whose readers check its hash.
void publish_parts(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts, bool sync);
void publish_text(const std::filesystem::path& path, std::string_view text);

/// A whole small text file. Throws Failure(bad_input).
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

}  // namespace weft
