#include "artifact/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/failure.h"

namespace weft {
namespace {

/// Owns a descriptor.
struct Descriptor {
    int number = -1;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

bool write_all(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

/// Many parts with few system calls; what a call leaves over is written plainly.
bool write_parts(int descriptor, std::span<const std::span<const std::byte>> parts) {
    constexpr std::size_t batch_limit = 512;
    std::array<iovec, batch_limit> vectors;
    while (!parts.empty()) {
        const std::size_t batch = std::min(batch_limit, parts.size());
        for (std::size_t i = 0; i < batch; ++i) vectors[i] = {const_cast<std::byte*>(parts[i].data()), parts[i].size()};
        ssize_t written = ::writev(descriptor, vectors.data(), static_cast<int>(batch));
        if (written < 0 && errno != EINTR) return false;
        std::size_t done = written < 0 ? 0 : static_cast<std::size_t>(written);
        for (const auto part : parts.first(batch)) {
            const std::size_t skipped = std::min(done, part.size());
            done -= skipped;
            if (!write_all(descriptor, part.subspan(skipped))) return false;
        }
        parts = parts.subspan(batch);
    }
    return true;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : name_(path.string()) {
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};   // a pipe without writer would block
    if (file.number < 0) bad_input("{}: cannot open: {}", name_, std::strerror(errno));
    struct stat status {};
    if (::fstat(file.number, &status) != 0) bad_input("{}: cannot stat: {}", name_, std::strerror(errno));
    if (!S_ISREG(status.st_mode)) bad_input("{}: not a regular file", name_);
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) return;
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
    if (address == MAP_FAILED) system_failure("{}: cannot map: {}", name_, std::strerror(errno));
    bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : name_(std::move(other.name_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

void publish_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    if (path == "-") {
        if (!write_all(STDOUT_FILENO, bytes)) system_failure("standard output: {}", std::strerror(errno));
        return;
    }
    publish_parts(path, std::span(&bytes, 1), true);
}

void publish_parts(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts, bool sync) {
    std::string temporary = path.string() + ".XXXXXX";
    const auto fail = [&](const char* what) {
        const int code = errno;
        ::unlink(temporary.c_str());
        system_failure("{}: cannot {}: {}", path.string(), what, std::strerror(code));
    };
    Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};
    if (file.number < 0) system_failure("{}: cannot create: {}", path.string(), std::strerror(errno));
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(file.number, 0666 & ~mask) != 0) fail("set permissions");
    if (!write_parts(file.number, parts)) fail("write");
    if (sync && ::fsync(file.number) != 0) fail("sync");
    if (::close(std::exchange(file.number, -1)) != 0) fail("close");
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail("rename");
}

void publish_text(const std::filesystem::path& path, std::string_view text) {
    publish_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

std::string read_text(const std::filesystem::path& path) {
    const MappedFile file(path);
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace weft
