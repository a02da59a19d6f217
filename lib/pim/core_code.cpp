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

std::uint8_t CoreCode::operand_register(Address value) {
    std::size_t victim = local_registers;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (slot.valid && slot.value == value) {
            slot.last_use = ++clock_;
            return static_cast<std::uint8_t>(i);
        }
        if (slot.pinned) continue;
        if (victim == local_registers || slot.last_use < slots_[victim].last_use) victim = i;
    }
    WEFT_CHECK(victim != local_registers);
    slots_[victim] = {value, ++clock_, true, false};
    Instruction load;
    load.op = static_cast<std::uint8_t>(Opcode::Sldi);
    load.rd = static_cast<std::uint8_t>(victim);
    load.immediate = value.base;
    load.step = value.stride;
    instructions_.push_back(load);
    return load.rd;
}

void CoreCode::emit(const Operation& operation) {
    std::array<Address, 3> operands;
    std::array<std::uint8_t, 3> registers{};
    const std::size_t count = local_operands(operation, operands);
    for (std::size_t i = 0; i < count; ++i) registers[i] = operand_register(operands[i]);
    Instruction instruction;
    instruction.op = static_cast<std::uint8_t>(operation.op);
    instruction.length = operation.length;
    switch (shape_of(operation.op)) {
        case Shape::Matrix:
            instruction.rs1 = registers[0];
            instruction.rd = registers[1];
            instruction.immediate = weight_bits_;
            instruction.length = operation.argument;
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
                load.rd = global_register;
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
    std::vector<Address> invariant;
    std::array<Address, 3> operands;
    for (const Operation& operation : body) {
        const std::size_t count = local_operands(operation, operands);
        for (std::size_t i = 0; i < count; ++i) {
            if (operands[i].stride != 0 || invariant.size() == pinned_limit) continue;
            if (std::find(invariant.begin(), invariant.end(), operands[i]) == invariant.end()) invariant.push_back(operands[i]);
        }
    }
    for (const Address& value : invariant) slots_[operand_register(value)].pinned = true;
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
