#pragma once

#include <cstdint>
#include <vector>

#include "artifact/program.h"
#include "base/id.h"

namespace weft::test {

/// Rows of the instruction set, for tests.
inline Instruction row(Opcode op) {
    Instruction result;
    result.op = static_cast<std::uint8_t>(op);
    return result;
}
inline Instruction setbw(std::int32_t input_bits = 8, std::int32_t output_bits = 8) {
    Instruction result = row(Opcode::Setbw);
    result.immediate = input_bits;
    result.length = output_bits;
    return result;
}
inline Instruction sldi(std::uint8_t rd, std::int32_t value) {
    Instruction result = row(Opcode::Sldi);
    result.rd = rd;
    result.immediate = value;
    return result;
}
inline Instruction sized(Opcode op, std::int32_t length) {  // vector, ld, st, lldi, lmv
    Instruction result = row(op);
    result.rd = 2;
    result.rs1 = 4;
    result.rs2 = 6;
    result.length = length;
    return result;
}
inline Instruction mvmul(std::int32_t group = 0) {
    Instruction result = row(Opcode::Mvmul);
    result.rd = 2;
    result.rs1 = 4;
    result.immediate = 8;
    result.length = group;
    return result;
}
inline Instruction message(Opcode op, std::uint32_t other, std::int32_t size) {  // send, recv
    Instruction result = row(op);
    result.rd = result.rs1 = 2;
    result.immediate = static_cast<std::int32_t>(other);
    result.length = size;
    return result;
}
inline Instruction sync(std::uint32_t other, std::uint32_t event_register) {
    Instruction result = row(Opcode::Sync);
    result.immediate = static_cast<std::int32_t>(other);
    result.length = static_cast<std::int32_t>(event_register);
    return result;
}
inline Instruction wait(std::uint32_t event_register, std::int32_t count = 1) {
    Instruction result = row(Opcode::Wait);
    result.length = static_cast<std::int32_t>(event_register);
    result.offset_value = count;
    return result;
}

/// A repeated list of instructions.
struct TestRun {
    std::vector<Instruction> body;
    std::uint32_t trip_count = 1;
};

/// Every core's runs; empty for a core without a program.
using TestProgram = std::vector<std::vector<TestRun>>;

/// The columns of `cores`, each with one array group of one crossbar.
inline ProgramColumns columns_of(const TestProgram& cores) {
    ProgramColumns result;
    result.value_kind = ValueKind::TimingOnly;
    result.core_first_run.push_back(0);
    result.core_first_group.push_back(0);
    for (const auto& runs : cores) {
        for (const TestRun& run : runs) {
            if (run.body.empty()) continue;
            result.runs.push_back({static_cast<std::uint32_t>(result.instructions.size()), static_cast<std::uint32_t>(run.body.size()), run.trip_count, no_id});
            result.instructions.insert(result.instructions.end(), run.body.begin(), run.body.end());
        }
        result.core_first_run.push_back(static_cast<std::uint32_t>(result.runs.size()));
        result.groups.push_back({1, 128, 128, 0, 0});
        result.core_first_group.push_back(static_cast<std::uint32_t>(result.groups.size()));
        result.core_local_elems.push_back(0);
    }
    result.inferences_per_round = 1;
    return result;
}

}  // namespace weft::test
