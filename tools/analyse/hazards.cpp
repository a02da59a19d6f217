#include "hazards.h"

namespace weft {
namespace {

std::int32_t wrapped(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

AddressRange bytes_at(std::int64_t address, std::int64_t bytes) { return {address, address + bytes}; }

/// Bytes by which one unit of a vector instruction's offset moves rd; 0: rd has none.
std::int64_t target_step(Opcode op, BitWidths widths) {
    switch (op) {
        case Opcode::Vvdmul:
        case Opcode::Vavg:
        case Opcode::Vmv: return 0;
        case Opcode::Vvadd:
        case Opcode::Vvsub:
        case Opcode::Vvmax:
        case Opcode::Vrelu: return static_cast<std::int64_t>(widths.input_bytes());
        default: return static_cast<std::int64_t>(widths.output_bytes());
    }
}

struct Operands {
    std::int64_t rd = 0;
    std::int64_t rs1 = 0;
    std::int64_t rs2 = 0;
};

/// Register values with offsets: rd by bit 0 of the selection, rs1 and rs2 by bits 1 and 2 of the offset itself, as the simulator has it.
Operands operands_of(const Instruction& row, const RegisterFile& registers, BitWidths widths) {
    const auto op = static_cast<Opcode>(row.op);
    Operands result{registers[row.rd], registers[row.rs1], registers[row.rs2]};
    const std::int64_t offset = row.offset_value;
    if (offset == 0 || op == Opcode::Mvmul || op == Opcode::Wait || op == Opcode::Sync) return result;
    const auto input = static_cast<std::int64_t>(widths.input_bytes());
    const bool vector = is_vector(op);
    if ((row.offset_select & 1) != 0) result.rd = wrapped(result.rd + (vector ? offset * target_step(op, widths) : offset));
    if ((row.offset_value & 2) != 0 && op != Opcode::Vmv && op != Opcode::Ld) result.rs1 = wrapped(result.rs1 + (vector ? offset * input : offset));
    const bool two_operands = op >= Opcode::Vvadd && op <= Opcode::Vvsra;
    if ((row.offset_value & 4) != 0 && two_operands) result.rs2 = wrapped(result.rs2 + offset * input);
    return result;
}

}  // namespace

Hazards hazards_of(const Instruction& row, const RegisterFile& registers, BitWidths widths, const PimCosts& costs, std::uint32_t crossbars) {
    const auto op = static_cast<Opcode>(row.op);
    const Operands at = operands_of(row, registers, widths);
    const std::int64_t length = row.length;
    const std::int64_t input = length * static_cast<std::int64_t>(widths.input_bytes());
    const std::int64_t output = length * static_cast<std::int64_t>(widths.output_bytes());
    const AddressRange first = bytes_at(at.rs1, input);
    const AddressRange second = bytes_at(at.rs2, input);
    switch (op) {
        case Opcode::Mvmul: {
            const auto results = static_cast<std::int64_t>(costs.results_per_crossbar(static_cast<std::uint32_t>(row.immediate)) * crossbars * widths.output_bytes());
            return {{bytes_at(at.rs1, std::int64_t{costs.crossbar_rows()} * static_cast<std::int64_t>(widths.input_bytes())), {}}, bytes_at(at.rd, results)};
        }
        case Opcode::Vvadd:
        case Opcode::Vvsub:
        case Opcode::Vvmax: return {{first, second}, bytes_at(at.rd, input)};
        case Opcode::Vvmul:
        case Opcode::Vvdmul:
        case Opcode::Vvsll:
        case Opcode::Vvsra:
        case Opcode::Vrsu:
        case Opcode::Vrsl: return {{first, second}, bytes_at(at.rd, output)};
        case Opcode::Vrelu:
        case Opcode::Vtanh:
        case Opcode::Vsigm: return {{first, {}}, bytes_at(at.rd, output)};
        case Opcode::Vavg: return {{first, {}}, bytes_at(at.rd, static_cast<std::int64_t>(widths.output_bytes()))};
        // The register's value is lost on its way to the check: what remains is the offset.
        case Opcode::Ld: return {{}, bytes_at(at.rd - registers[row.rd], length)};
        case Opcode::St: return {{bytes_at(0, length), {}}, {}};
        case Opcode::Lldi: return {{}, bytes_at(at.rd, 1)};
        case Opcode::Lmv: return {{bytes_at(at.rs1, row.immediate), {}}, bytes_at(at.rd, row.immediate)};
        case Opcode::Send: return {{bytes_at(at.rs1, length), {}}, {}};
        case Opcode::Recv: return {{}, bytes_at(at.rd, length)};
        default: return {};   // vmv, sync, wait
    }
}

void execute_scalar(const Instruction& row, RegisterFile& registers, BitWidths& widths) {
    const std::int64_t first = registers[row.rs1];
    const std::int64_t second = registers[row.rs2];
    std::int32_t& target = registers[row.rd];
    switch (static_cast<Opcode>(row.op)) {
        case Opcode::Sldi: target = row.immediate; break;
        case Opcode::Sld: registers[0] = 0; break;   // loads nothing, clears r0
        case Opcode::Sadd: target = wrapped(first + second); break;
        case Opcode::Ssub: target = wrapped(first - second); break;
        case Opcode::Smul: target = wrapped(first * second); break;
        case Opcode::Saddi: target = wrapped(first + row.immediate); break;
        case Opcode::Smuli: target = wrapped(first * row.immediate); break;
        default: widths = {static_cast<std::uint32_t>(row.immediate), static_cast<std::uint32_t>(row.length)};   // setbw
    }
}

}  // namespace weft
