#include "export/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/failure.h"

namespace weft {
namespace {

bool is_export_file(const std::string& name) {
    return name == "config.json" || name == "chip.json" || name == "network.json" || name == "image.json" || name.starts_with("core_");
}

/// Flush what `path` holds to its disk; folders too.
void sync_path(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool good = descriptor >= 0 && ::fsync(descriptor) == 0;
    const int code = errno;
    if (descriptor >= 0) ::close(descriptor);
    if (!good) system_failure("{}: cannot sync: {}", path.string(), std::strerror(code));
}

}  // namespace

DirectoryPublisher::DirectoryPublisher(std::filesystem::path path) : path_(std::move(path)) {
    // "out/" means "out"; an empty last part would put the temporary folder inside.
    if (!path_.has_filename()) path_ = path_.parent_path();
    std::error_code error;
    if (std::filesystem::exists(path_, error)) {
        if (!std::filesystem::is_directory(path_, error)) refuse("{}: exists and is no folder; remove it or choose another name", path_.string());
        for (const auto& entry : std::filesystem::directory_iterator(path_)) {
            if (is_export_file(entry.path().filename().string())) continue;
            refuse("{}: holds {}, which is no part of an export; choose an empty or new folder", path_.string(), entry.path().filename().string());
        }
    }
    std::string pattern = path_.string() + ".XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) system_failure("{}: cannot create folder: {}", path_.string(), std::strerror(errno));
    temporary_ = pattern;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::chmod(pattern.c_str(), 0777 & ~mask) != 0) system_failure("{}: cannot set permissions: {}", pattern, std::strerror(errno));
}

DirectoryPublisher::~DirectoryPublisher() {
    std::error_code error;
    if (!published_) std::filesystem::remove_all(temporary_, error);
}

void DirectoryPublisher::add(const std::string& name, std::string_view content) {
    const auto path = temporary_ / name;
    std::FILE* file = std::fopen(path.c_str(), "wbe");
    if (file == nullptr) system_failure("{}: cannot create: {}", (path_ / name).string(), std::strerror(errno));
    const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    const int write_code = errno;
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed) system_failure("{}: cannot write: {}", (path_ / name).string(), std::strerror(written ? errno : write_code));
}

void DirectoryPublisher::publish() {
    for (const auto& entry : std::filesystem::directory_iterator(temporary_)) sync_path(entry.path());
    sync_path(temporary_);
    // A folder cannot be renamed over one that is not empty, so an earlier export changes places with the new one.
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) {
        published_ = true;
        std::error_code error;
        std::filesystem::remove_all(temporary_, error);
        return;
    }
    std::error_code error;
    if (errno == EINVAL) std::filesystem::remove_all(path_, error);   // a file system without exchange
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) system_failure("{}: cannot rename: {}", path_.string(), std::strerror(errno));
    published_ = true;
}

}  // namespace weft
