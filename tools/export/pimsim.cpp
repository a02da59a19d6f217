#include "export/pimsim.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <limits>

#include "base/checked.h"
#include "export/opcode.h"

namespace weft {
namespace {

/// Four bytes of a record, little-endian on every host.
void append_word(std::string& out, std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>((word >> shift) & 0xffU);
}

/// The four words of a record: r2_or_imm, generic1, generic2, generic3.
struct RecordWords {
    std::int32_t operand = 0;
    std::int32_t first = 0;
    std::int32_t second = 0;
    std::int32_t third = 0;
};

RecordWords words_of(const Instruction& row, Opcode op) {
    switch (op) {
        case Opcode::Sldi:
        case Opcode::Saddi:
        case Opcode::Smuli: return {row.immediate, 0, 0, 0};
        case Opcode::Setbw: return {0, row.immediate, row.length, 0};
        case Opcode::Mvmul: return {row.immediate, row.offset_value, row.length, 0};
        case Opcode::Ld:
        case Opcode::St:
        case Opcode::Lmv: return {0, row.offset_select, row.offset_value, row.length};
        case Opcode::Lldi:
        case Opcode::Send:
        case Opcode::Recv: return {row.immediate, row.offset_select, row.offset_value, row.length};
        case Opcode::Wait: return {0, row.length, row.offset_value, 0};
        case Opcode::Sync: return {row.immediate, row.length, 0, 0};
        default: break;
    }
    if (is_vector(op)) return {row.rs2, row.offset_select, row.offset_value, row.length};
    return {};
}

void append_line(std::string& out, const Instruction& row) {
    const auto op = static_cast<Opcode>(row.op);
    const auto field = [&](const char* name, std::int64_t value) { fmt::format_to(std::back_inserter(out), ",\"{}\":{}", name, value); };
    fmt::format_to(std::back_inserter(out), "{{\"op\":\"{}\"", opcode_name(op));
    if (op != Opcode::Setbw && op != Opcode::Wait && op != Opcode::Sync) field("rd", row.rd);
    if (row.rs1 != 0 || uses_rs1(op)) field("rs1", row.rs1);
    if (row.rs2 != 0 || is_two_operand_vector(op) || has_number_in_rs2(op)) field("rs2", row.rs2);
    if (is_scalar(op)) {
        field("imm", row.immediate);
    } else if (op == Opcode::Setbw) {
        field("ibiw", row.immediate);
        field("obiw", row.length);
    } else if (op == Opcode::Mvmul) {
        field("mbiw", row.immediate);
        field("group", row.length);
        field("relu", row.offset_value);
    } else if (op == Opcode::Wait) {
        field("event_register", row.length);
        field("wait_value", row.offset_value);
    } else if (op == Opcode::Sync) {
        field("core", row.immediate);
        field("event_register", row.length);
    } else if (op == Opcode::Lldi) {
        field("imm", row.immediate);
        field("len", row.length);
    } else if (op == Opcode::Send || op == Opcode::Recv) {
        field("core", row.immediate);
        field("size", row.length);
    } else {
        field(op == Opcode::Ld || op == Opcode::St ? "size" : "len", row.length);
    }
    out += '}';
}

std::size_t core_count(const Program& program) { return program.core_first_run.size() - 1; }

}  // namespace

void for_each_executed(const Program& program, std::span<const Instruction> rows, std::size_t core, const InstructionSink& sink) {
    for (std::uint32_t index = program.core_first_run[core]; index < program.core_first_run[core + 1]; ++index) {
        const Run& run = program.runs[index];
        for (std::uint32_t repetition = 0; repetition < run.trip_count; ++repetition) {
            for (const Instruction& row : rows.subspan(run.first_instruction, run.instruction_count)) {
                Instruction executed = row;
                // 64 bits, then cut to the register's 32: what a register of the chip would hold.
                executed.immediate = static_cast<std::int32_t>(row.immediate + std::int64_t{row.step} * repetition);
                executed.step = 0;
                sink(executed);
            }
        }
    }
}

std::uint64_t executed_count(const Program& program, std::size_t core) {
    std::uint64_t count = 0;
    for (std::uint32_t index = program.core_first_run[core]; index < program.core_first_run[core + 1]; ++index) {
        const Run& run = program.runs[index];
        count = checked_add(count, std::uint64_t{run.instruction_count} * run.trip_count);
    }
    return count;
}

void append_record(std::string& out, const Instruction& instruction) {
    const RecordWords words = words_of(instruction, static_cast<Opcode>(instruction.op));
    const std::array<std::uint8_t, 4> head = {instruction.op, instruction.rd, instruction.rs1, 0};
    for (const std::uint8_t byte : head) out += static_cast<char>(byte);
    for (const std::int32_t word : {words.operand, words.first, words.second, words.third}) {
        append_word(out, static_cast<std::uint32_t>(word));
    }
}

std::string core_binary(const Program& program, std::span<const Instruction> rows, std::size_t core, std::uint32_t repeats) {
    constexpr std::size_t header_bytes = 12;
    constexpr std::size_t record_bytes = 20;
    constexpr std::uint32_t version = 1;
    const std::uint64_t count = checked_multiply(executed_count(program, core), std::uint64_t{repeats});
    if (count > std::numeric_limits<std::uint32_t>::max()) refuse("core {}: {} instructions pass the format's 32-bit count", core, count);
    std::string out;
    out.reserve(header_bytes + record_bytes * count);
    out += "PIMB";
    append_word(out, version);
    append_word(out, static_cast<std::uint32_t>(count));
    for_each_executed(program, rows, core, [&](const Instruction& instruction) { append_record(out, instruction); });
    const std::size_t once = out.size() - header_bytes;
    for (std::uint32_t repeat = 1; repeat < repeats; ++repeat) out.append(out, header_bytes, once);
    return out;
}

std::string core_json(const Program& program, std::span<const Instruction> rows, std::size_t core, std::uint32_t repeats) {
    std::string list;
    for_each_executed(program, rows, core, [&](const Instruction& instruction) {
        list += list.empty() ? "\n" : ",\n";
        append_line(list, instruction);
    });
    if (list.empty()) return "[]\n";
    std::string out = "[";
    for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
        if (repeat != 0) out += ',';
        out += list;
    }
    return out + "\n]\n";
}

std::string program_config_json(const Program& program) {
    std::string out = fmt::format("{{\"core_cnt\":{},\"array_group_map\":{{", core_count(program));
    for (std::size_t core = 0; core < core_count(program); ++core) {
        fmt::format_to(std::back_inserter(out), "{}\n\"core{}\":[", core == 0 ? "" : ",", core);
        for (std::uint32_t group = program.core_first_group[core]; group < program.core_first_group[core + 1]; ++group) {
            fmt::format_to(std::back_inserter(out), "{}{}", group == program.core_first_group[core] ? "" : ",", program.groups[group].crossbars);
        }
        out += ']';
    }
    return out + "\n}}\n";
}

}  // namespace weft
