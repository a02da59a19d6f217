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

/// Why the simulator could not run an instruction.
struct InstructionProblem {
    std::string text;        ///< empty where it can
    bool is_trap = false;    ///< it takes the instruction, and then crashes, hangs or corrupts its memory
};

[[nodiscard]] InstructionProblem instruction_problem(const Instruction& instruction, InstructionLimits limits);

/// Throws Failure naming core and instruction: refused for a trap (the answer is no), bad_input for what no program can contain.
[[noreturn]] void fail_instruction(const InstructionProblem& problem, std::string_view file, std::size_t core, std::size_t instruction, std::string_view mnemonic);

/// Throws for the first instruction that has a problem.
void check_core_instructions(std::span<const Instruction> instructions, InstructionLimits limits, std::string_view file, std::size_t core);

/// Mnemonic of an opcode, lower case; "?" where unknown.
[[nodiscard]] std::string_view mnemonic(Opcode op);

void parse_config(JsonCursor& json, ProgramConfig& config);
/// An array of instruction objects of `core`, appended to `instructions`. Of the operands only registers are checked yet.
void parse_json_core(JsonCursor& json, std::size_t core, std::vector<Instruction>& instructions);

}  // namespace weft
