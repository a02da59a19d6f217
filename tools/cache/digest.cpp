#include "cache/digest.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "artifact/file.h"
#include "artifact/hash.h"
#include "base/failure.h"

namespace weft::cache {
namespace {

// Files up to this size are read in less time than they are mapped and unmapped.
constexpr off_t read_bytes = off_t{256} << 10U;

/// False where the file is large, no regular file, or cannot be read this way.
bool read_small(const std::string& path, std::vector<std::byte>& bytes) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    struct stat status {};
    bool good = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= read_bytes;
    if (good) {
        bytes.resize(static_cast<std::size_t>(status.st_size));
        good = ::read(file, bytes.data(), bytes.size()) == status.st_size;
    }
    ::close(file);
    return good;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
    sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> result{};
    sha256_digest(&context, result.size(), result.data());
    std::string text;
    for (const std::uint8_t byte : result) text += fmt::format("{:02x}", byte);
    return text;
}

}  // namespace

std::string_view algorithm_tag(Algorithm algorithm) { return algorithm == Algorithm::sha256 ? "sha256" : "xxh3-128"; }

Algorithm parse_algorithm(std::string_view tag) {
    for (const Algorithm one : {Algorithm::xxh3_128, Algorithm::sha256}) {
        if (tag == algorithm_tag(one)) return one;
    }
    throw Failure(ExitStatus::usage, fmt::format("no hash is called '{}'; known are xxh3-128 and sha256", tag));
}

std::string digest(Algorithm algorithm, std::span<const std::byte> bytes) {
    return algorithm == Algorithm::sha256 ? sha256_hex(bytes) : to_hex(hash_bytes(bytes));
}

std::string digest(Algorithm algorithm, std::string_view text) { return digest(algorithm, std::as_bytes(std::span(text.data(), text.size()))); }

std::string digest_file(Algorithm algorithm, const std::string& path) {
    static thread_local std::vector<std::byte> buffer;
    if (read_small(path, buffer)) return digest(algorithm, std::span<const std::byte>(buffer));
    return digest(algorithm, MappedFile(path).bytes());
}

}  // namespace weft::cache
