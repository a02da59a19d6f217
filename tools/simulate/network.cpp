#include "simulate/machine.h"
#include "simulate/values.h"

namespace weft {
namespace {

constexpr Picoseconds sender_ready_handling = 1000;   // absolute, whatever the period

}  // namespace

void Machine::push_message(std::uint32_t core, Message message, Picoseconds now) {
    Switch& outgoing = cores_[core].outgoing;
    outgoing.queue.push_back(std::move(message));
    if (!outgoing.busy) serve_switch(core, now);
}

void Machine::serve_switch(std::uint32_t core, Picoseconds now) {
    Switch& outgoing = cores_[core].outgoing;
    outgoing.busy = !outgoing.queue.empty();
    if (!outgoing.busy) return;
    const Message& message = outgoing.queue.front();
    const Picoseconds duration = times_.network(core, message.destination, message.bytes);
    result_.cores[core].switch_busy += duration;
    const bool to_memory = message.destination == times_.memory_switch();
    queue_.push({now + duration, to_memory ? EventRank::memory : EventRank::message,
                 to_memory ? EventKind::memory_request : EventKind::message_arrives, core, 0});
}

void Machine::switch_free(std::uint32_t core, Picoseconds now) {
    cores_[core].outgoing.queue.pop_front();
    serve_switch(core, now);
}

/// The message in service of `core` reaches its destination.
void Machine::message_arrives(std::uint32_t core, Picoseconds now) {
    Message message = std::move(cores_[core].outgoing.queue.front());
    CoreState& destination = cores_[message.destination];
    const Instruction* current = destination.transfer.stage == UnitState::Stage::idle
                                     ? nullptr
                                     : &entry(message.destination, destination.transfer.sequence).decoded.instruction;
    if (message.kind == Message::Kind::sender_ready) {
        const bool expected = destination.transfer.stage == UnitState::Stage::awaits_data && current->immediate == static_cast<std::int32_t>(core);
        if (expected) {
            push_message(message.destination, {Message::Kind::receiver_ready, core, 1, 0, {}}, now);
        } else {
            destination.sender_waiting[core] = true;
        }
        result_.cores[core].switch_busy += sender_ready_handling;
        queue_.push({now + sender_ready_handling, EventRank::message, EventKind::switch_free, core, 0});
        return;
    }
    switch_free(core, now);
    if (message.kind == Message::Kind::receiver_ready) {
        WEFT_CHECK(destination.transfer.stage == UnitState::Stage::awaits_permission && current->immediate == static_cast<std::int32_t>(core));
        const Picoseconds end = use_local_port(destination, now, times_.local_read(current->length));
        begin_step(message.destination, transfer_unit, UnitState::Stage::local_read, now, end, EdgeSide::after);
    } else if (message.kind == Message::Kind::data) {
        deliver_data(core, message, now);
    } else {
        deliver_sync(message, now);
    }
}

void Machine::deliver_data(std::uint32_t from, Message& message, Picoseconds now) {
    CoreState& state = cores_[message.destination];
    const DecodedInstruction& decoded = entry(message.destination, state.transfer.sequence).decoded;
    WEFT_CHECK(state.transfer.stage == UnitState::Stage::awaits_data && decoded.instruction.immediate == static_cast<std::int32_t>(from));
    if (values_ != nullptr) {
        if (message.bytes != decoded.instruction.length) {
            refuse("core {} sends {} elements to core {}, whose recv at instruction {} takes {}; the two must be equal", from, message.bytes,
                   message.destination, decoded.position, decoded.instruction.length);
        }
        values_->write_local(message.destination, decoded, decoded.rd_value, message.payload);
    }
    const Picoseconds end = use_local_port(state, now, times_.local_write(decoded.instruction.length));
    finish(message.destination, transfer_unit, now, end, EdgeSide::after);
}

void Machine::deliver_sync(const Message& message, Picoseconds now) {
    CoreState& state = cores_[message.destination];
    auto& counter = state.events[static_cast<std::size_t>(message.event_register)];
    ++counter;
    if (state.transfer.stage != UnitState::Stage::awaits_event) return;
    const Instruction& waiting = entry(message.destination, state.transfer.sequence).decoded.instruction;
    if (waiting.length != message.event_register || counter < waiting.offset_value) return;
    counter -= waiting.offset_value;
    finish(message.destination, transfer_unit, now, now, EdgeSide::after);
}

/// One port, first come first served; the request keeps its core's switch until the answer.
void Machine::memory_request(std::uint32_t core, Picoseconds now) {
    CoreState& state = cores_[core];
    Message& message = state.outgoing.queue.front();
    const DecodedInstruction& decoded = entry(core, state.transfer.sequence).decoded;
    const bool is_load = message.kind == Message::Kind::load;
    const Picoseconds cost = is_load ? times_.memory_read(decoded.instruction.length) : times_.memory_write(decoded.instruction.length);
    if (values_ != nullptr) {
        if (is_load) {
            message.payload = values_->load(core, decoded);
        } else {
            values_->store(core, decoded, message.payload);
        }
    }
    memory_free_ = std::max(memory_free_, now) + cost;
    result_.memory_busy += cost;
    result_.cores[core].switch_busy += memory_free_ - now;
    queue_.push({memory_free_, EventRank::message, EventKind::memory_answers, core, 0});
}

void Machine::memory_answers(std::uint32_t core, Picoseconds now) {
    CoreState& state = cores_[core];
    const Message message = std::move(state.outgoing.queue.front());
    switch_free(core, now);
    const DecodedInstruction& decoded = entry(core, state.transfer.sequence).decoded;
    if (message.kind == Message::Kind::store) return finish(core, transfer_unit, now, now, EdgeSide::after);
    if (values_ != nullptr) values_->write_local(core, decoded, decoded.rd_value, message.payload);
    const Picoseconds end = use_local_port(state, now, times_.local_write(decoded.instruction.length));
    finish(core, transfer_unit, now, end, EdgeSide::after);
}

}  // namespace weft
