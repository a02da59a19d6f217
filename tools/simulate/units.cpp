#include "simulate/machine.h"
#include "simulate/values.h"

namespace weft {

EdgeSide Machine::side_at(Picoseconds began, Picoseconds end, EdgeSide began_side) const {
    // The clock's own event for an edge is set one period ahead. What was set earlier comes before it, what was set later after.
    if (end == began || end - began == times_.period()) return began_side;
    return end - began > times_.period() ? EdgeSide::before : EdgeSide::after;
}

Picoseconds Machine::visible_edge(Picoseconds began, Picoseconds end, EdgeSide began_side) const {
    const Picoseconds edge = times_.edge_at_or_after(end);
    const bool late = edge == end && side_at(began, end, began_side) == EdgeSide::after;
    return late ? edge + times_.period() : edge;
}

Picoseconds Machine::use_local_port(CoreState& state, Picoseconds now, Picoseconds cost) const {
    state.local_port_free = std::max(state.local_port_free, now) + cost;
    return state.local_port_free;
}

/// Reads the operands and computes; returns when the result stands ready to be written.
Picoseconds Machine::read_and_compute(std::uint32_t core, const DecodedInstruction& decoded, Picoseconds now) {
    CoreState& state = cores_[core];
    if (decoded.op() == Opcode::Mvmul) {
        const Picoseconds read = times_.local_read(times_.matrix_read_bytes(decoded.input_bytes()));
        return use_local_port(state, now, read) + times_.matrix_compute(decoded.input_bits);
    }
    const Picoseconds read = times_.local_read(decoded.input_bytes() * decoded.instruction.length);
    Picoseconds end = use_local_port(state, now, read);
    const bool two_operands = decoded.op() <= Opcode::Vvsra;
    if (two_operands) end = use_local_port(state, now, read);
    return end + times_.vector_compute(decoded.instruction.length);
}

Picoseconds Machine::result_write_time(std::uint32_t core, const DecodedInstruction& decoded) const {
    const Instruction& instruction = decoded.instruction;
    switch (decoded.op()) {
        case Opcode::Mvmul: {
            const ArrayGroup& group = program_.groups[program_.core_first_group[core] + static_cast<std::size_t>(instruction.length)];
            return times_.local_write(times_.matrix_write_bytes(instruction.immediate, decoded.output_bytes(), group.crossbars));
        }
        case Opcode::Vvmul: case Opcode::Vvsll: case Opcode::Vvsra: case Opcode::Vtanh: case Opcode::Vsigm: case Opcode::Vrsu:
        case Opcode::Vrsl: case Opcode::Vsoftmax:
            return times_.local_write(decoded.output_bytes() * instruction.length);
        default: return times_.local_write(decoded.input_bytes() * instruction.length);   // vvdmul and vavg too
    }
}

void Machine::begin_step(std::uint32_t core, std::uint64_t unit, UnitState::Stage stage, Picoseconds now, Picoseconds end, EdgeSide side) {
    UnitState& state = unit_state(core, unit);
    state.stage = stage;
    state.step_began = now;
    state.began_side = side;
    const EventRank rank = side_at(now, end, side) == EdgeSide::before ? EventRank::before_edge : EventRank::after_edge;
    queue_.push({end, rank, EventKind::step_ends, core, unit});
}

void Machine::finish(std::uint32_t core, std::uint64_t unit, Picoseconds began, Picoseconds end, EdgeSide side) {
    CoreState& state = cores_[core];
    UnitState& unit_now = unit_state(core, unit);
    unit_now.stage = UnitState::Stage::idle;
    const Picoseconds visible = visible_edge(began, end, side);
    queue_.push({visible, EventRank::edge, EventKind::unit_ready, core, unit});
    Picoseconds committed = visible;
    if (unit >= first_group_unit) {
        // The matrix unit hands over one result a period.
        if (state.last_matrix_commit >= 0) committed = std::max(visible, state.last_matrix_commit + times_.period());
        state.last_matrix_commit = committed;
    }
    queue_.push({committed + times_.period(), EventRank::edge, EventKind::retires, core, unit_now.sequence});
}

void Machine::start(std::uint32_t core, Picoseconds now) {
    CoreState& state = cores_[core];
    state.start_pending = false;
    ReorderEntry& started = state.reorder_buffer.emplace_back(std::move(state.dispatched));
    started.sequence = state.next_sequence++;
    started.pushed = now;
    const Opcode op = started.decoded.op();
    if (op == Opcode::Mvmul) {
        state.matrix_register_full = true;
        state.matrix_register_sequence = started.sequence;
        state.matrix_register_group = static_cast<std::size_t>(started.decoded.instruction.length);
        if (state.groups[state.matrix_register_group].ready) {
            queue_.push({now + times_.period(), EventRank::edge, EventKind::group_starts, core, state.matrix_register_group});
        }
    } else if (is_vector(op)) {
        state.vector.ready = false;
        state.vector.sequence = started.sequence;
        const Picoseconds computed = read_and_compute(core, started.decoded, now);
        begin_step(core, vector_unit, UnitState::Stage::computing, now, computed, EdgeSide::after);
    } else {
        state.transfer.ready = false;
        state.transfer.sequence = started.sequence;
        start_transfer(core, now);
    }
    schedule_front_end(core, now);
}

void Machine::start_group(std::uint32_t core, std::size_t group, Picoseconds now) {
    CoreState& state = cores_[core];
    WEFT_CHECK(state.matrix_register_full && state.groups[group].ready);
    state.matrix_register_full = false;
    UnitState& unit = state.groups[group];
    unit.ready = false;
    unit.sequence = state.matrix_register_sequence;
    // Where another unit starts at this edge, that one asks for the local memory first.
    queue_.push({now, EventRank::group, EventKind::group_reads, core, group});
    schedule_front_end(core, now);
}

void Machine::group_reads(std::uint32_t core, std::size_t group, Picoseconds now) {
    const UnitState& unit = cores_[core].groups[group];
    const Picoseconds computed = read_and_compute(core, entry(core, unit.sequence).decoded, now);
    begin_step(core, first_group_unit + group, UnitState::Stage::computing, now, computed, EdgeSide::after);
}

void Machine::start_transfer(std::uint32_t core, Picoseconds now) {
    CoreState& state = cores_[core];
    const DecodedInstruction& decoded = entry(core, state.transfer.sequence).decoded;
    const Instruction& instruction = decoded.instruction;
    const auto other = static_cast<std::uint32_t>(instruction.immediate);
    switch (decoded.op()) {
        case Opcode::Lldi:
            return finish(core, transfer_unit, now, use_local_port(state, now, times_.local_write(instruction.length)), EdgeSide::after);
        case Opcode::Lmv: {
            (void)use_local_port(state, now, times_.local_read(instruction.length));
            return finish(core, transfer_unit, now, use_local_port(state, now, times_.local_write(instruction.length)), EdgeSide::after);
        }
        case Opcode::Sync:
            push_message(core, {Message::Kind::sync, other, 1, instruction.length, {}}, now);
            return finish(core, transfer_unit, now, now + times_.period(), EdgeSide::after);
        case Opcode::Wait: {
            auto& counter = state.events[static_cast<std::size_t>(instruction.length)];
            if (counter < instruction.offset_value) {
                state.transfer.stage = UnitState::Stage::awaits_event;
                return;
            }
            counter -= instruction.offset_value;
            return finish(core, transfer_unit, now, now, EdgeSide::after);
        }
        case Opcode::Send:
            state.transfer.stage = UnitState::Stage::awaits_permission;
            ++result_.cores[core].messages;
            return push_message(core, {Message::Kind::sender_ready, other, 1, 0, {}}, now);
        case Opcode::Recv:
            state.transfer.stage = UnitState::Stage::awaits_data;
            if (!state.sender_waiting[other]) return;
            state.sender_waiting[other] = false;
            return push_message(core, {Message::Kind::receiver_ready, other, 1, 0, {}}, now);
        case Opcode::Ld:
            state.transfer.stage = UnitState::Stage::awaits_memory;
            return push_message(core, {Message::Kind::load, times_.memory_switch(), 1, 0, {}}, now);
        case Opcode::St:
            return begin_step(core, transfer_unit, UnitState::Stage::local_read, now,
                              use_local_port(state, now, times_.local_read(instruction.length)), EdgeSide::after);
        default: WEFT_CHECK(false, "opcode {} is no transfer", instruction.op);
    }
}

void Machine::step_ends(std::uint32_t core, std::uint64_t unit, Picoseconds now) {
    if (unit == transfer_unit) return transfer_step_ends(core, now);
    UnitState& state = unit_state(core, unit);
    const EdgeSide side = side_at(state.step_began, now, state.began_side);
    const DecodedInstruction& decoded = entry(core, state.sequence).decoded;
    // The write-back asks for the port only now, behind whatever came in between.
    const Picoseconds end = use_local_port(cores_[core], now, result_write_time(core, decoded));
    finish(core, unit, now, end, side);
}

/// The local read of a send or a store is over: its data leave.
void Machine::transfer_step_ends(std::uint32_t core, Picoseconds now) {
    CoreState& state = cores_[core];
    const DecodedInstruction& decoded = entry(core, state.transfer.sequence).decoded;
    const Instruction& instruction = decoded.instruction;
    const bool is_send = decoded.op() == Opcode::Send;
    Message message{is_send ? Message::Kind::data : Message::Kind::store,
                    is_send ? static_cast<std::uint32_t>(instruction.immediate) : times_.memory_switch(), instruction.length, 0, {}};
    if (values_ != nullptr) message.payload = values_->read_local(core, decoded, is_send ? decoded.rd_value : decoded.rs1_value);
    push_message(core, std::move(message), now);
    if (is_send) {
        finish(core, transfer_unit, state.transfer.step_began, now, state.transfer.began_side);   // it does not wait for delivery
    } else {
        state.transfer.stage = UnitState::Stage::awaits_memory;
    }
}

}  // namespace weft
