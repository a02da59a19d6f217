#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "artifact/program.h"
#include "artifact/target.h"

namespace weft {

enum class ExportFormat { pimsim_binary, pimsim_json, native_json };

/// Everything in `program` that the simulator would crash on, hang on, or take and get wrong (pimsim's traps: nop, sld, in-place
/// scalars, register 31 in pairs, a missing setbw, a list that does not end with a unit instruction, unknown groups, messages to
/// idle cores or to oneself, unmatched messages and tokens, offsets, ...). One text per trap, at most `limit`, in core order.
/// Empty: the program may be written.
[[nodiscard]] std::vector<std::string> find_traps(const Program& program, const Target& target, ExportFormat format,
                                                  std::size_t limit = 20);

}  // namespace weft
