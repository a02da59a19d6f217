#include "simulate/check.h"

#include <algorithm>

#include "pim/reader_parts.h"
#include "simulate/machine.h"

namespace weft {
namespace {

/// What one core's rows add up to; rows shared by several runs are looked at once per run.
struct CoreFindings {
    bool uses_width_before_setbw = false;
    std::uint64_t in_place_scalars = 0;
    std::uint64_t executed = 0;
    Opcode last = Opcode::Nop;
};

void check_instruction(const Program& program, const Instruction& instruction, std::size_t core, std::size_t row, std::string_view file) {
    const auto op = static_cast<Opcode>(instruction.op);
    const auto refuse_it = [&](std::string_view why) {
        refuse("{}: core {}, instruction row {} ({}): {}", file, core, row, mnemonic(op), why);
    };
    if (op == Opcode::Nop) refuse_it("nop takes the unit of whatever was decoded before it: the simulator crashes or hangs; leave it out");
    if (op == Opcode::Vsoftmax && program.value_kind == ValueKind::TimingOnly) refuse_it("the simulator does not take vsoftmax");
}

CoreFindings scan_core(const Program& program, std::size_t core, std::string_view file) {
    CoreFindings findings;
    bool has_width = false;
    for (std::size_t run = program.core_first_run[core]; run < program.core_first_run[core + 1]; ++run) {
        const Run& row = program.runs[run];
        if (row.instruction_count == 0) continue;
        findings.executed += std::uint64_t{row.instruction_count} * row.trip_count;
        for (std::size_t at = row.first_instruction; at < std::size_t{row.first_instruction} + row.instruction_count; ++at) {
            const Instruction& instruction = program.instructions[at];
            check_instruction(program, instruction, core, at, file);
            const auto op = static_cast<Opcode>(instruction.op);
            has_width = has_width || op == Opcode::Setbw;
            findings.uses_width_before_setbw |= !has_width && (op == Opcode::Mvmul || is_vector(op));
            const bool arithmetic = op >= Opcode::Sadd && op <= Opcode::Smuli;
            const bool reads_second = op <= Opcode::Smul;
            findings.in_place_scalars += arithmetic && (instruction.rd == instruction.rs1 || (reads_second && instruction.rd == instruction.rs2)) ? 1 : 0;
            findings.last = op;
        }
    }
    return findings;
}

void check_capacity(const Program& program, const Target& target, std::string_view file) {
    const std::size_t cores = program.core_local_elems.size();
    if (target.family != TargetFamily::Pim) refuse("{}: the target is no pim chip", file);
    if (cores > target.core_count) refuse("{}: the program has {} cores, the chip {}", file, cores, target.core_count);
    const std::uint64_t results = std::uint64_t{target.core.cell_bits} * target.core.crossbar_columns / target.weight_bits;
    for (std::size_t core = 0; core < cores; ++core) {
        std::uint64_t crossbars = 0;
        for (std::size_t group = program.core_first_group[core]; group < program.core_first_group[core + 1]; ++group) {
            const ArrayGroup& row = program.groups[group];
            crossbars += row.crossbars;
            if (program.value_kind == ValueKind::TimingOnly) continue;
            if (row.rows > target.core.crossbar_rows || row.columns > results * row.crossbars) {
                refuse("{}: core {}, array group {}: {} x {} values do not fit {} crossbars of {} x {}", file, core,
                       group - program.core_first_group[core], row.rows, row.columns, row.crossbars, target.core.crossbar_rows, results);
            }
        }
        if (crossbars > target.core.crossbar_count) refuse("{}: core {} needs {} crossbars, the chip's cores have {}", file, core, crossbars, target.core.crossbar_count);
        const std::uint64_t elem_bytes = (target.activation_bits + 7U) / 8U;
        if (program.core_local_elems[core] * elem_bytes > target.core.local_memory_bytes) {
            refuse("{}: core {} uses {} bytes of local memory, the chip's cores have {}", file, core, program.core_local_elems[core] * elem_bytes,
                   target.core.local_memory_bytes);
        }
    }
}

}  // namespace

std::vector<std::string> check_program(const Program& program, const Target& target, bool latency, std::string_view file) {
    check_capacity(program, target, file);
    std::vector<std::string> warnings;
    std::uint64_t in_place = 0;
    for (std::size_t core = 0; core < program.core_local_elems.size(); ++core) {
        const CoreFindings findings = scan_core(program, core, file);
        if (findings.executed == 0) continue;
        if (latency && !enters_reorder_buffer(findings.last)) {
            refuse("{}: core {}: the list ends with {}, which no reorder buffer sees retire, so in latency mode the core never finishes; end it with "
                   "an mvmul, vector or transfer instruction", file, core, mnemonic(findings.last));
        }
        if (findings.uses_width_before_setbw) warnings.push_back(fmt::format("core {}: no setbw before the first mvmul or vector instruction: its memory traffic costs nothing", core));
        if (!latency && findings.executed == 1) warnings.push_back(fmt::format("core {}: a list of one instruction; the simulator counts one round for ever", core));
        in_place += findings.in_place_scalars;
    }
    if (in_place != 0) {
        warnings.push_back(fmt::format("{} scalar instructions write a register they read: the simulator repeats them while they are stalled, this model does not", in_place));
    }
    return warnings;
}

}  // namespace weft
