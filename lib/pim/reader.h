#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "artifact/program.h"

namespace weft {

/// Read a program in the public simulator's own form: a folder (config.json and core_<id>.pim or core_<id>.json for every
/// core), or one JSON file, plain or compressed by gzip or zlib. The result has value_kind TimingOnly, one run of trip count 1
/// per core that has instructions, groups from the array_group_map with nothing but their crossbar counts, and lengths as the
/// file has them (bytes and elements).
///
/// Whatever the simulator would refuse throws Failure(bad_input) naming file, core and instruction; what it would take and then crash
/// or hang on (registers and event registers above 31, messages to cores without a program, a weight width of 0), Failure(refused). What needs the chip to judge (core count, crossbars in all, reorder buffer) is left to the caller, and so are
/// `nop` and the rule about a list's last instruction.
[[nodiscard]] ProgramColumns read_simulator_program(const std::filesystem::path& path);

/// The combined form from bytes, plain or compressed. `file` is for messages.
[[nodiscard]] ProgramColumns parse_combined_program(std::span<const std::byte> bytes, std::string_view file);

/// One binary file, of core `core`: its instructions are appended to `instructions`. `core_count` bounds the cores that messages may name,
/// `group_count` the array groups.
void parse_binary_core(std::span<const std::byte> bytes, std::string_view file, std::size_t core, std::size_t core_count, std::size_t group_count,
                       std::vector<Instruction>& instructions);

/// True for a folder and for a file that does not start as a weft artifact: what read_simulator_program() is for.
[[nodiscard]] bool is_simulator_program(const std::filesystem::path& path);

}  // namespace weft
