#include "export/projection.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/id.h"
#include "export/opcode.h"

namespace weft {
namespace {

/// What a register's value is used for.
enum Use : std::uint8_t { unused = 0, local_address = 1, plain_number = 2, address_high = 4 };

/// Scalar rows whose values are in the same unit: connected where one computes its value from another's. The arithmetic of programs is
/// linear (sldi, saddi, sadd, ssub, smuli), so a class whose values are addresses is scaled as a whole by scaling its immediates.
class UseAnalysis {
public:
    UseAnalysis(const Program& program, std::string_view file)
        : program_(program), file_(file), parent_(program.instructions.size()), uses_(program.instructions.size(), unused) {
        std::iota(parent_.begin(), parent_.end(), 0U);
        for (std::size_t core = 0; core + 1 < program_.core_first_run.size(); ++core) {
            writer_.fill(no_id);   // registers start at zero, which is zero in every unit
            // Twice, because registers live on from one round into the next.
            for (int round = 0; round < 2; ++round) visit_core(core);
        }
        find_nonzero_classes();
        for (std::uint32_t row = 0; row < parent_.size(); ++row) refuse_mixed(row);
    }

    /// Whether the values of scalar row `row` are local addresses.
    [[nodiscard]] bool is_address(std::uint32_t row) { return (uses_[root(row)] & local_address) != 0; }

private:
    void visit_core(std::size_t core) {
        core_ = core;
        for (std::uint32_t index = program_.core_first_run[core]; index < program_.core_first_run[core + 1]; ++index) {
            const Run& run = program_.runs[index];
            // The second repetition sees what the first one left in the registers; later ones see the same writers.
            for (std::uint32_t repetition = 0; repetition < std::min(run.trip_count, 2U); ++repetition) {
                for (std::uint32_t row = run.first_instruction; row < run.first_instruction + run.instruction_count; ++row) visit(row);
            }
        }
    }

    void visit(std::uint32_t row) {
        const Instruction& instruction = program_.instructions[row];
        const auto op = static_cast<Opcode>(instruction.op);
        if (is_scalar(op)) {
            visit_scalar(row, instruction, op);
        } else if (op == Opcode::Ld) {
            use(instruction.rd, local_address);
            use_pair(instruction.rs1);
        } else if (op == Opcode::St) {
            use(instruction.rs1, local_address);
            use_pair(instruction.rd);
        } else if (uses_rd(op)) {
            use(instruction.rd, local_address);
            if (uses_rs1(op)) use(instruction.rs1, local_address);
            if (is_two_operand_vector(op)) use(instruction.rs2, local_address);
            if (has_number_in_rs2(op)) use(instruction.rs2, plain_number);
        }
    }

    void visit_scalar(std::uint32_t row, const Instruction& instruction, Opcode op) {
        if (op == Opcode::Sld || op == Opcode::Smul) {
            refuse("{}: core {}, instruction row {}: {} cannot be scaled to the native program", file_, core_, row, opcode_name(op));
        }
        if (op != Opcode::Sldi) join(row, writer_[instruction.rs1 & 31U]);
        if (op == Opcode::Sadd || op == Opcode::Ssub) join(row, writer_[instruction.rs2 & 31U]);
        writer_[instruction.rd & 31U] = row;
    }

    void use(std::uint8_t number, Use as) {
        const std::uint32_t writer = writer_[number & 31U];
        if (writer != no_id) uses_[root(writer)] |= as;
    }

    void use_pair(std::uint8_t number) {
        use(number, address_high);
        use(static_cast<std::uint8_t>(number + 1), local_address);
    }

    std::uint32_t root(std::uint32_t row) {
        while (parent_[row] != row) {
            parent_[row] = parent_[parent_[row]];
            row = parent_[row];
        }
        return row;
    }

    void join(std::uint32_t row, std::uint32_t other) {
        if (other == no_id) return;
        const std::uint32_t a = root(row);
        const std::uint32_t b = root(other);
        parent_[b] = a;
        uses_[a] |= uses_[b];
    }

    /// A class of zeros may be used as anything.
    void find_nonzero_classes() {
        nonzero_.assign(parent_.size(), false);
        for (std::uint32_t row = 0; row < parent_.size(); ++row) {
            const Instruction& instruction = program_.instructions[row];
            const bool adds = instruction.op == static_cast<std::uint8_t>(Opcode::Sldi) || instruction.op == static_cast<std::uint8_t>(Opcode::Saddi);
            if (adds && (instruction.immediate != 0 || instruction.step != 0)) nonzero_[root(row)] = true;
        }
    }

    void refuse_mixed(std::uint32_t row) {
        const std::uint32_t top = root(row);
        if (!nonzero_[top]) return;
        if ((uses_[top] & address_high) != 0) {
            refuse("{}: instruction row {}: global addresses above 2^32 elements are not supported", file_, row);
        }
        if (uses_[top] == (local_address | plain_number)) {
            refuse("{}: instruction row {}: its register is used both as an address and as a number", file_, row);
        }
    }

    const Program& program_;
    std::string_view file_;
    std::vector<std::uint32_t> parent_;
    std::vector<std::uint8_t> uses_;
    std::vector<bool> nonzero_;
    std::array<std::uint32_t, 32> writer_{};
    std::size_t core_ = 0;
};

std::int32_t scaled(std::int32_t value, std::uint64_t repetitions, std::int32_t step, std::size_t row, std::string_view file) {
    constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max() / native_element_bytes;
    const auto last = std::int64_t{value} + static_cast<std::int64_t>(repetitions) * step;
    for (const std::int64_t number : {std::int64_t{value}, last}) {
        if (number < -limit || number > limit) {
            refuse("{}: instruction row {}: {} elements pass the 32-bit byte addresses of the native program", file, row, number);
        }
    }
    return value * native_element_bytes;
}

/// Per row: the most repetitions after the first.
std::vector<std::uint32_t> repetitions_of(const Program& program) {
    std::vector<std::uint32_t> result(program.instructions.size(), 0);
    for (const auto& run : program.runs) {
        for (std::uint32_t row = run.first_instruction; row < run.first_instruction + run.instruction_count; ++row) {
            result[row] = std::max(result[row], run.trip_count - 1);
        }
    }
    return result;
}

}  // namespace

std::vector<Instruction> native_instructions(const Program& program, std::string_view file) {
    UseAnalysis uses(program, file);
    const std::vector<std::uint32_t> repetitions = repetitions_of(program);
    std::vector<Instruction> result(program.instructions.begin(), program.instructions.end());
    for (std::uint32_t row = 0; row < result.size(); ++row) {
        Instruction& instruction = result[row];
        const auto op = static_cast<Opcode>(instruction.op);
        constexpr std::int32_t native_bits = 8 * native_element_bytes;
        if (op == Opcode::Setbw) {
            instruction.immediate = native_bits;
            instruction.length = native_bits;
        } else if (op == Opcode::Mvmul) {
            instruction.immediate = native_bits;
        } else if (op == Opcode::Lldi && instruction.immediate != 0) {
            refuse("{}: instruction row {}: lldi of a byte value other than 0 has no float meaning", file, row);
        } else if ((op == Opcode::Sldi || op == Opcode::Saddi) && uses.is_address(row)) {
            instruction.immediate = scaled(instruction.immediate, repetitions[row], instruction.step, row, file);
            instruction.step *= native_element_bytes;
        }
        if (is_transfer_with_size(op)) instruction.length = scaled(instruction.length, 0, 0, row, file);
    }
    return result;
}

}  // namespace weft
