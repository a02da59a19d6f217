#pragma once

#include <functional>

#include "artifact/program.h"
#include "artifact/target.h"

namespace weft::test {

inline Instruction make(Opcode op, int rd = 0, int rs1 = 0, int rs2 = 0, std::int32_t immediate = 0, std::int32_t length = 0) {
    Instruction row;
    row.op = static_cast<std::uint8_t>(op);
    row.rd = static_cast<std::uint8_t>(rd);
    row.rs1 = static_cast<std::uint8_t>(rs1);
    row.rs2 = static_cast<std::uint8_t>(rs2);
    row.immediate = immediate;
    row.length = length;
    return row;
}

inline Instruction stepping(Instruction row, std::int32_t step) {
    row.step = step;
    return row;
}

inline Instruction setbw() { return make(Opcode::Setbw, 0, 0, 0, 8, 8); }
inline Instruction wait(std::int32_t event, std::int32_t count) {
    Instruction row = make(Opcode::Wait, 0, 0, 0, 0, event);
    row.offset_value = count;
    return row;
}

struct RunRows {
    std::uint32_t trip_count;
    std::vector<Instruction> rows;
};

/// A program of the given runs per core; every core has the given array groups.
inline ProgramColumns build(const std::vector<std::vector<RunRows>>& cores, const std::vector<std::uint32_t>& groups = {4, 1}) {
    ProgramColumns program;
    program.value_kind = ValueKind::F32;
    program.inferences_per_round = 1;
    program.core_first_run.push_back(0);
    program.core_first_group.push_back(0);
    for (const auto& runs : cores) {
        for (const auto& run : runs) {
            program.runs.push_back({static_cast<std::uint32_t>(program.instructions.size()), static_cast<std::uint32_t>(run.rows.size()),
                                    run.trip_count, 0xffffffffU});
            program.instructions.insert(program.instructions.end(), run.rows.begin(), run.rows.end());
        }
        program.core_first_run.push_back(static_cast<std::uint32_t>(program.runs.size()));
        for (const auto crossbars : groups) program.groups.push_back({crossbars, 128, 128, 0, 0});
        program.core_first_group.push_back(static_cast<std::uint32_t>(program.groups.size()));
        program.core_local_elems.push_back(4096);
    }
    return program;
}

/// Core 0 loads, multiplies row after row and sends; core 1 receives, stores and answers with a token; core 2 is idle.
inline ProgramColumns small_program() {
    const std::vector<RunRows> producer = {
        {1, {setbw(), make(Opcode::Sldi, 1, 0, 0, 64), make(Opcode::Sldi, 2), make(Opcode::Sldi, 3, 0, 0, 256), make(Opcode::Ld, 1, 2, 0, 0, 100)}},
        {3,
         {stepping(make(Opcode::Sldi, 4, 0, 0, 64), 10), stepping(make(Opcode::Sldi, 5, 0, 0, 512), 32),
          make(Opcode::Mvmul, 5, 4, 0, 8, 1), make(Opcode::Vrelu, 5, 5, 0, 0, 32)}},
        {2, {stepping(make(Opcode::Sldi, 6, 0, 0, 512), 48), make(Opcode::Send, 6, 6, 0, 1, 48), wait(3, 1)}}};
    const std::vector<RunRows> consumer = {
        {2, {setbw(), stepping(make(Opcode::Sldi, 1, 0, 0, 0), 48), make(Opcode::Recv, 1, 0, 0, 0, 48), make(Opcode::Sync, 0, 0, 0, 0, 3)}},
        {1,
         {make(Opcode::Sldi, 2), make(Opcode::Sldi, 8), make(Opcode::Sldi, 9, 0, 0, 1000), make(Opcode::Vvadd, 1, 1, 2, 0, 48),
          make(Opcode::Sldi, 7, 0, 0, 3), make(Opcode::Vmv, 1, 2, 7, 0, 16), make(Opcode::Lmv, 1, 2, 0, 0, 16),
          make(Opcode::Lldi, 1, 0, 0, 0, 16), make(Opcode::St, 8, 1, 0, 0, 96)}}};
    return build({producer, consumer, {}});
}

inline TargetColumns small_target() {
    TargetColumns target;
    target.name = "test";
    target.core_count = 4;
    target.weight_bits = 8;
    target.activation_bits = 8;
    target.memory_switch_id = -10;
    target.core.period_fs = 1000000;
    target.core.rob_entries = 1;
    target.core.vector_width_elems = 32;
    target.core.vector_step_ns = 4;
    target.core.local_data_width_bytes = 64;
    target.core.local_period_fs = 1000000;
    target.core.local_read_cycles = 20;
    target.core.local_write_cycles = 30;
    target.core.local_memory_bytes = 1 << 20;
    target.core.crossbar_count = 8;
    target.core.crossbar_rows = 128;
    target.core.crossbar_columns = 128;
    target.core.cell_bits = 2;
    target.core.matrix_period_fs = 781250;
    target.core.matrix_pipelined = true;
    target.core.dac_resolution_bits = 1;
    target.core.dac_count = 128;
    target.core.dac_cycles = 1;
    target.core.adc_count = 16;
    target.core.adc_cycles = 20;
    target.core.crossbar_read_fs = 7000000;
    target.core.sample_hold_cycles = 1;
    target.core.shift_adder_cycles = 1;
    target.core.output_buffer_cycles = 1;
    target.memory = {32, 1000000, 40, 50, 1 << 30};
    target.network = {32, 2, 2};
    target.link_latency_ps.assign(25, 4000);
    for (std::size_t core = 0; core < 5; ++core) target.link_latency_ps[core * 6] = 0;
    return target;
}

}  // namespace weft::test
