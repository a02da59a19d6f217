#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "reference/tensor.h"

namespace weft {

/// A tensor from a NumPy .npy file (versions 1 to 3, C order, little-endian): float16/32/64, int8/16/32/64, uint8/16/32/64, bool.
/// Throws Failure(bad_input) naming the file.
[[nodiscard]] HostTensor read_npy(const std::filesystem::path& path);

/// The same from bytes; `file` is for messages.
[[nodiscard]] HostTensor parse_npy(std::span<const std::byte> bytes, std::string_view file);

/// Publish `tensor` as a float32 .npy file, version 1.0; the same bytes as numpy.save writes.
void write_npy(const std::filesystem::path& path, const HostTensor& tensor);

/// IEEE half precision to single, exactly; and single to half, to nearest even.
[[nodiscard]] float half_to_float(std::uint16_t half);
[[nodiscard]] std::uint16_t float_to_half(float value);

}  // namespace weft
