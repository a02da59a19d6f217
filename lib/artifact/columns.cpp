#include "artifact/columns.h"

#include <algorithm>

#include "base/checked.h"

namespace weft {

void guard_artifact_size(std::size_t bytes) {
    constexpr std::size_t limit = 0x7fffffffU - (1U << 20U);
    if (bytes > limit) {
        system_failure("an artifact of {} bytes passes the limit of 2 GiB; split the work (smaller model, fewer lanes)", bytes);
    }
}

void missing_column(std::string_view file, std::string_view name) {
    bad_input("{}: column '{}' is missing; was it written by another program?", file, name);
}

void misaligned_column(std::string_view file, std::string_view name) {
    bad_input("{}: column '{}' does not start at a multiple of its elements' alignment; the file is damaged", file, name);
}

std::string_view pool_text(std::span<const std::uint8_t> pool, std::uint32_t offset) {
    if (offset >= pool.size()) return {};
    const auto rest = pool.subspan(offset);
    const auto end = std::find(rest.begin(), rest.end(), std::uint8_t{0});
    return {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin())};
}

std::uint32_t pool_append(std::vector<std::uint8_t>& pool, std::string_view text) {
    const auto offset = narrow<std::uint32_t>(pool.size());
    pool.insert(pool.end(), text.begin(), text.end());
    pool.push_back(0);
    return offset;
}

}  // namespace weft
