#pragma once

#include <array>
#include <string_view>

#include "artifact/program.h"

namespace weft {

inline constexpr std::uint8_t opcode_count = 33;

/// The mnemonic of the simulator's JSON files; `op` must be below opcode_count.
[[nodiscard]] inline std::string_view opcode_name(Opcode op) {
    static constexpr std::array<std::string_view, opcode_count> names = {
        "nop",   "sldi",  "sld",    "sadd",  "ssub",  "smul",  "saddi", "smuli", "setbw", "mvmul", "vvadd",
        "vvsub", "vvmul", "vvdmul", "vvmax", "vvsll", "vvsra", "vavg",  "vrelu", "vtanh", "vsigm", "vsoftmax",
        "vmv",   "vrsu",  "vrsl",   "ld",    "st",    "lldi",  "lmv",   "send",  "recv",  "wait",  "sync"};
    return names.at(static_cast<std::size_t>(op));
}

}  // namespace weft
