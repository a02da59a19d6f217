#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/program.h"
#include "pim/json_cursor.h"

namespace weft {

/// What the `config` part of a program says. Cores without an entry in the map have `present` false.
struct ProgramConfig {
    struct CoreGroups {
        bool present = false;
        std::vector<std::uint32_t> crossbars;   // per array group
    };
    std::int32_t core_count = 0;   // 0: not given
    std::vector<CoreGroups> groups;
};

/// What bounds the operands of one core's instructions.
struct InstructionLimits {
    std::size_t cores = 0;
    std::size_t groups = 0;
};

/// Why the simulator could not take this instruction; empty where it can.
[[nodiscard]] std::string instruction_problem(const Instruction& instruction, InstructionLimits limits);

/// Throws Failure(bad_input) naming the first instruction that has a problem.
void check_core_instructions(std::span<const Instruction> instructions, InstructionLimits limits, std::string_view file, std::size_t core);

/// Mnemonic of an opcode, lower case; "?" where unknown.
[[nodiscard]] std::string_view mnemonic(Opcode op);

void parse_config(JsonCursor& json, ProgramConfig& config);
/// An array of instruction objects, appended to `instructions`. Operands are not checked yet.
void parse_json_core(JsonCursor& json, std::vector<Instruction>& instructions);

}  // namespace weft
