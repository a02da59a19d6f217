#include "machine.h"

#include <algorithm>

#include "base/failure.h"

namespace weft {
namespace {

constexpr Picoseconds request_hold = 1000;   // a switch rests one nanosecond after each permission request
constexpr Picoseconds pipeline_fill = 3;     // clocks from the first fetch to the first start of a unit

struct Later {
    bool operator()(const QueueMachine::Entry& a, const QueueMachine::Entry& b) const {
        return a.time != b.time ? a.time > b.time : a.rank > b.rank;
    }
};

}  // namespace

QueueMachine::QueueMachine(const QueueProgram& program, TieOrder ties)
    : program_(program), tie_order_(ties), period_(program.period), cores_(program.lists.size()), slots_(program.slots.size()) {
    for (std::uint32_t id = 0; id < cores_.size(); ++id) {
        if (!program.accounts[id].has_program) continue;
        cores_[id].ready = pipeline_fill * period_;
        cores_[id].status = Status::Parked;
        push(cores_[id].ready, kind_round | id);
    }
}

void QueueMachine::push(Picoseconds time, std::uint32_t rank) {
    heap_.push_back({time, rank});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
}

std::uint32_t QueueMachine::take_entry() {
    if (heap_.empty()) return exhausted;
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    const Entry entry = heap_.back();
    heap_.pop_back();
    now_ = entry.time;
    const std::uint32_t order = entry.rank & ~kind_mask;
    switch (entry.rank & kind_mask) {
        case kind_round: return order;
        case kind_token: commit(order, entry.time); break;
        default: serve(tie_order_ == TieOrder::Forward ? order : ~kind_mask - order);
    }
    run_ready();
    return none;
}

void QueueMachine::start_round(std::uint32_t id) {
    Core& core = cores_[id];
    const CoreLists& lists = program_.lists[id];
    const EventList& list = core.generation == 0 ? lists.first_pass : lists.any_pass;
    core.segment_end = list.end;
    if (list.begin == list.end) {
        // Nothing but local work: the round is over before it began.
        core.ready += list.tail;
        ++core.generation;
        push(core.ready, kind_round | id);
        return;
    }
    core.status = Status::Running;
    enter_segment(core, list.begin);
    ready_.push_back(id);
    run_ready();
}

void QueueMachine::enter_segment(Core& core, std::uint32_t segment) {
    const QueueSegment& entered = program_.segments[segment];
    core.segment = segment;
    core.trips_left = entered.trip_count;
    core.event = entered.first;
    core.event_end = entered.last;
    core.ready += entered.lead;
}

/// Step over the event just completed. False at the end of the list: the core is then parked until its next round.
bool QueueMachine::next_event(std::uint32_t id) {
    Core& core = cores_[id];
    if (++core.event != core.event_end) return true;
    const QueueSegment& segment = program_.segments[core.segment];
    core.ready += segment.tail;
    core.event = segment.first;
    if (--core.trips_left != 0) return true;
    if (core.segment + 1 != core.segment_end) {
        enter_segment(core, core.segment + 1);
        return true;
    }
    const CoreLists& lists = program_.lists[id];
    core.ready += core.generation == 0 ? lists.first_pass.tail : lists.any_pass.tail;
    ++core.generation;
    core.status = Status::Parked;
    push(core.ready, kind_round | id);
    return false;
}

void QueueMachine::run_ready() {
    while (!ready_.empty()) {
        const std::uint32_t id = ready_.back();
        ready_.pop_back();
        while (execute(id) && next_event(id)) {
        }
    }
}

void QueueMachine::complete(Core& core, Picoseconds end, bool late) {
    core.status = Status::Running;
    ++events_;
    if (!program_.model.issue) {
        core.ready = end;
        return;
    }
    const Picoseconds edge = (end + period_ - 1) / period_ * period_;
    const Picoseconds noticed = edge + (edge == end && late ? period_ : 0);
    core.ready = noticed + 2 * period_;
}

/// The event at which core `id` stands. False where the core must wait for somebody; whoever completes the event for it steps
/// over it and puts the core on the ready list.
bool QueueMachine::execute(std::uint32_t id) {
    Core& core = cores_[id];
    const QueueEvent& event = program_.events[core.event];
    core.start = core.ready + event.lead;
    switch (event.kind) {
        case EventKind::Send:
        case EventKind::Recv: {
            const bool sends = event.kind == EventKind::Send;
            core.status = sends ? Status::Send : Status::Recv;
            Core& other = cores_[event.other];
            if (other.status != (sends ? Status::Recv : Status::Send) || program_.events[other.event].other != id) return false;
            sends ? meet(core, other) : meet(other, core);
            if (next_event(event.other)) ready_.push_back(event.other);
            return true;
        }
        case EventKind::Load:
        case EventKind::Store: request(id, event); return false;
        case EventKind::Sync: post(id, event); return true;
        case EventKind::Wait: core.status = Status::Wait; return take_tokens(core, event);
    }
    return false;
}

/// Rendezvous: request, permission, local read, data, local write, each through the FIFO of its sender.
void QueueMachine::meet(Core& sender, Core& receiver) {
    const QueueEvent& send = program_.events[sender.event];
    const QueueEvent& recv = program_.events[receiver.event];
    const Picoseconds requested = std::max(sender.start, sender.switch_free) + send.c;
    const Picoseconds permitted = std::max({requested, receiver.start, receiver.switch_free}) + recv.b;
    const Picoseconds read = permitted + send.a;
    const bool queues = program_.model.network_queues;
    const Picoseconds delivered = (queues ? std::max(read, requested + request_hold) : read) + send.b;
    complete(sender, read, send.late);
    complete(receiver, delivered + recv.a, recv.late);
    if (records_ != nullptr) note_rendezvous(sender, receiver, requested, permitted, read, delivered);
    if (!queues) return;
    receiver.switch_free = permitted;
    sender.switch_free = delivered;
}

/// The last record: of the event that `core` has just completed.
QueueMachine::Record& QueueMachine::note(const Core& core, Picoseconds end) {
    Record& record = records_->emplace_back();
    record.core = static_cast<std::uint32_t>(&core - cores_.data());
    record.event = core.event;
    record.generation = core.generation;
    record.start = core.start;
    record.end = end;
    record.ready = core.ready;
    return record;
}

/// Before the switches move on: who waited for whom, and how long.
void QueueMachine::note_rendezvous(const Core& sender, const Core& receiver, Picoseconds requested, Picoseconds permitted, Picoseconds read,
                                   Picoseconds delivered) {
    const QueueEvent& send = program_.events[sender.event];
    const QueueEvent& recv = program_.events[receiver.event];
    Record& sent = note(sender, read);
    sent.peer = send.other;
    sent.own_queue = std::max<Picoseconds>(0, sender.switch_free - sender.start);
    sent.partner = permitted - recv.b - requested;
    sent.message_begin = delivered - send.b;
    sent.message_end = delivered;
    Record& received = note(receiver, delivered + recv.a);
    received.peer = recv.other;
    received.own_queue = std::max<Picoseconds>(0, receiver.switch_free - std::max(receiver.start, requested));
    received.partner = delivered - receiver.start - recv.b - send.a - send.b - received.own_queue;
}

void QueueMachine::request(std::uint32_t id, const QueueEvent& event) {
    Core& core = cores_[id];
    const Picoseconds issued = event.kind == EventKind::Store ? core.start + event.a : core.start;
    core.arrival = std::max(issued, core.switch_free) + event.b;
    core.status = Status::Memory;
    push(core.arrival, kind_memory | (tie_order_ == TieOrder::Forward ? id : ~kind_mask - id));
}

void QueueMachine::serve(std::uint32_t id) {
    Core& core = cores_[id];
    const QueueEvent& event = program_.events[core.event];
    const Picoseconds begin = std::max(core.arrival, memory_free_);
    ties_seen_ |= core.arrival == last_arrival_;
    last_arrival_ = core.arrival;
    core.memory_wait += begin - core.arrival;
    maximum_request_wait_ = std::max(maximum_request_wait_, begin - core.arrival);
    const Picoseconds answered = begin + event.c;
    if (program_.model.memory_controller) memory_free_ = answered;
    if (program_.model.network_queues) core.switch_free = answered;
    complete(core, event.kind == EventKind::Load ? answered + event.a : answered, event.late);
    if (records_ != nullptr) {
        Record& record = note(core, event.kind == EventKind::Load ? answered + event.a : answered);
        record.own_queue = core.arrival - event.b - core.start - (event.kind == EventKind::Store ? event.a : 0);
        record.memory = begin - core.arrival;
        record.message_begin = begin;
        record.message_end = answered;
    }
    if (next_event(id)) ready_.push_back(id);
}

void QueueMachine::post(std::uint32_t id, const QueueEvent& event) {
    Core& core = cores_[id];
    const Picoseconds arrival = std::max(core.start, core.switch_free) + event.b;
    if (program_.model.network_queues) core.switch_free = arrival;
    if (program_.slots[event.other].many_producers) {
        push(arrival, kind_token | event.other);
    } else {
        commit(event.other, arrival);
    }
    complete(core, core.start + period_, true);
    if (records_ != nullptr) {
        Record& record = note(core, core.start + period_);
        record.peer = program_.slots[event.other].core;
        record.message_begin = arrival - event.b;
        record.message_end = arrival;
    }
}

/// A token's place among those of its slot is settled.
void QueueMachine::commit(std::uint32_t slot_id, Picoseconds time) {
    Slot& slot = slots_[slot_id];
    if (slot.head > 64 && slot.head * 2 > slot.tokens.size()) {
        slot.tokens.erase(slot.tokens.begin(), slot.tokens.begin() + static_cast<std::ptrdiff_t>(slot.head));
        slot.head = 0;
    }
    slot.tokens.push_back(time);
    const std::uint32_t owner = program_.slots[slot_id].core;
    Core& core = cores_[owner];
    if (core.status != Status::Wait) return;
    const QueueEvent& event = program_.events[core.event];
    if (event.other != slot_id || !take_tokens(core, event)) return;
    if (next_event(owner)) ready_.push_back(owner);
}

bool QueueMachine::take_tokens(Core& core, const QueueEvent& event) {
    Slot& slot = slots_[event.other];
    Picoseconds end = core.start;
    if (event.count <= 0) {
        slot.credit -= event.count;
    } else {
        const std::int64_t from_credit = std::min<std::int64_t>(slot.credit, event.count);
        const auto wanted = static_cast<std::size_t>(event.count - from_credit);
        if (slot.size() < wanted) return false;
        if (wanted > 0) end = std::max(end, slot.tokens[slot.head + wanted - 1]);
        slot.head += wanted;
        slot.credit -= from_credit;
    }
    complete(core, end, true);
    if (records_ != nullptr) {
        Record& record = note(core, end);
        const TokenSlot& counter = program_.slots[event.other];
        record.peer = counter.many_producers ? none : counter.producer;
        record.tokens = end - core.start;
    }
    return true;
}

}  // namespace weft
