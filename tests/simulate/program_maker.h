#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "artifact/target.h"
#include "base/id.h"
#include "simulate/simulate.h"

namespace weft::test {

/// A folder that goes away with the test.
struct ScratchFolder {
    std::filesystem::path path;
    ScratchFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weft-simulate-XXXXXX").string();
        path = ::mkdtemp(pattern.data());
    }
    ~ScratchFolder() { std::filesystem::remove_all(path); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return path / name;
    }
};

inline Instruction make(Opcode op, int rd = 0, int rs1 = 0, int rs2 = 0, int immediate = 0, int length = 0) {
    Instruction result;
    result.op = static_cast<std::uint8_t>(op);
    result.rd = static_cast<std::uint8_t>(rd);
    result.rs1 = static_cast<std::uint8_t>(rs1);
    result.rs2 = static_cast<std::uint8_t>(rs2);
    result.immediate = immediate;
    result.length = length;
    return result;
}
inline Instruction setbw() { return make(Opcode::Setbw, 0, 0, 0, 8, 8); }
inline Instruction sldi(int rd, int value, int step = 0) {
    Instruction result = make(Opcode::Sldi, rd, 0, 0, value);
    result.step = step;
    return result;
}
inline Instruction send(int core, int length, int address_register = 1) { return make(Opcode::Send, address_register, address_register, 0, core, length); }
inline Instruction recv(int core, int length, int address_register = 1) { return make(Opcode::Recv, address_register, 0, 0, core, length); }
inline Instruction sync(int core, int event) { return make(Opcode::Sync, 0, 0, 0, core, event); }
inline Instruction wait(int event, int count) {
    Instruction result = make(Opcode::Wait, 0, 0, 0, 0, event);
    result.offset_value = count;
    return result;
}

/// Columns made core after core, one run after the other.
struct ProgramMaker {
    ProgramColumns columns;

    explicit ProgramMaker(ValueKind kind = ValueKind::TimingOnly) {
        columns.value_kind = kind;
        columns.inferences_per_round = 1;
        columns.core_first_run.push_back(0);
        columns.core_first_group.push_back(0);
    }
    void run(const std::vector<Instruction>& instructions, std::uint32_t trips = 1) {
        columns.runs.push_back({static_cast<std::uint32_t>(columns.instructions.size()), static_cast<std::uint32_t>(instructions.size()), trips, no_id});
        columns.instructions.insert(columns.instructions.end(), instructions.begin(), instructions.end());
    }
    void close_core(std::uint32_t local_elems = 0) {
        columns.core_first_run.push_back(static_cast<std::uint32_t>(columns.runs.size()));
        columns.core_first_group.push_back(static_cast<std::uint32_t>(columns.groups.size()));
        columns.core_local_elems.push_back(local_elems);
    }
    void core(const std::vector<Instruction>& instructions, std::uint32_t local_elems = 0) {
        if (!instructions.empty()) run(instructions);
        close_core(local_elems);
    }
    [[nodiscard]] Program program() const {
        const Program result = view(columns);
        validate(result, "test");
        return result;
    }
};

/// The simulator's example chip with `cores` cores in a row, 4 ns between any two, 15 ns to the memory.
inline TargetColumns example_chip(std::uint32_t cores) {
    TargetColumns target;
    target.name = "example";
    target.core_count = cores;
    target.weight_bits = 8;
    target.activation_bits = 8;
    target.memory_switch_id = -10;
    target.core = {1'000'000, 1, 16, 4, 64, 1'000'000, 1, 1, 1 << 20, 64, 128, 128, 8, 1'000'000, true, 1, 128, 1, 2, 10, 30'000'000, 1, 1, 1};
    target.memory = {16, 1'000'000, 1, 1, 1 << 20};
    target.network = {8, 1, cores};
    target.link_latency_ps.assign((cores + 1) * (cores + 1), 4000);
    for (std::uint32_t core = 0; core < cores; ++core) target.link_latency_ps[core * (cores + 1) + cores] = 15000;
    for (std::uint32_t core = 0; core <= cores; ++core) target.link_latency_ps[core * (cores + 1) + core] = 0;
    return target;
}

inline SimulationResult run_once(const ProgramMaker& maker, const TargetColumns& chip, Ties ties = Ties::forward) {
    SimulationOptions options;
    options.record_trace = true;
    options.ties = ties;
    return simulate(maker.program(), view(chip), options, nullptr);
}

}  // namespace weft::test
