#include "export/projection.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/id.h"
#include "export/opcode.h"

namespace weft {
namespace {

/// What the registers written by one `sldi` row are used for.
enum Use : std::uint8_t { unused = 0, local_address = 1, plain_number = 2, address_high = 4 };

class UseAnalysis {
public:
    UseAnalysis(const Program& program, std::string_view file)
        : program_(program), file_(file), uses_(program.instructions.size(), unused) {}

    [[nodiscard]] std::vector<std::uint8_t> run() && {
        for (std::size_t core = 0; core + 1 < program_.core_first_run.size(); ++core) {
            writer_.fill(no_id);
            // Twice, because registers live on from one round into the next.
            for (int round = 0; round < 2; ++round) visit_core(core);
        }
        return std::move(uses_);
    }

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
        if (op == Opcode::Sldi) {
            writer_[instruction.rd & 31U] = row;
        } else if (op == Opcode::Ld) {
            use(row, instruction.rd, local_address);
            use_pair(row, instruction.rs1);
        } else if (op == Opcode::St) {
            use(row, instruction.rs1, local_address);
            use_pair(row, instruction.rd);
        } else if (is_scalar(op) || op == Opcode::Nop) {
            refuse("{}: core {}, instruction row {} ({}): register arithmetic cannot be scaled to the native program; load addresses with sldi",
                   file_, core_, row, opcode_name(op));
        } else if (uses_rd(op)) {
            use(row, instruction.rd, local_address);
            if (uses_rs1(op)) use(row, instruction.rs1, local_address);
            if (is_two_operand_vector(op)) use(row, instruction.rs2, local_address);
            if (has_number_in_rs2(op)) use(row, instruction.rs2, plain_number);
        }
    }

    void use(std::uint32_t row, std::uint8_t number, Use as) {
        const std::uint32_t writer = writer_[number & 31U];
        if (writer == no_id) return;
        uses_[writer] |= as;
        if ((uses_[writer] & (uses_[writer] - 1)) != 0) {
            refuse("{}: core {}, instruction row {}: r{} is used both as an address and as a number (again by row {})", file_, core_,
                   writer, number, row);
        }
    }

    void use_pair(std::uint32_t row, std::uint8_t number) {
        use(row, number, address_high);
        use(row, static_cast<std::uint8_t>(number + 1), local_address);
    }

    const Program& program_;
    std::string_view file_;
    std::vector<std::uint8_t> uses_;
    std::array<std::uint32_t, 32> writer_{};
    std::size_t core_ = 0;
};

std::int32_t scaled(std::int32_t value, std::uint64_t repetitions, std::int32_t step, std::size_t row, std::string_view file) {
    const auto last = std::int64_t{value} + static_cast<std::int64_t>(repetitions) * step;
    for (const std::int64_t number : {std::int64_t{value}, last}) {
        if (number < 0 || number > std::numeric_limits<std::int32_t>::max() / native_element_bytes) {
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
    const std::vector<std::uint8_t> uses = UseAnalysis(program, file).run();
    const std::vector<std::uint32_t> repetitions = repetitions_of(program);
    std::vector<Instruction> result(program.instructions.begin(), program.instructions.end());
    for (std::size_t row = 0; row < result.size(); ++row) {
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
        } else if (op == Opcode::Sldi && uses[row] == local_address) {
            instruction.immediate = scaled(instruction.immediate, repetitions[row], instruction.step, row, file);
            instruction.step *= native_element_bytes;
        } else if (op == Opcode::Sldi && uses[row] == address_high && instruction.immediate != 0) {
            refuse("{}: instruction row {}: global addresses above 2^32 elements are not supported", file, row);
        }
        if (is_transfer_with_size(op)) instruction.length = scaled(instruction.length, 0, 0, row, file);
    }
    return result;
}

}  // namespace weft
