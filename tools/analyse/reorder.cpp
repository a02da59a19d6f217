#include "reorder.h"

#include <algorithm>

#include "base/failure.h"
#include "reorder_core.h"
#include "wait_sums.h"

namespace weft {
namespace {

constexpr Picoseconds request_hold = 1000;
constexpr std::uint64_t control_bytes = 1;
constexpr std::uint32_t register_count = 32;
/// More entries than any core can fill before its oldest instruction ends.
constexpr std::uint32_t useful_entries = 1U << 12U;
constexpr std::uint64_t first_rounds = 16;
constexpr std::uint64_t most_rounds = 256;
/// From these on, windows need to agree within one hundredth only, not one thousandth.
constexpr std::uint64_t late_rounds = 64;

class ReorderMachine {
public:
    /// `rounds` of each core. `sums`: where the waits of transfers are added up, or null.
    ReorderMachine(const Program& program, const Target& target, TieOrder ties, std::vector<std::uint64_t> rounds, bool hazards, WaitSums* sums = nullptr)
        : program_(program), costs_(target), ties_(ties), rounds_(std::move(rounds)), sums_(sums), tokens_((program.core_first_run.size() - 1) * register_count) {
        const auto cores = static_cast<std::uint32_t>(program.core_first_run.size() - 1);
        const std::uint32_t capacity = std::min(target.core.rob_entries, useful_entries);
        outside_.resize(cores);
        for (std::uint32_t core = 0; core < cores; ++core) {
            cores_.emplace_back(program, costs_, core, capacity, hazards);
            find_producers(core);
        }
    }

    ReorderRun run() {
        for (std::uint32_t core = 0; core < cores_.size(); ++core) {
            if (cores_[core].has_program()) ready_.push_back(core);
        }
        drive_all();
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), Later{});
            const Entry entry = heap_.back();
            heap_.pop_back();
            entry.token ? commit(entry.order, entry.time) : serve(ties_ == TieOrder::Forward ? entry.order : ~entry.order);
            drive_all();
        }
        ReorderRun result;
        result.ties = ties_seen_;
        result.maximum_request_wait = maximum_request_wait_;
        for (ReorderCore& core : cores_) {
            result.round_ends.push_back(core.round_ends());
            result.instructions += core.instructions();
            result.in_place_scalars += core.in_place_scalars();
        }
        return result;
    }

private:
    enum class Status : std::uint8_t { Running, Send, Recv, Wait, Memory };

    /// A core as the others see it.
    struct Outside {
        Status status = Status::Running;
        std::uint32_t peer = 0;
        Picoseconds switch_free = 0;
        Picoseconds requested = 0;   // send: its request has arrived
        Picoseconds arrival = 0;     // of its request at the memory
        Picoseconds own_queue = 0;   // how long its message waited in its own switch
    };

    struct Tokens {
        std::vector<Picoseconds> times;
        std::size_t head = 0;
        std::int64_t credit = 0;
        std::uint32_t producer = 0xffffffffU;
        bool many_producers = false;
    };

    struct Entry {
        Picoseconds time;
        bool token;
        std::uint32_t order;
    };
    struct Later {
        bool operator()(const Entry& a, const Entry& b) const {
            if (a.time != b.time) return a.time > b.time;
            return a.token != b.token ? b.token : a.order > b.order;   // tokens before requests
        }
    };

    void find_producers(std::uint32_t core) {
        for (std::uint32_t run_id = program_.core_first_run[core]; run_id < program_.core_first_run[core + 1]; ++run_id) {
            const Run& run = program_.runs[run_id];
            for (const Instruction& row : program_.instructions.subspan(run.first_instruction, run.instruction_count)) {
                if (static_cast<Opcode>(row.op) != Opcode::Sync) continue;
                Tokens& slot = tokens_[static_cast<std::size_t>(row.immediate) * register_count + static_cast<std::size_t>(row.length)];
                slot.many_producers = slot.many_producers || (slot.producer != 0xffffffffU && slot.producer != core);
                slot.producer = core;
            }
        }
    }

    [[nodiscard]] const Instruction& row_of(std::uint32_t core) const { return program_.instructions[cores_[core].transfer().row]; }

    /// Waits of the transfer in which `core` is.
    void note(std::uint32_t core, const EventWaits& waits) {
        if (sums_ != nullptr) sums_->add(core, static_cast<std::uint32_t>(cores_[core].transfer().round), waits);
    }

    void push(Picoseconds time, bool token, std::uint32_t order) {
        heap_.push_back({time, token, order});
        std::push_heap(heap_.begin(), heap_.end(), Later{});
    }

    void drive_all() {
        while (!ready_.empty()) {
            const std::uint32_t core = ready_.back();
            ready_.pop_back();
            drive(core);
        }
    }

    void drive(std::uint32_t core) {
        for (;;) {
            switch (cores_[core].run(rounds_[core])) {
                case ReorderCore::Stop::Finished: return;
                case ReorderCore::Stop::SendRead: deliver(core); break;
                case ReorderCore::Stop::Transfer:
                    if (!start(core)) return;
            }
        }
    }

    /// False where the core must wait; whoever answers puts it on the ready list.
    bool start(std::uint32_t core) {
        const TransferStart& transfer = cores_[core].transfer();
        const Instruction& row = row_of(core);
        Outside& outside = outside_[core];
        switch (transfer.op) {
            case Opcode::Sync: post(core, row, transfer.start); return true;
            case Opcode::Wait: outside.status = Status::Wait; return take_tokens(core);
            case Opcode::Send:
                outside.status = Status::Send;
                outside.peer = static_cast<std::uint32_t>(row.immediate);
                outside.own_queue = std::max<Picoseconds>(0, outside.switch_free - transfer.start);
                outside.requested = std::max(transfer.start, outside.switch_free) + costs_.network(core, outside.peer, control_bytes);
                return meet(core, outside.peer);
            case Opcode::Recv:
                outside.status = Status::Recv;
                outside.peer = static_cast<std::uint32_t>(row.immediate);
                // The sender goes on first; what it reads makes the data that this core waits for.
                if (meet(outside.peer, core)) ready_.push_back(outside.peer);
                return false;
            default: {
                const bool load = transfer.op == Opcode::Ld;
                const std::uint64_t bytes = load ? control_bytes : static_cast<std::uint64_t>(row.length);
                const Picoseconds issued = load ? transfer.start : transfer.read;
                outside.own_queue = std::max<Picoseconds>(0, outside.switch_free - issued);
                outside.arrival = std::max(issued, outside.switch_free) + costs_.network(core, costs_.memory_switch(), bytes);
                outside.status = Status::Memory;
                push(outside.arrival, false, ties_ == TieOrder::Forward ? core : ~core);
                return false;
            }
        }
    }

    /// Permission for the sender, where both are there.
    bool meet(std::uint32_t sender_id, std::uint32_t receiver_id) {
        Outside& sender = outside_[sender_id];
        Outside& receiver = outside_[receiver_id];
        if (sender_id == receiver_id || sender.status != Status::Send || receiver.status != Status::Recv) return false;
        if (sender.peer != receiver_id || receiver.peer != sender_id) return false;
        const Picoseconds begun = std::max({sender.requested, cores_[receiver_id].transfer().start, receiver.switch_free});
        const Picoseconds permitted = begun + costs_.network(receiver_id, sender_id, control_bytes);
        receiver.own_queue = std::max<Picoseconds>(0, receiver.switch_free - std::max(cores_[receiver_id].transfer().start, sender.requested));
        receiver.switch_free = permitted;
        sender.status = Status::Running;
        note(sender_id, {receiver_id, sender.own_queue, begun - sender.requested, 0, 0});
        cores_[sender_id].answer_access(permitted);
        return true;
    }

    void deliver(std::uint32_t core) {
        Outside& sender = outside_[core];
        const auto bytes = static_cast<std::uint64_t>(row_of(core).length);
        const Picoseconds delivered = std::max(cores_[core].send_read(), sender.requested + request_hold) + costs_.network(core, sender.peer, bytes);
        sender.switch_free = delivered;
        Outside& receiver = outside_[sender.peer];
        WEFT_CHECK(receiver.status == Status::Recv && receiver.peer == core);
        receiver.status = Status::Running;
        const Picoseconds alone = costs_.network(sender.peer, core, control_bytes) + costs_.local_read(bytes) + costs_.network(core, sender.peer, bytes);
        note(sender.peer, {core, receiver.own_queue, delivered - cores_[sender.peer].transfer().start - alone - receiver.own_queue, 0, 0});
        cores_[sender.peer].answer_access(delivered);
        ready_.push_back(sender.peer);
    }

    void serve(std::uint32_t core) {
        Outside& outside = outside_[core];
        const bool load = cores_[core].transfer().op == Opcode::Ld;
        const auto bytes = static_cast<std::uint64_t>(row_of(core).length);
        ties_seen_ = ties_seen_ || outside.arrival == last_arrival_;
        last_arrival_ = outside.arrival;
        const Picoseconds begin = std::max(outside.arrival, memory_free_);
        maximum_request_wait_ = std::max(maximum_request_wait_, begin - outside.arrival);
        memory_free_ = begin + (load ? costs_.memory_read(bytes) : costs_.memory_write(bytes));
        note(core, {EventWaits{}.peer, outside.own_queue, 0, 0, begin - outside.arrival});
        if (sums_ != nullptr) sums_->add_request(begin, memory_free_, begin - outside.arrival);
        outside.switch_free = memory_free_;
        outside.status = Status::Running;
        load ? cores_[core].answer_access(memory_free_) : cores_[core].answer_end(memory_free_);
        ready_.push_back(core);
    }

    void post(std::uint32_t core, const Instruction& row, Picoseconds start) {
        const auto other = static_cast<std::uint32_t>(row.immediate);
        const Picoseconds arrival = std::max(start, outside_[core].switch_free) + costs_.network(core, other, control_bytes);
        outside_[core].switch_free = arrival;
        const std::uint32_t slot = other * register_count + static_cast<std::uint32_t>(row.length);
        tokens_[slot].many_producers ? push(arrival, true, slot) : commit(slot, arrival);
    }

    void commit(std::uint32_t slot, Picoseconds time) {
        tokens_[slot].times.push_back(time);
        const std::uint32_t owner = slot / register_count;
        if (outside_[owner].status != Status::Wait || static_cast<std::uint32_t>(row_of(owner).length) != slot % register_count) return;
        if (take_tokens(owner)) ready_.push_back(owner);
    }

    bool take_tokens(std::uint32_t core) {
        const Instruction& row = row_of(core);
        Tokens& slot = tokens_[core * register_count + static_cast<std::uint32_t>(row.length)];
        Picoseconds end = cores_[core].transfer().start;
        const std::int64_t count = row.offset_value;
        if (count <= 0) {
            slot.credit -= count;
        } else {
            const std::int64_t from_credit = std::min(slot.credit, count);
            const auto wanted = static_cast<std::size_t>(count - from_credit);
            if (slot.times.size() - slot.head < wanted) return false;
            if (wanted > 0) end = std::max(end, slot.times[slot.head + wanted - 1]);
            slot.head += wanted;
            slot.credit -= from_credit;
        }
        outside_[core].status = Status::Running;
        note(core, {slot.many_producers ? EventWaits{}.peer : slot.producer, 0, 0, end - cores_[core].transfer().start, 0});
        cores_[core].answer_end(end);
        return true;
    }

    const Program& program_;
    PimCosts costs_;
    TieOrder ties_;
    std::vector<std::uint64_t> rounds_;   // by core
    WaitSums* sums_;
    std::vector<ReorderCore> cores_;
    std::vector<Outside> outside_;
    std::vector<Tokens> tokens_;   // by core and register
    std::vector<Entry> heap_;
    std::vector<std::uint32_t> ready_;
    Picoseconds memory_free_ = 0;
    Picoseconds last_arrival_ = -1;
    Picoseconds maximum_request_wait_ = 0;
    bool ties_seen_ = false;
};

bool communicates(const Program& program, std::size_t core) {
    for (std::uint32_t run_id = program.core_first_run[core]; run_id < program.core_first_run[core + 1]; ++run_id) {
        const Run& run = program.runs[run_id];
        for (const Instruction& row : program.instructions.subspan(run.first_instruction, run.instruction_count)) {
            const auto op = static_cast<Opcode>(row.op);
            if (op == Opcode::Ld || op == Opcode::St || op >= Opcode::Send) return true;
        }
    }
    return false;
}

/// One part in `precision` between the last two windows, for every length from an eighth of the rounds up to a half.
bool windows_agree(std::span<const Picoseconds> ends, Picoseconds precision) {
    const std::size_t last = ends.size() - 1;
    for (std::size_t length = std::max<std::size_t>(last / 8, 1); length <= last / 2; ++length) {
        const Picoseconds late = ends[last] - ends[last - length];
        const Picoseconds early = ends[last - length] - ends[last - 2 * length];
        if (std::abs(late - early) > late / precision) return false;
    }
    return true;
}

/// The mean over the last half of the slowest core's rounds while all others still ran; false where there are too few or they do not agree.
bool take_interval(ReorderState& state, const std::vector<std::uint8_t>& communicating, Picoseconds precision) {
    const auto& all = state.run.round_ends;
    Picoseconds all_run = picoseconds_limit;
    for (std::size_t core = 0; core < all.size(); ++core) {
        if (communicating[core] != 0 && !all[core].empty()) all_run = std::min(all_run, all[core].back());
    }
    std::span<const Picoseconds> slowest;
    state.interval_ps = 0;
    for (std::size_t core = 0; core < all.size(); ++core) {
        if (all[core].empty()) continue;
        std::span<const Picoseconds> ends(all[core]);
        if (communicating[core] != 0) ends = ends.first(static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), all_run) - ends.begin()));
        if (ends.size() < 9) return false;
        const std::size_t half = ends.size() / 2;
        const double interval = static_cast<double>(ends.back() - ends[half]) / static_cast<double>(ends.size() - 1 - half);
        if (interval <= state.interval_ps) continue;
        state.interval_ps = interval;
        state.slowest_core = static_cast<std::uint32_t>(core);
        slowest = ends;
    }
    return !slowest.empty() && windows_agree(slowest, precision);
}

/// What every core must be executed for so that all run as long as the slowest one takes for `rounds`; lengths of rounds are taken from `run`.
std::vector<std::uint64_t> rounds_of_cores(const ReorderRun& run, const std::vector<std::uint8_t>& communicating, std::uint64_t rounds) {
    std::vector<double> lengths(run.round_ends.size(), 0);
    double slowest = 0;
    for (std::size_t core = 0; core < lengths.size(); ++core) {
        const auto& ends = run.round_ends[core];
        if (ends.size() < 2) continue;
        const std::size_t half = ends.size() / 2;
        lengths[core] = static_cast<double>(ends.back() - ends[half - 1]) / static_cast<double>(ends.size() - half);
        slowest = std::max(slowest, lengths[core]);
    }
    std::vector<std::uint64_t> result(lengths.size(), rounds);
    for (std::size_t core = 0; core < lengths.size(); ++core) {
        if (communicating[core] == 0 || lengths[core] <= 0) continue;
        result[core] = std::max(rounds, static_cast<std::uint64_t>(std::min(1e9, static_cast<double>(rounds) * slowest / lengths[core])) + 1);
    }
    return result;
}

struct CoreSize {
    std::vector<std::uint8_t> communicating;
    std::vector<std::uint64_t> instructions;
};

CoreSize sizes_of(const Program& program) {
    CoreSize result;
    for (std::size_t core = 0; core + 1 < program.core_first_run.size(); ++core) {
        result.communicating.push_back(communicates(program, core) ? 1 : 0);
        std::uint64_t instructions = 0;
        for (std::uint32_t run = program.core_first_run[core]; run < program.core_first_run[core + 1]; ++run) {
            instructions += std::uint64_t{program.runs[run].instruction_count} * program.runs[run].trip_count;
        }
        result.instructions.push_back(instructions);
    }
    return result;
}

/// Saturates.
std::uint64_t work_of(const CoreSize& sizes, const std::vector<std::uint64_t>& rounds) {
    std::uint64_t sum = 0;
    for (std::size_t core = 0; core < rounds.size(); ++core) {
        std::uint64_t work = 0;
        if (__builtin_mul_overflow(sizes.instructions[core], rounds[core], &work) || __builtin_add_overflow(sum, work, &sum)) return ~std::uint64_t{0};
    }
    return sum;
}

}  // namespace

ReorderRun run_reordered(const Program& program, const Target& target, TieOrder ties, std::uint64_t rounds, bool hazards) {
    return ReorderMachine(program, target, ties, std::vector<std::uint64_t>(program.core_first_run.size() - 1, rounds), hazards).run();
}

Accounting account_reordered(const Program& program, const Target& target, TieOrder ties, std::uint32_t skipped, std::uint32_t rounds, std::vector<std::uint64_t> executed) {
    WaitSums sums(program.core_first_run.size() - 1, skipped, rounds);
    executed.resize(program.core_first_run.size() - 1);
    for (std::uint64_t& one : executed) one = std::max(one, (std::uint64_t{skipped} + rounds) * 3 / 2 + 1);
    const ReorderRun run = ReorderMachine(program, target, ties, std::move(executed), true, &sums).run();
    for (std::uint32_t core = 0; core < run.round_ends.size(); ++core) {
        if (!communicates(program, core)) continue;
        for (std::uint32_t round = 0; round < run.round_ends[core].size(); ++round) sums.end_round(core, round + 1, run.round_ends[core][round]);
    }
    return sums.finish();
}

ReorderState find_reorder_state(const Program& program, const Target& target, TieOrder ties, bool hazards, std::uint64_t instruction_limit) {
    const CoreSize sizes = sizes_of(program);
    ReorderState state;
    state.core_rounds.assign(sizes.instructions.size(), first_rounds);
    for (std::uint64_t rounds = first_rounds;; rounds *= 2) {
        if (rounds > first_rounds) state.core_rounds = rounds_of_cores(state.run, sizes.communicating, rounds);
        const std::uint64_t work = work_of(sizes, state.core_rounds);
        if (work > instruction_limit) {
            state.availability = Availability::EventLimit;
            state.reason = fmt::format("{} rounds did not settle, and {} more are more than {} instructions", state.rounds, rounds, instruction_limit);
            return state;
        }
        instruction_limit -= work;
        state.rounds = rounds;
        state.run = ReorderMachine(program, target, ties, state.core_rounds, hazards).run();
        if (take_interval(state, sizes.communicating, rounds < late_rounds ? 1000 : 100)) return state;
        if (rounds >= most_rounds) {
            state.availability = Availability::GenerationLimit;
            state.reason = fmt::format("{} rounds did not settle", rounds);
            return state;
        }
    }
}

Picoseconds reorder_latency(const Program& program, const Target& target, TieOrder ties) {
    Picoseconds latest = 0;
    for (const auto& ends : run_reordered(program, target, ties, 1).round_ends) {
        if (!ends.empty()) latest = std::max(latest, ends.front());
    }
    return latest;
}

}  // namespace weft
