#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "artifact/program.h"
#include "artifact/target.h"

namespace weft {

/// What the simulator would do to this program beyond running it. `latency` says whether it is to run in latency mode.
/// Throws Failure(refused) naming core and instruction where it would crash, hang or never finish; returns warnings about what
/// it would accept silently and what is hardly meant.
[[nodiscard]] std::vector<std::string> check_program(const Program& program, const Target& target, bool latency, std::string_view file);

}  // namespace weft
