#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/failure.h"

namespace weft {

template <class T>
using OwnedColumn = std::vector<T>;
template <class T>
using SpanColumn = std::span<const T>;

/// Specialised per artifact kind by the generated code: identifier, extension, verify, read.
template <class Kind>
struct ArtifactTraits;

/// FlatBuffers' default of a million tables rejects large valid files.
inline constexpr flatbuffers::uoffset_t artifact_table_limit = 1U << 30U;

/// Largest artifact: FlatBuffers offsets are 31 bits, and release builders do not check. Throws Failure(system) above.
void guard_artifact_size(std::size_t bytes);

[[noreturn]] void missing_column(std::string_view file, std::string_view name);
[[noreturn]] void misaligned_column(std::string_view file, std::string_view name);

/// A span of plain rows over a FlatBuffers vector of the same layout (little-endian hosts only, checked at compile time).
template <class Row, class Vector>
std::span<const Row> column(const Vector* vector, std::string_view file, std::string_view name) {
    static_assert(FLATBUFFERS_LITTLEENDIAN == 1, "artifacts are mapped as they are, so the host must be little-endian");
    if (vector == nullptr) missing_column(file, name);
    if (vector->size() == 0) return {};
    // FlatBuffers' verifier looks at the alignment of lengths only, not at that of elements of eight bytes.
    if (reinterpret_cast<std::uintptr_t>(vector->Data()) % alignof(Row) != 0) misaligned_column(file, name);
    return {reinterpret_cast<const Row*>(vector->Data()), vector->size()};
}

/// The NUL-terminated text at `offset` of a name pool; empty where the offset is outside.
[[nodiscard]] std::string_view pool_text(std::span<const std::uint8_t> pool, std::uint32_t offset);

/// Append `text` and its NUL; returns its offset.
std::uint32_t pool_append(std::vector<std::uint8_t>& pool, std::string_view text);

}  // namespace weft
