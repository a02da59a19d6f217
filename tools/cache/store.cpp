#include "cache/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <vector>

#include "artifact/file.h"
#include "base/failure.h"

namespace weft::cache {
namespace {

constexpr std::string_view format_prefix = "weft-store 1 ";
// Smaller inputs are hashed in less time than their remembered digest is looked up.
constexpr std::uint64_t remembered_input_bytes = std::uint64_t{1} << 20U;
// A file changed within this time of its hashing may change again without a new time stamp.
constexpr std::int64_t racy_seconds = 2;

struct Descriptor {
    int number = -1;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

void sync_file(const fs::path& path) {
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.number < 0 || ::fsync(file.number) != 0) system_failure("{}: cannot sync: {}", path.string(), std::strerror(errno));
}

std::optional<struct stat> status_of(const fs::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return status;
}

/// A file that others may still reach by another name, or a link, is copied: an object must have one owner only.
void make_private(const fs::path& staged) {
    struct stat status {};
    if (::lstat(staged.c_str(), &status) != 0) system_failure("{}: {}", staged.string(), std::strerror(errno));
    if (S_ISREG(status.st_mode) && status.st_nlink == 1) return;
    const fs::path copy = staged.string() + ".copy";
    std::error_code error;
    if (!fs::copy_file(staged, copy, error) || error) system_failure("{}: cannot copy: {}", staged.string(), error.message());
    fs::rename(copy, staged, error);
    if (error) system_failure("{}: cannot rename: {}", staged.string(), error.message());
}

}  // namespace

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    return name.data();
}

void make_folders(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) system_failure("{}: cannot create folder: {}", path.string(), error.message());
}

Store::Store(fs::path root, std::optional<Algorithm> wanted, bool read_only) : root_(std::move(root)), read_only_(read_only) {
    const fs::path format = root_ / "FORMAT";
    std::error_code error;
    if (!fs::exists(format, error)) {
        if (read_only_) return;
        make_format(wanted);
    }
    std::string text = read_text(format);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (!text.starts_with(format_prefix)) bad_input("{}: not a store that this version of weft understands ('{}')", format.string(), text);
    algorithm_ = parse_algorithm(std::string_view(text).substr(format_prefix.size()));
    if (wanted && *wanted != algorithm_) {
        refuse("{}: the store is named by {}, not by {}; use another folder", root_.string(), algorithm_tag(algorithm_), algorithm_tag(*wanted));
    }
    exists_ = true;
}

/// Two makers may meet here: what one writes the other overwrites with the same bytes, or notices as another wish on reading.
void Store::make_format(std::optional<Algorithm> wanted) {
    std::error_code error;
    if (fs::is_directory(root_, error) && !fs::is_empty(root_, error)) {
        for (const auto& entry : fs::directory_iterator(root_)) {
            const std::string name = entry.path().filename().string();
            if (!name.starts_with("FORMAT") && !fs::exists(root_ / "FORMAT", error)) {   // else another process has just made it
                bad_input("{}: neither empty nor a store (no FORMAT); choose an empty or new folder", root_.string());
            }
        }
    }
    make_folders(root_);
    publish_text(root_ / "FORMAT", fmt::format("{}{}\n", format_prefix, algorithm_tag(wanted.value_or(Algorithm::xxh3_128))));
}

fs::path Store::hashed_path(std::string_view folder, const std::string& hash) const {
    return root_ / folder / algorithm_tag(algorithm_) / hash.substr(0, 2) / hash;
}

fs::path Store::object_path(const std::string& hash) const { return hashed_path("objects", hash); }
fs::path Store::action_path(const std::string& key) const { return hashed_path("actions", key); }

Content Store::add_object(const fs::path& staged, bool sync) {
    make_private(staged);
    Content content;
    {
        const MappedFile file(staged);
        content = {digest(algorithm_, file.bytes()), file.bytes().size()};
    }
    const fs::path place = object_path(content.hash);
    const auto present = status_of(place);
    if (present && static_cast<std::uint64_t>(present->st_size) == content.size) {
        ::unlink(staged.c_str());
        return content;
    }
    if (present) quarantine(place);
    if (::chmod(staged.c_str(), 0444) != 0) system_failure("{}: cannot set permissions: {}", staged.string(), std::strerror(errno));
    if (sync) sync_file(staged);
    if (::link(staged.c_str(), place.c_str()) != 0) {
        make_folders(place.parent_path());
        if (::link(staged.c_str(), place.c_str()) != 0) {
            // Another writer was first; on network file systems a repeated call may fail although it succeeded.
            const int code = errno;
            const auto now = status_of(place);
            if (!now || static_cast<std::uint64_t>(now->st_size) != content.size) {
                system_failure("{}: cannot publish: {}", place.string(), std::strerror(code));
            }
        }
    }
    ::unlink(staged.c_str());
    return content;
}

Content Store::add_text(const fs::path& staging, std::string_view text) {
    const fs::path file = staging / "text";
    publish_text(file, text);
    return add_object(file, false);   // publish_text has synced it
}

Store::State Store::check_object(const Content& object, bool contents) const {
    const fs::path path = object_path(object.hash);
    const auto status = status_of(path);
    if (!status) return State::missing;
    if (static_cast<std::uint64_t>(status->st_size) != object.size) return State::damaged;
    if (!contents) return State::good;
    return digest_file(algorithm_, path) == object.hash ? State::good : State::damaged;
}

void Store::quarantine(const fs::path& path) const {
    if (read_only_) return;
    make_folders(root_ / "quarantine");
    const fs::path place = root_ / "quarantine" / fmt::format("{}.{}.{}", path.filename().string(), host_name(), ::getpid());
    ::rename(path.c_str(), place.c_str());   // where another process was first there is nothing left to do
}

std::optional<std::string> Store::object_of_link(const fs::path& path) const {
    std::error_code error;
    if (!fs::is_symlink(path, error)) return std::nullopt;
    fs::path target = fs::read_symlink(path, error);
    if (error) return std::nullopt;
    const std::string name = target.filename().string();
    if (target.is_relative()) target = path.parent_path() / target;
    const auto objects = fs::weakly_canonical(root_ / "objects" / algorithm_tag(algorithm_), error);
    if (fs::weakly_canonical(target.parent_path().parent_path(), error) != objects) return std::nullopt;
    return name;
}

void Store::publish_checked(const fs::path& path, std::string_view text) const {
    make_folders(path.parent_path());
    StagingFolder staging(root_ / "tmp");
    const fs::path file = staging.path() / "checked";
    publish_text(file, fmt::format("{}\n{}", digest(algorithm_, text), text));
    if (::rename(file.c_str(), path.c_str()) != 0) system_failure("{}: cannot publish: {}", path.string(), std::strerror(errno));
}

std::optional<std::string> Store::read_checked(const fs::path& path) const {
    if (!status_of(path)) return std::nullopt;
    std::string text;
    try {
        text = read_text(path);
    } catch (const Failure&) {
        return std::nullopt;   // gone meanwhile, or unreadable: the same as never there
    }
    const std::size_t end = text.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string rest = text.substr(end + 1);
    if (digest(algorithm_, rest) != std::string_view(text).substr(0, end)) return std::nullopt;
    return rest;
}

Content Store::hash_input(const std::string& path) const {
    const auto before = status_of(path);
    if (!before) bad_input("{}: cannot open: {}", path, std::strerror(errno));
    const auto size = static_cast<std::uint64_t>(before->st_size);
    const bool settled = ::time(nullptr) - std::max(before->st_mtim.tv_sec, before->st_ctim.tv_sec) > racy_seconds;
    if (size < remembered_input_bytes || !settled || object_of_link(path)) return {digest_file(algorithm_, path), size};
    const std::string stamp =
        digest(algorithm_, fmt::format("{}\n{} {} {} {}.{} {}.{}", host_name(), before->st_dev, before->st_ino, before->st_size, before->st_mtim.tv_sec,
                                       before->st_mtim.tv_nsec, before->st_ctim.tv_sec, before->st_ctim.tv_nsec));
    const fs::path memory = root_ / "inputs" / stamp.substr(0, 2) / stamp;
    if (auto known = read_checked(memory)) return {*known, size};
    const std::string hash = digest_file(algorithm_, path);
    if (!read_only_) publish_checked(memory, hash);
    return {hash, size};
}

void Store::for_each_file(const fs::path& folder, const std::function<void(const fs::path&)>& visit) const {
    std::error_code error;
    std::vector<fs::path> files;
    // Other processes add and remove entries meanwhile; what vanishes is skipped.
    for (fs::recursive_directory_iterator entry(root_ / folder, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code gone;
        if (entry->is_regular_file(gone)) files.push_back(entry->path());
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) visit(file);
}

void Store::log(std::string_view line) const {
    if (read_only_) return;
    const fs::path file = root_ / "log" / (host_name() + ".tsv");
    int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == ENOENT) {
        make_folders(file.parent_path());
        descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    }
    if (descriptor < 0) return;
    // A line that is lost costs a figure of `stats`, nothing else.
    [[maybe_unused]] const auto written = ::write(descriptor, line.data(), line.size());
    ::close(descriptor);
}

StagingFolder::StagingFolder(const fs::path& parent) {
    std::string pattern = (parent / fmt::format("{}.{}.XXXXXX", host_name(), ::getpid())).string();
    if (::mkdtemp(pattern.data()) == nullptr) {
        make_folders(parent);
        pattern.replace(pattern.size() - 6, 6, "XXXXXX");
        if (::mkdtemp(pattern.data()) == nullptr) system_failure("{}: cannot create a folder there: {}", parent.string(), std::strerror(errno));
    }
    // mkdtemp gives it to one user only; what the command writes follows the caller's umask.
    path_ = pattern;
}

StagingFolder::~StagingFolder() {
    std::error_code error;
    if (!keep_) fs::remove_all(path_, error);
}

}  // namespace weft::cache
