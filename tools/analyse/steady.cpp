#include "steady.h"

#include <algorithm>
#include <numeric>

#include "artifact/hash.h"

namespace weft {
namespace {

/// Beyond this many waiting tokens a group is drifting, and its state does not recur.
constexpr std::size_t token_limit = 1U << 16U;

class Unions {
public:
    explicit Unions(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }
    std::uint32_t root(std::uint32_t id) {
        while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
        return id;
    }
    void join(std::uint32_t a, std::uint32_t b) {
        a = root(a);
        b = root(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<std::uint32_t> parent_;
};

template <class Visit>
void for_each_event(const QueueProgram& program, std::uint32_t core, Visit visit) {
    const CoreLists& lists = program.lists[core];
    for (const EventList& list : {lists.first_pass, lists.any_pass}) {
        for (std::uint32_t segment = list.begin; segment < list.end; ++segment) {
            for (std::uint32_t event = program.segments[segment].first; event < program.segments[segment].last; ++event) visit(program.events[event]);
        }
    }
}

bool is_request(EventKind kind) { return kind == EventKind::Load || kind == EventKind::Store; }

}  // namespace

std::vector<CoupledGroup> coupled_groups(const QueueProgram& program) {
    const auto cores = static_cast<std::uint32_t>(program.lists.size());
    Unions unions(std::size_t{cores} + 1);   // the memory is the last
    std::vector<std::uint8_t> communicates(cores, 0);
    for (std::uint32_t core = 0; core < cores; ++core) {
        for_each_event(program, core, [&](const QueueEvent& event) {
            communicates[core] = 1;
            const bool message = event.kind == EventKind::Send || event.kind == EventKind::Recv;
            unions.join(core, is_request(event.kind) ? cores : message ? event.other : program.slots[event.other].core);
        });
    }
    std::vector<CoupledGroup> groups;
    std::vector<std::uint32_t> group_of(std::size_t{cores} + 1, QueueMachine::none);
    for (std::uint32_t core = 0; core < cores; ++core) {
        if (communicates[core] == 0) continue;
        std::uint32_t& group = group_of[unions.root(core)];
        if (group == QueueMachine::none) {
            group = static_cast<std::uint32_t>(groups.size());
            groups.emplace_back();
        }
        groups[group].cores.push_back(core);
        groups[group].uses_memory = groups[group].uses_memory || unions.root(core) == unions.root(cores);
    }
    for (std::uint32_t slot = 0; slot < program.slots.size(); ++slot) {
        const std::uint32_t group = group_of[unions.root(program.slots[slot].core)];
        if (group != QueueMachine::none) groups[group].slots.push_back(slot);
    }
    return groups;
}

/// Everything that the group's future depends on, times relative to now. Times that can no longer matter (a switch or a token
/// that is free or there before its core could use it) are cut to the same value.
void RecurrenceWatch::describe(const QueueMachine& machine, std::vector<std::int64_t>& state) const {
    state.clear();
    const Picoseconds now = machine.now();
    for (const std::uint32_t id : group_.cores) {
        const QueueMachine::Core& core = machine.cores()[id];
        using Status = QueueMachine::Status;
        const bool parked = core.status == Status::Parked;
        const Picoseconds next = parked ? core.ready : core.status == Status::Memory ? core.arrival : core.start;
        const Picoseconds switch_free = core.status == Status::Memory ? next : std::max(core.switch_free, next);
        const std::int64_t first_pass = core.generation == 0 ? 1 : 0;
        state.insert(state.end(), {static_cast<std::int64_t>(core.status) * 2 + first_pass, parked ? 0 : std::int64_t{core.event},
                                   parked ? 0 : std::int64_t{core.trips_left}, parked ? 0 : std::int64_t{core.segment}, next - now,
                                   core.status == Status::Memory ? core.start - now : 0, switch_free - now});
    }
    for (const std::uint32_t id : group_.slots) {
        const QueueMachine::Slot& slot = machine.slots()[id];
        const QueueMachine::Core& owner = machine.cores()[program_.slots[id].core];
        const Picoseconds next = owner.status == QueueMachine::Status::Parked ? owner.ready : owner.start;
        state.push_back(slot.credit);
        state.push_back(static_cast<std::int64_t>(slot.size()));
        for (std::size_t token = slot.head; token < slot.tokens.size(); ++token) state.push_back(std::max(slot.tokens[token], next) - now);
    }
    if (group_.uses_memory) state.push_back(std::max(machine.memory_free(), now) - now);
    // Tokens under way, in order of slot and time.
    std::vector<std::pair<std::int64_t, std::int64_t>> pending;
    for (const QueueMachine::Entry& entry : machine.entries()) {
        const std::uint32_t slot = QueueMachine::token_slot(entry);
        if (slot != QueueMachine::none && std::binary_search(group_.slots.begin(), group_.slots.end(), slot)) pending.emplace_back(slot, entry.time - now);
    }
    std::sort(pending.begin(), pending.end());
    for (const auto& [slot, time] : pending) state.insert(state.end(), {slot, time});
}

bool RecurrenceWatch::observe(const QueueMachine& machine) {
    std::size_t tokens = 0;
    for (const std::uint32_t slot : group_.slots) tokens += machine.slots()[slot].size();
    if (tokens > token_limit) return false;
    describe(machine, state_);
    const std::uint64_t key = hash_bytes(std::as_bytes(std::span(state_))).low;
    const auto [found, is_new] = seen_.try_emplace(key, snapshots_.size());
    snapshots_.push_back({machine.now(), generations_.size()});
    for (const std::uint32_t id : group_.cores) {
        generations_.push_back(machine.cores()[id].generation);
        waits_.push_back(machine.cores()[id].memory_wait);
    }
    if (is_new) return false;
    earlier_ = found->second;
    span_ = machine.now() - snapshots_[earlier_].time;
    return true;
}

Picoseconds RecurrenceWatch::memory_wait(std::size_t i) const {
    return waits_[snapshots_.back().cores + i] - waits_[snapshots_[earlier_].cores + i];
}

}  // namespace weft
