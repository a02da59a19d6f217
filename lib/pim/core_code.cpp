#include "pim/core_code.h"

#include <algorithm>

#include "base/checked.h"

namespace weft {
namespace {

enum class Shape : std::uint8_t { None, Matrix, TwoOperand, OneOperand, OneOperandAndValue, Fill, Load, Store, Send, Receive };

Shape shape_of(Opcode op) {
    switch (op) {
        case Opcode::Mvmul: return Shape::Matrix;
        case Opcode::Vvadd:
        case Opcode::Vvsub:
        case Opcode::Vvmul:
        case Opcode::Vvmax: return Shape::TwoOperand;
        case Opcode::Vrelu:
        case Opcode::Vtanh:
        case Opcode::Vsigm:
        case Opcode::Lmv: return Shape::OneOperand;
        case Opcode::Vmv:
        case Opcode::Vrsu:
        case Opcode::Vrsl: return Shape::OneOperandAndValue;
        case Opcode::Lldi: return Shape::Fill;
        case Opcode::Ld: return Shape::Load;
        case Opcode::St: return Shape::Store;
        case Opcode::Send: return Shape::Send;
        case Opcode::Recv: return Shape::Receive;
        default: return Shape::None;
    }
}

}  // namespace

std::size_t local_operands(const Operation& operation, std::array<Address, 3>& out) {
    switch (shape_of(operation.op)) {
        case Shape::Matrix:
        case Shape::OneOperand: out = {operation.first, operation.target}; return 2;
        case Shape::TwoOperand:
        case Shape::OneOperandAndValue: out = {operation.first, operation.second, operation.target}; return 3;
        case Shape::Fill:
        case Shape::Load:
        case Shape::Receive: out = {operation.target}; return 1;
        case Shape::Store:
        case Shape::Send: out = {operation.first}; return 1;
        case Shape::None: break;
    }
    WEFT_CHECK(false, "opcode {} has no operation form", static_cast<int>(operation.op));
    return 0;
}

bool is_literal(const Operation& operation, std::size_t index) {
    return index == 1 && shape_of(operation.op) == Shape::OneOperandAndValue;
}

void OperationList::append(std::span<const Operation> body, std::uint32_t trips, std::uint32_t label) {
    if (body.empty() || trips == 0) return;
    const auto first = narrow<std::uint32_t>(operations_.size());
    const auto count = narrow<std::uint32_t>(body.size());
    if (trips == 1) {
        // Every operation a loop of its own, so that messages can stand between any two.
        for (std::uint32_t i = 0; i < count; ++i) loops_.push_back({first + i, 1, 1, label});
    } else {
        loops_.push_back({first, count, trips, label});
    }
    operations_.insert(operations_.end(), body.begin(), body.end());
}

void CoreCode::append(const OperationList& list) {
    for (const OperationList::Loop& loop : list.loops()) append(list.body(loop), loop.trips, loop.label);
}

void CoreCode::append_part(std::span<const Operation> body, std::uint32_t first_trip, std::uint32_t trips, std::uint32_t label) {
    if (first_trip == 0) {
        append(body, trips, label);
        return;
    }
    const auto moved = [&](Address address) {
        return Address{address.base + static_cast<std::int32_t>(first_trip) * address.stride, address.stride};
    };
    std::vector<Operation> part(body.begin(), body.end());
    for (Operation& operation : part) {
        operation.target = moved(operation.target);
        operation.first = moved(operation.first);
        operation.second = moved(operation.second);
    }
    append(part, trips, label);
}

void CoreCode::use_halves(std::int32_t distance) {
    // read = written, written = distance - written; never in place, and right from the first round on because registers start at zero.
    const auto scalar = [&](Opcode op, std::uint8_t target, std::uint8_t source, std::int32_t immediate) {
        Instruction instruction;
        instruction.op = static_cast<std::uint8_t>(op);
        instruction.rd = target;
        instruction.rs1 = source;
        instruction.immediate = immediate;
        instructions_.push_back(instruction);
    };
    start_run(1, no_id);
    scalar(Opcode::Saddi, read_half_register, written_half_register, 0);
    scalar(Opcode::Smuli, half_scratch_register, written_half_register, -1);
    scalar(Opcode::Saddi, written_half_register, half_scratch_register, distance);
    finish_run();
}

void CoreCode::emit_load(std::uint8_t target, Address value, bool literal) {
    Instruction load;
    load.op = static_cast<std::uint8_t>(Opcode::Sldi);
    load.rd = target;
    load.immediate = value.base;
    load.step = value.stride;
    if (!literal && (value.base & half_marks) != 0) {
        load.op = static_cast<std::uint8_t>(Opcode::Saddi);
        load.rs1 = (value.base & written_half) != 0 ? written_half_register : read_half_register;
        load.immediate = value.base & ~half_marks;
    }
    instructions_.push_back(load);
}

void CoreCode::clear() {
    slots_ = {};
    global_valid_ = false;
    clock_ = 0;
    instructions_.clear();
    runs_.clear();
}

void CoreCode::set_bit_widths(std::int32_t input_bits, std::int32_t output_bits) {
    WEFT_CHECK(runs_.empty());
    start_run(1, no_id);
    Instruction instruction;
    instruction.op = static_cast<std::uint8_t>(Opcode::Setbw);
    instruction.immediate = input_bits;
    instruction.length = output_bits;
    instructions_.push_back(instruction);
    finish_run();
}

void CoreCode::start_run(std::uint32_t trips, std::uint32_t label) {
    // Straight-line code of one label is one run.
    if (trips == 1 && !runs_.empty() && runs_.back().trip_count == 1 && runs_.back().label == label) return;
    runs_.push_back({narrow<std::uint32_t>(instructions_.size()), 0, trips, label});
}

void CoreCode::finish_run() {
    Run& run = runs_.back();
    run.instruction_count = narrow<std::uint32_t>(instructions_.size()) - run.first_instruction;
    if (run.instruction_count == 0) runs_.pop_back();
}

std::uint8_t CoreCode::operand_register(Address value, bool literal) {
    std::size_t victim = local_registers;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (slot.valid && slot.value == value && slot.literal == literal) {
            slot.last_use = ++clock_;
            return static_cast<std::uint8_t>(i);
        }
        if (slot.pinned) continue;
        if (victim == local_registers || slot.last_use < slots_[victim].last_use) victim = i;
    }
    WEFT_CHECK(victim != local_registers);
    slots_[victim] = {value, ++clock_, literal, true, false};
    emit_load(static_cast<std::uint8_t>(victim), value, literal);
    return static_cast<std::uint8_t>(victim);
}

void CoreCode::emit(const Operation& operation) {
    std::array<Address, 3> operands;
    std::array<std::uint8_t, 3> registers{};
    const std::size_t count = local_operands(operation, operands);
    for (std::size_t i = 0; i < count; ++i) registers[i] = operand_register(operands[i], is_literal(operation, i));
    Instruction instruction;
    instruction.op = static_cast<std::uint8_t>(operation.op);
    instruction.length = operation.length;
    switch (shape_of(operation.op)) {
        case Shape::Matrix:
            instruction.rs1 = registers[0];
            instruction.rd = registers[1];
            instruction.immediate = weight_bits_;
            instruction.length = operation.argument;
            instruction.offset_value = operation.length;
            break;
        case Shape::OneOperand:
            instruction.rs1 = registers[0];
            instruction.rd = registers[1];
            break;
        case Shape::TwoOperand:
        case Shape::OneOperandAndValue:
            instruction.rs1 = registers[0];
            instruction.rs2 = registers[1];
            instruction.rd = registers[2];
            break;
        case Shape::Fill:
            instruction.rd = registers[0];
            instruction.immediate = operation.argument;
            break;
        case Shape::Send:
            instruction.rd = registers[0];
            instruction.rs1 = registers[0];   // keeps the source protected under larger reorder buffers
            instruction.immediate = operation.argument;
            break;
        case Shape::Receive:
            instruction.rd = registers[0];
            instruction.immediate = operation.argument;
            break;
        case Shape::Load:
        case Shape::Store: {
            const Address global = operation.op == Opcode::Ld ? operation.first : operation.target;
            WEFT_CHECK(global.stride == 0);
            if (!global_valid_ || global_value_ != global.base) {
                Instruction load;
                load.op = static_cast<std::uint8_t>(Opcode::Sldi);
                load.rd = global_register + 1;   // the pair holds the high word first; r28 stays zero
                load.immediate = global.base;
                instructions_.push_back(load);
                global_valid_ = true;
                global_value_ = global.base;
            }
            (operation.op == Opcode::Ld ? instruction.rd : instruction.rs1) = registers[0];
            (operation.op == Opcode::Ld ? instruction.rs1 : instruction.rd) = global_register;
            break;
        }
        case Shape::None: break;
    }
    instructions_.push_back(instruction);
}

void CoreCode::load_pinned(std::span<const Operation> body) {
    std::array<Address, 3> operands;
    std::size_t pinned = 0;
    for (const Operation& operation : body) {
        const std::size_t count = local_operands(operation, operands);
        for (std::size_t i = 0; i < count && pinned < pinned_limit; ++i) {
            if (operands[i].stride != 0) continue;
            Slot& slot = slots_[operand_register(operands[i], is_literal(operation, i))];
            pinned += slot.pinned ? 0U : 1U;
            slot.pinned = true;
        }
    }
}

void CoreCode::append(std::span<const Operation> body, std::uint32_t trips, std::uint32_t label) {
    if (body.empty() || trips == 0) return;
    if (trips == 1) {
        start_run(1, label);
        for (Operation operation : body) {
            // One repetition: strides do not matter, and plain values are reused more often.
            operation.target.stride = operation.first.stride = operation.second.stride = 0;
            emit(operation);
        }
        finish_run();
        return;
    }
    start_run(1, label);
    load_pinned(body);
    finish_run();
    // Inside the loop nothing but the pinned registers survives a repetition.
    for (Slot& slot : slots_) {
        if (!slot.pinned) slot.valid = false;
    }
    start_run(trips, label);
    for (const Operation& operation : body) {
        std::array<Address, 3> operands;
        WEFT_CHECK(operation.op != Opcode::Ld && operation.op != Opcode::St && local_operands(operation, operands) > 0);
        emit(operation);
    }
    finish_run();
    for (Slot& slot : slots_) {
        slot.pinned = false;
        slot.valid = slot.valid && slot.value.stride == 0;
    }
}

}  // namespace weft
