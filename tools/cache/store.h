#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cache/digest.h"

namespace weft::cache {

namespace fs = std::filesystem;

/// A folder that many processes and machines read and write without locks:
///
///   FORMAT                          "weft-store 1 xxh3-128"
///   objects/xxh3-128/ab/<hash>      contents, read-only, named by their digest; never changed
///   actions/xxh3-128/cd/<key>       records of what a command made (see record.h)
///   actions/xxh3-128/cd/<key>.deps/ lists of files that a command found while running, named by the list's digest
///   inputs/ab/<stamp>               digests of large input files, by their file status
///   roots/<name>                    what gc keeps
///   tmp/HOST.PID.RANDOM/            work in progress
///   quarantine/, trash/, log/, locks/
///
/// Names appear only once their content is complete (link or rename of a finished, synced file), so a reader never sees a part,
/// and a killed writer leaves only rubbish in tmp/.
class Store {
public:
    /// Opens the store or makes a new one with `wanted` (an existing one decides for itself; another explicit wish is refused).
    /// A read-only store is never written and must exist.
    Store(fs::path root, std::optional<Algorithm> wanted, bool read_only);

    [[nodiscard]] const fs::path& root() const { return root_; }
    [[nodiscard]] Algorithm algorithm() const { return algorithm_; }
    [[nodiscard]] bool read_only() const { return read_only_; }
    [[nodiscard]] bool exists() const { return exists_; }

    [[nodiscard]] fs::path object_path(const std::string& hash) const;
    [[nodiscard]] fs::path action_path(const std::string& key) const;

    /// Moves a finished file of tmp/ into objects/ (or drops it where its content is there already). `sync` writes it through
    /// to the disk first; without it a crash of the machine may leave a damaged object, which readers then notice.
    Content add_object(const fs::path& staged, bool sync);
    Content add_text(const fs::path& staging, std::string_view text);

    enum class State : std::uint8_t { good, missing, damaged };
    /// Reads the whole object where `contents`, else looks at its size only.
    [[nodiscard]] State check_object(const Content& object, bool contents) const;
    /// Moves a damaged file out of the way, so that nothing finds it again.
    void quarantine(const fs::path& path) const;

    /// The hash that `path` points at where it is a link into this store's objects.
    [[nodiscard]] std::optional<std::string> object_of_link(const fs::path& path) const;

    /// A small file that readers can check: its first line carries the digest of the rest. Publication is atomic.
    void publish_checked(const fs::path& path, std::string_view text) const;
    /// Nothing where the file is missing or damaged.
    [[nodiscard]] std::optional<std::string> read_checked(const fs::path& path) const;

    /// Digest and size of an input. Large files that did not change lately are hashed once per machine.
    [[nodiscard]] Content hash_input(const std::string& path) const;

    /// Calls `visit` for every regular file below `folder` of the store, in order of names.
    void for_each_file(const fs::path& folder, const std::function<void(const fs::path&)>& visit) const;

    /// Appends one line to this machine's log.
    void log(std::string_view line) const;

private:
    [[nodiscard]] fs::path hashed_path(std::string_view folder, const std::string& hash) const;
    void make_format(std::optional<Algorithm> wanted);

    fs::path root_;
    Algorithm algorithm_ = Algorithm::xxh3_128;
    bool read_only_ = false;
    bool exists_ = false;
};

/// A folder in tmp/ of a store (or beside an output, for read-only stores) that is gone with the object.
class StagingFolder {
public:
    explicit StagingFolder(const fs::path& parent);
    ~StagingFolder();
    StagingFolder(const StagingFolder&) = delete;
    StagingFolder& operator=(const StagingFolder&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }
    /// Leaves the folder to whoever is told its name.
    void keep() { keep_ = true; }

private:
    fs::path path_;
    bool keep_ = false;
};

/// This machine's name, for records, logs and temporary names.
[[nodiscard]] std::string host_name();
void make_folders(const fs::path& path);

}  // namespace weft::cache
