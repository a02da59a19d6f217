#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "artifact/program.h"
#include "base/id.h"

namespace weft {

/// A register operand inside a run: its value in repetition i is base + i * stride. Local and global addresses are in elements.
struct Address {
    std::int32_t base = 0;
    std::int32_t stride = 0;
    bool operator==(const Address&) const = default;
    [[nodiscard]] Address plus(std::int32_t offset) const { return {base + offset, stride}; }
};

/// One instruction whose operands are values, before registers are chosen.
///   mvmul        target, first; argument = array group
///   two-operand vector   target, first, second; length
///   one-operand vector   target, first; length; vmv: second = source stride; vrsu, vrsl: second = bits of the bound
///   lmv          target, first; length           lldi  target; length; argument = byte
///   ld           target local, first global; length        st  target global, first local; length
///   send         first local; length; argument = core      recv  target local; length; argument = core
struct Operation {
    Opcode op = Opcode::Nop;
    Address target;
    Address first;
    Address second;
    std::int32_t length = 0;
    std::int32_t argument = 0;
    bool operator==(const Operation&) const = default;
};

/// The instruction list of one core under construction. Register contents are followed, so that an operand that already
/// stands in a register is not loaded again.
class CoreCode {
public:
    explicit CoreCode(std::int32_t weight_bits) : weight_bits_(weight_bits) {}

    /// setbw; must come first.
    void set_bit_widths(std::int32_t input_bits, std::int32_t output_bits);
    /// `trips` repetitions of `body`. Loop-invariant operands are loaded once, before the loop.
    void append(std::span<const Operation> body, std::uint32_t trips, std::uint32_t label);

    [[nodiscard]] bool empty() const { return runs_.empty(); }
    [[nodiscard]] std::span<const Run> runs() const { return runs_; }
    [[nodiscard]] std::span<const Instruction> instructions() const { return instructions_; }
    /// Forget everything (keeps the memory).
    void clear();

private:
    static constexpr std::uint8_t local_registers = 28;   // r0..r27; r28 holds global addresses, r29 stays zero as its high word
    static constexpr std::uint8_t global_register = 28;
    static constexpr std::size_t pinned_limit = 20;

    struct Slot {
        Address value;
        std::uint64_t last_use = 0;
        bool valid = false;
        bool pinned = false;
    };

    std::uint8_t operand_register(Address value);
    void emit(const Operation& operation);
    void load_pinned(std::span<const Operation> body);
    void start_run(std::uint32_t trips, std::uint32_t label);
    void finish_run();

    std::int32_t weight_bits_;
    std::array<Slot, local_registers> slots_{};
    std::int32_t global_value_ = 0;
    bool global_valid_ = false;
    std::uint64_t clock_ = 0;
    std::vector<Instruction> instructions_;
    std::vector<Run> runs_;
};

/// The operands of `operation` that live in local registers, in the order in which they are read.
/// Returns how many of `out` are used (at most three).
std::size_t local_operands(const Operation& operation, std::array<Address, 3>& out);

}  // namespace weft
