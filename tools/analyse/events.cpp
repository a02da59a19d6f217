#include "events.h"

#include <algorithm>
#include <optional>

#include "base/id.h"

namespace weft {
namespace {

constexpr std::uint64_t control_bytes = 1;
constexpr Picoseconds request_hold = 1000;   // a switch rests one nanosecond after each permission request
constexpr std::uint32_t register_count = 32;
constexpr std::uint64_t row_limit = std::uint64_t{1} << 27U;

/// Sums saturate at picoseconds_limit; collapse() compares at the end.
Picoseconds plus(Picoseconds a, Picoseconds b) { return std::min(picoseconds_limit, a + b); }

Picoseconds times(Picoseconds a, std::uint64_t count) {
    Picoseconds result = 0;
    if (count > static_cast<std::uint64_t>(picoseconds_limit) || __builtin_mul_overflow(a, static_cast<Picoseconds>(count), &result)) return picoseconds_limit;
    return std::min(result, picoseconds_limit);
}

/// Of an instruction that touches no other core.
LocalUnit unit_of(Opcode op) {
    if (op == Opcode::Mvmul) return LocalUnit::Matrix;
    if (op == Opcode::Lmv || op == Opcode::Lldi) return LocalUnit::Copy;
    return is_vector(op) ? LocalUnit::Vector : LocalUnit::Scalar;
}

/// Thrown and caught inside this file: the program cannot be timed.
struct Unavailable {
    Availability availability;
    std::string reason;
};

template <class... Args>
[[noreturn]] void unavailable(Availability availability, fmt::format_string<Args...> text, Args&&... args) {
    throw Unavailable{availability, fmt::format(text, std::forward<Args>(args)...)};
}

class Collapser {
public:
    Collapser(const Program& program, const PimCosts& costs, QueueModel model)
        : program_(program), costs_(costs), model_(model), cores_(program.core_first_run.size() - 1), slot_of_(cores_ * register_count, no_id) {}

    QueueProgram collapse_all() {
        result_.period = costs_.period();
        result_.model = model_;
        check_size();
        for (std::uint32_t core = 0; core < cores_; ++core) collapse_core(core);
        // A 256th of the range, so that sums over a pass or two stay in 64 bits.
        if (result_.serial_time >= picoseconds_limit / 256) {
            unavailable(Availability::Overflow, "the program's instructions together take more than {} days", picoseconds_limit / 256 / 86'400'000'000'000'000);
        }
        return std::move(result_);
    }

private:
    struct Pass {
        EventList list;
        CoreAccount account;
        bool read_unset_widths = false;   // computed before its first setbw
        BitWidths widths;                 // at the end
    };

    /// The body of a run, once.
    struct Body {
        std::uint32_t first = 0;
        Picoseconds tail = 0;
        CoreAccount account;
    };

    /// Runs may share rows, so a small file can name more work than anybody wants to scan.
    void check_size() const {
        std::uint64_t rows = 0;
        for (const Run& run : program_.runs) rows += run.instruction_count;
        if (rows > row_limit) unavailable(Availability::EventLimit, "the runs name {} instructions, more than {}", rows, row_limit);
    }

    void collapse_core(std::uint32_t core) {
        core_ = core;
        Pass pass = collapse_pass(BitWidths{});
        CoreLists lists;
        lists.first_pass = pass.list;
        const bool computes_before_setbw = pass.read_unset_widths;
        add_serial_time(pass.account);
        if (pass.read_unset_widths && pass.widths != BitWidths{}) {
            pass = collapse_pass(pass.widths);
            add_serial_time(pass.account);
        }
        lists.any_pass = pass.list;
        result_.lists.push_back(lists);
        pass.account.computes_before_setbw = computes_before_setbw;
        result_.accounts.push_back(pass.account);
    }

    void add_serial_time(const CoreAccount& account) {
        for (const Picoseconds part : {account.local, account.communication, account.switch_occupancy, account.memory_service}) {
            result_.serial_time = plus(result_.serial_time, part);
        }
    }

    /// All runs of the core from `widths` on.
    Pass collapse_pass(BitWidths widths) {
        Pass pass;
        pass.list.begin = static_cast<std::uint32_t>(result_.segments.size());
        pass.widths = widths;
        widths_set_ = widths != BitWidths{};
        widths_ = widths;
        unset_read_ = false;
        Picoseconds pending = 0;
        bool open = false;   // the last segment is a list without repetition that may still grow
        const std::uint32_t last_run = program_.core_first_run[core_ + 1];
        for (std::uint32_t run_id = program_.core_first_run[core_]; run_id < last_run; ++run_id) {
            const Run& run = program_.runs[run_id];
            if (run.instruction_count == 0) continue;
            const BitWidths before = widths_;
            Body body = collapse_body(run);
            std::uint32_t trips = run.trip_count;
            if (trips > 1 && widths_ != before) {
                // The first repetition ran with other bit widths than the rest will.
                append(body, 1, pass.account, pending, open);
                body = collapse_body(run);
                --trips;
            }
            append(body, trips, pass.account, pending, open);
        }
        pass.list.end = static_cast<std::uint32_t>(result_.segments.size());
        pass.list.tail = pending;
        pass.widths = widths_;
        pass.read_unset_widths = unset_read_;
        pass.account.has_program = pass.account.instructions != 0;
        finish_account(pass.account, last_run);
        return pass;
    }

    void finish_account(CoreAccount& account, std::uint32_t last_run) const {
        if (!account.has_program) return;
        const Run& run = program_.runs[last_run - 1];
        if (run.instruction_count == 0) return;
        const Instruction& last = program_.instructions[run.first_instruction + run.instruction_count - 1];
        account.ends_with_scalar = is_scalar(static_cast<Opcode>(last.op));
    }

    void append(const Body& body, std::uint32_t trips, CoreAccount& account, Picoseconds& pending, bool& open) {
        add_account(account, body.account, trips);
        const auto last = static_cast<std::uint32_t>(result_.events.size());
        if (body.first == last) {
            pending = plus(pending, times(body.tail, trips));
        } else if (trips > 1) {
            result_.segments.push_back({body.first, last, trips, pending, body.tail});
            pending = 0;
            open = false;
        } else {
            if (!open) result_.segments.push_back({body.first, body.first, 1, 0, 0});
            open = true;
            result_.events[body.first].lead = plus(result_.events[body.first].lead, pending);
            result_.segments.back().last = last;
            pending = body.tail;
        }
    }

    static void add_account(CoreAccount& account, const CoreAccount& body, std::uint64_t trips) {
        account.local = plus(account.local, times(body.local, trips));
        for (std::size_t unit = 0; unit < local_unit_count; ++unit) account.unit[unit] = plus(account.unit[unit], times(body.unit[unit], trips));
        account.communication = plus(account.communication, times(body.communication, trips));
        account.switch_occupancy = plus(account.switch_occupancy, times(body.switch_occupancy, trips));
        account.memory_service = plus(account.memory_service, times(body.memory_service, trips));
        account.instructions += body.instructions * trips;
        account.messages += body.messages * trips;
        account.events += body.events * trips;
    }

    Body collapse_body(const Run& run) {
        Body body;
        body.first = static_cast<std::uint32_t>(result_.events.size());
        body.account.instructions = run.instruction_count;
        Picoseconds lead = 0;
        for (std::uint32_t offset = 0; offset < run.instruction_count; ++offset) {
            row_ = run.first_instruction + offset;
            const Instruction& row = program_.instructions[row_];
            if (const auto local = local_time(row)) {
                lead = plus(lead, model_.local_work ? *local : 0);
                body.account.local = plus(body.account.local, *local);
                Picoseconds& unit = body.account.unit[static_cast<std::size_t>(unit_of(static_cast<Opcode>(row.op)))];
                unit = plus(unit, *local);
            } else {
                add_event(row, lead, body.account);
                lead = 0;
            }
        }
        body.tail = lead;
        return body;
    }

    [[nodiscard]] std::uint64_t size_of(std::int32_t length) const {
        if (length < 0) {
            unavailable(Availability::UnsupportedInstruction, "core {} instruction row {}: size {} is negative", core_, row_, length);
        }
        return static_cast<std::uint64_t>(length);
    }

    /// Of an activity's unit: with issue and retirement, or without.
    [[nodiscard]] Picoseconds unit_time(Activity activity) const { return model_.issue ? costs_.unit_time(activity) : activity.duration; }
    [[nodiscard]] Picoseconds scalar_time() const { return model_.issue ? costs_.period() : 0; }

    /// Start of the unit to start of the next one's, for instructions that touch no other core.
    std::optional<Picoseconds> local_time(const Instruction& row) {
        const auto op = static_cast<Opcode>(row.op);
        if (op == Opcode::Setbw) {
            widths_ = {static_cast<std::uint32_t>(size_of(row.immediate)), static_cast<std::uint32_t>(size_of(row.length))};
            widths_set_ = true;
            return scalar_time();
        }
        if (is_scalar(op)) return scalar_time();
        if (op == Opcode::Vsoftmax) {
            unavailable(Availability::UnsupportedInstruction, "core {} instruction row {}: vsoftmax is not in the simulator's set", core_, row_);
        }
        if (is_vector(op)) {
            note_width_use();
            return unit_time(costs_.vector(op, size_of(row.length), widths_));
        }
        switch (op) {
            case Opcode::Mvmul: return mvmul_time(row);
            case Opcode::Lmv: return unit_time(costs_.copy(size_of(row.length)));
            case Opcode::Lldi: return unit_time(costs_.fill(size_of(row.length)));
            case Opcode::Nop:
                unavailable(Availability::CrashesTarget, "core {} instruction row {}: nop crashes the simulator or hangs its core", core_, row_);
            default: return std::nullopt;
        }
    }

    Picoseconds mvmul_time(const Instruction& row) {
        note_width_use();
        const std::uint32_t first_group = program_.core_first_group[core_];
        const std::uint32_t groups = program_.core_first_group[core_ + 1] - first_group;
        const auto group = static_cast<std::uint32_t>(row.length);
        if (group >= groups) {
            unavailable(Availability::CrashesTarget, "core {} instruction row {}: array group {} of {}", core_, row_, row.length, groups);
        }
        if (row.immediate <= 0) {
            unavailable(Availability::CrashesTarget, "core {} instruction row {}: a weight width of {} bits", core_, row_, row.immediate);
        }
        const Activity activity =
            costs_.mvmul(program_.groups[first_group + group].crossbars, static_cast<std::uint32_t>(row.immediate), widths_);
        return plus(unit_time(activity), scalar_time());   // one clock more: the register between dispatcher and array groups
    }

    void note_width_use() {
        if (!widths_set_) unset_read_ = true;
    }

    [[nodiscard]] std::uint32_t peer_of(const Instruction& row, bool must_have_program) const {
        const auto other = static_cast<std::uint32_t>(row.immediate);
        if (other >= cores_) {
            unavailable(Availability::CrashesTarget, "core {} instruction row {}: names core {}, but the program has {}", core_, row_, row.immediate, cores_);
        }
        if (must_have_program && program_.core_first_run[other] == program_.core_first_run[other + 1]) {
            unavailable(Availability::CrashesTarget, "core {} instruction row {}: sends to core {}, which has no program", core_, row_, other);
        }
        return other;
    }

    std::uint32_t slot_id(std::uint32_t core, std::int32_t event_register) {
        if (static_cast<std::uint32_t>(event_register) >= register_count) {
            unavailable(Availability::CrashesTarget, "core {} instruction row {}: event register {} of {}", core_, row_, event_register, register_count);
        }
        std::uint32_t& slot = slot_of_[core * register_count + static_cast<std::uint32_t>(event_register)];
        if (slot == no_id) {
            slot = static_cast<std::uint32_t>(result_.slots.size());
            result_.slots.push_back({core, no_id, false});
        }
        return slot;
    }

    void add_event(const Instruction& row, Picoseconds lead, CoreAccount& account) {
        QueueEvent event;
        event.lead = lead;
        event.row = row_;
        Picoseconds alone = 0;      // unit time with nobody in the way
        Picoseconds occupancy = 0;  // of the own switch
        const Picoseconds period = costs_.period();
        switch (static_cast<Opcode>(row.op)) {
            case Opcode::Send: {
                fill_send(row, event);
                const Picoseconds permission = event.c + costs_.network(event.other, core_, control_bytes);
                alone = unit_time({plus(permission, event.a), event.late});
                occupancy = plus(event.c + request_hold, event.b);
                ++account.messages;
                break;
            }
            case Opcode::Recv: {
                const std::uint64_t bytes = fill_recv(row, event);
                // The sender's request is there already: less is not possible.
                const Picoseconds read = plus(event.b, costs_.local_read(bytes));
                alone = unit_time({plus(plus(read, costs_.network(event.other, core_, bytes)), event.a), event.late});
                occupancy = event.b;
                break;
            }
            case Opcode::Ld:
            case Opcode::St:
                fill_request(row, event);
                alone = unit_time({plus(plus(event.a, event.b), event.c), event.late});
                occupancy = plus(event.b, event.c);
                account.memory_service = plus(account.memory_service, event.c);
                break;
            case Opcode::Sync: {
                event.kind = EventKind::Sync;
                const std::uint32_t other = peer_of(row, true);
                event.other = slot_id(other, row.length);
                TokenSlot& slot = result_.slots[event.other];
                slot.many_producers |= slot.producer != no_id && slot.producer != core_;
                slot.producer = core_;
                event.b = costs_.network(core_, other, control_bytes);
                alone = model_.issue ? 4 * period : period;
                occupancy = event.b;
                break;
            }
            default:
                event.kind = EventKind::Wait;
                event.other = slot_id(core_, row.length);
                event.count = row.offset_value;
                alone = model_.issue ? 3 * period : 0;
        }
        account.communication = plus(account.communication, alone);
        account.switch_occupancy = plus(account.switch_occupancy, occupancy);
        ++account.events;
        result_.events.push_back(event);
    }

    void fill_send(const Instruction& row, QueueEvent& event) {
        event.kind = EventKind::Send;
        event.other = peer_of(row, true);
        const std::uint64_t bytes = size_of(row.length);
        event.a = costs_.local_read(bytes);
        event.b = costs_.network(core_, event.other, bytes);
        event.c = costs_.network(core_, event.other, control_bytes);
        event.late = costs_.late_after(event.a);
    }

    std::uint64_t fill_recv(const Instruction& row, QueueEvent& event) {
        event.kind = EventKind::Recv;
        event.other = peer_of(row, false);
        const std::uint64_t bytes = size_of(row.length);
        event.a = costs_.local_write(bytes);
        event.b = costs_.network(core_, event.other, control_bytes);
        event.late = costs_.late_after(event.a);
        return bytes;
    }

    void fill_request(const Instruction& row, QueueEvent& event) {
        const bool load = static_cast<Opcode>(row.op) == Opcode::Ld;
        const std::uint64_t bytes = size_of(row.length);
        event.kind = load ? EventKind::Load : EventKind::Store;
        event.a = load ? costs_.local_write(bytes) : costs_.local_read(bytes);
        event.b = costs_.network(core_, costs_.memory_switch(), load ? control_bytes : bytes);
        event.c = load ? costs_.memory_read(bytes) : costs_.memory_write(bytes);
        event.late = !load || costs_.late_after(event.a);
    }

    const Program& program_;
    const PimCosts& costs_;
    QueueModel model_;
    std::size_t cores_;
    std::vector<std::uint32_t> slot_of_;   // by core and register
    QueueProgram result_;
    std::uint32_t core_ = 0;
    std::uint32_t row_ = 0;
    BitWidths widths_;
    bool widths_set_ = false;
    bool unset_read_ = false;
};

}  // namespace

QueueProgram collapse(const Program& program, const PimCosts& costs, std::string_view file, QueueModel model) {
    const std::size_t cores = program.core_first_run.size() - 1;
    if (cores > costs.core_count()) {
        bad_input("{}: the program has {} cores, the chip {}; name the target it was lowered for", file, cores, costs.core_count());
    }
    try {
        return Collapser(program, costs, model).collapse_all();
    } catch (const Unavailable& problem) {
        QueueProgram result;
        result.availability = problem.availability;
        result.reason = problem.reason;
        return result;
    }
}

}  // namespace weft
