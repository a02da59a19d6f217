#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "artifact/program.h"
#include "base/id.h"

namespace weft {

/// Buffers that messages fill while the core computes exist twice. In round k one half is written (by kernels that produce, by messages
/// that arrive) and the other one read (by kernels that consume, by messages that leave); the halves change places every round. An
/// address in such a buffer carries one of these marks and is the address in the first half; the code adds the half's distance.
inline constexpr std::int32_t written_half = 1 << 28;
inline constexpr std::int32_t read_half = 1 << 29;
inline constexpr std::int32_t half_marks = written_half | read_half;

/// A register operand inside a run: its value in repetition i is base + i * stride. Local and global addresses are in elements.
struct Address {
    std::int32_t base = 0;
    std::int32_t stride = 0;
    bool operator==(const Address&) const = default;
    [[nodiscard]] Address plus(std::int32_t offset) const { return {base + offset, stride}; }
};

/// One instruction whose operands are values, before registers are chosen.
///   mvmul        target, first; argument = array group; length = 1: results are clamped at zero
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

/// Work of a core as loops over operations, before registers are chosen: what kernels emit.
class OperationList {
public:
    struct Loop {
        std::uint32_t first = 0;     ///< into operations()
        std::uint32_t count = 0;
        std::uint32_t trips = 1;
        std::uint32_t label = no_id;
    };

    /// `trips` repetitions of `body`; a single one becomes a loop per operation.
    void append(std::span<const Operation> body, std::uint32_t trips, std::uint32_t label);

    [[nodiscard]] std::span<const Loop> loops() const { return loops_; }
    [[nodiscard]] std::span<const Operation> body(const Loop& loop) const {
        return std::span(operations_).subspan(loop.first, loop.count);
    }
    void clear() {
        operations_.clear();
        loops_.clear();
    }

private:
    std::vector<Operation> operations_;
    std::vector<Loop> loops_;
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
    void append(const OperationList& list);
    /// Repetitions [first_trip, first_trip + trips) of a loop.
    void append_part(std::span<const Operation> body, std::uint32_t first_trip, std::uint32_t trips, std::uint32_t label);
    /// Buffer halves `distance` elements apart: emits the exchange of the halves, and marked addresses are allowed from here on.
    void use_halves(std::int32_t distance);

    [[nodiscard]] bool empty() const { return runs_.empty(); }
    [[nodiscard]] std::span<const Run> runs() const { return runs_; }
    [[nodiscard]] std::span<const Instruction> instructions() const { return instructions_; }
    /// Forget everything (keeps the memory).
    void clear();

private:
    // r0..r23 hold operands; r24..r26 the buffer halves; r29 holds global addresses, r28 stays zero as their high word.
    static constexpr std::uint8_t local_registers = 24;
    static constexpr std::uint8_t half_scratch_register = 24;
    static constexpr std::uint8_t written_half_register = 25;
    static constexpr std::uint8_t read_half_register = 26;
    static constexpr std::uint8_t global_register = 28;
    static constexpr std::size_t pinned_limit = 16;

    struct Slot {
        Address value;
        std::uint64_t last_use = 0;
        bool literal = false;   // a stride or the bits of a bound, not an address
        bool valid = false;
        bool pinned = false;
    };

    std::uint8_t operand_register(Address value, bool literal);
    void emit_load(std::uint8_t target, Address value, bool literal);
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
/// Whether operand `index` of local_operands() is a plain value and no address.
[[nodiscard]] bool is_literal(const Operation& operation, std::size_t index);

}  // namespace weft
