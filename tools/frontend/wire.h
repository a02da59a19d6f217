#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::frontend {

/// The model's protobuf bytes without what need not be parsed: documentation texts are dropped, and `raw_data` of tensors
/// above a few hundred bytes is replaced by a reference to its place in `model`, kept in the tensor's doc_string field.
/// Parsing the result takes memory and time for the structure alone, and weights are read where they lie in the mapped file.
/// Throws Failure(bad_input) where the bytes are no protobuf message.
[[nodiscard]] std::string strip_weights(std::span<const std::byte> model);

/// The bytes of `model` that a stripped tensor's doc_string refers to.
[[nodiscard]] std::span<const std::byte> stripped_bytes(std::span<const std::byte> model, const std::string& reference);

}  // namespace weft::frontend
