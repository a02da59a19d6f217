#pragma once

#include <string>

#include "artifact/program.h"
#include "artifact/target.h"

namespace weft::ipu21 {

/// The phase that takes longest; the first of equals. The program has at least one.
[[nodiscard]] std::uint32_t longest_phase(const Program& program);

/// One exchange phase as a picture (SVG): time to the right, tiles downwards in physical order, sending and receiving in two
/// colours; beside it the array with every tile's share of the phase in both roles.
[[nodiscard]] std::string exchange_picture(const Program& program, const Target& target, std::uint32_t phase);

}  // namespace weft::ipu21
