#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "artifact/program.h"
#include "artifact/target.h"

namespace weft {

/// One instruction of a core's unrolled list, `sldi` immediates as they are in that repetition.
using InstructionSink = std::function<void(const Instruction&)>;

/// Calls `sink` for every executed instruction of the core, in order. `rows` are the program's instruction rows or a projection
/// of them.
void for_each_executed(const Program& program, std::span<const Instruction> rows, std::size_t core, const InstructionSink& sink);

/// The number of instructions that for_each_executed visits.
[[nodiscard]] std::uint64_t executed_count(const Program& program, std::size_t core);

/// One 20-byte record of a `.pim` file, appended to `out`.
void append_record(std::string& out, const Instruction& instruction);

/// A whole `.pim` file: header and the list of the core, `repeats` times. At most 2^32 - 1 instructions.
[[nodiscard]] std::string core_binary(const Program& program, std::span<const Instruction> rows, std::size_t core, std::uint32_t repeats);

/// A whole `core_<id>.json` file: one instruction object a line.
[[nodiscard]] std::string core_json(const Program& program, std::span<const Instruction> rows, std::size_t core, std::uint32_t repeats);

/// `config.json` of a program directory: the number of cores and the crossbars of each core's array groups.
[[nodiscard]] std::string program_config_json(const Program& program);

struct SimulationSettings {
    int mode = 0;                          ///< 0: endless rounds for time_ms; 1: every list once
    double time_ms = 1;
    double latency_timeout_ms = 1000;
};

/// The simulator's chip configuration for `target`; its network table is expected as "network.json" beside it.
[[nodiscard]] std::string chip_json(const Target& target, const SimulationSettings& settings);

/// The simulator's network table.
[[nodiscard]] std::string network_json(const Target& target);

/// What a native program needs beside the instruction lists: array groups with their weight blocks, local constants, weight
/// hashes, input and output ports, depth; addresses and sizes in bytes of 32-bit floats.
[[nodiscard]] std::string native_image_json(const Program& program);

}  // namespace weft
