#pragma once

#include <vector>

#include "artifact/program.h"

namespace weft {

/// Bytes of one element in the native program.
inline constexpr std::int32_t native_element_bytes = 4;

/// The instruction rows of `program` in the native machine's units: sizes and addresses in bytes of 32-bit floats, widths of
/// 32 bits. Lengths in elements, strides, bounds, counts and order stay. Which immediates are addresses follows from how the
/// registers are used, through additions and multiplications by constants; what is used both as an address and as a number
/// cannot be scaled. Throws Failure(refused) naming the instruction where that or the range of 32 bits is in the way.
[[nodiscard]] std::vector<Instruction> native_instructions(const Program& program, std::string_view file);

}  // namespace weft
