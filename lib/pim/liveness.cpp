#include "pim/liveness.h"

#include <algorithm>

#include "base/checked.h"

namespace weft {
namespace {

constexpr std::uint32_t register_count = 32;
constexpr std::uint64_t row_limit = std::uint64_t{1} << 27U;
constexpr std::uint64_t event_limit = std::uint64_t{1} << 32U;

struct Event {
    Opcode op = Opcode::Nop;
    std::uint32_t other = 0;        // send, recv, sync: core
    std::uint32_t register_id = 0;  // sync, wait
    std::int32_t count = 0;         // wait
    std::uint32_t instruction = 0;
    std::uint32_t offset = 0;       // in its run's body
};

/// Communication of one run: `trip_count` repetitions of events [first, last).
struct Segment {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t trip_count = 0;
    std::uint32_t body = 0;               // instructions in one repetition
    std::uint64_t first_position = 0;     // instructions executed before the run
};

struct Skeleton {
    std::vector<Event> events;
    std::vector<Segment> segments;
    std::vector<std::uint32_t> core_first_segment;  // CSR
};

struct Cursor {
    std::uint32_t segment = 0;
    std::uint32_t trip = 0;
    std::uint32_t event = 0;
    std::uint32_t generation = 0;
    bool finished = false;
};

bool is_event(Opcode op) { return op == Opcode::Send || op == Opcode::Recv || op == Opcode::Sync || op == Opcode::Wait; }

Event event_of(const Instruction& row, std::uint32_t instruction, std::uint32_t offset) {
    Event event;
    event.op = static_cast<Opcode>(row.op);
    event.instruction = instruction;
    event.offset = offset;
    if (event.op == Opcode::Send || event.op == Opcode::Recv || event.op == Opcode::Sync) event.other = static_cast<std::uint32_t>(row.immediate);
    if (event.op == Opcode::Sync || event.op == Opcode::Wait) event.register_id = static_cast<std::uint32_t>(row.length);
    if (event.op == Opcode::Wait) event.count = row.offset_value;
    return event;
}

Skeleton skeleton_of(const Program& program, unsigned generations) {
    Skeleton result;
    const std::size_t cores = program.core_first_run.size() - 1;
    std::uint64_t executed = 0;
    std::uint64_t rows = 0;
    for (const Run& run : program.runs) rows += run.instruction_count;
    // Runs may share rows, so a small file can name more than memory holds.
    if (rows > row_limit) system_failure("the runs name {} instructions, more than the deadlock check takes", rows);
    for (std::size_t core = 0; core < cores; ++core) {
        result.core_first_segment.push_back(static_cast<std::uint32_t>(result.segments.size()));
        std::uint64_t position = 0;
        for (std::uint32_t run_id = program.core_first_run[core]; run_id < program.core_first_run[core + 1]; ++run_id) {
            const Run& run = program.runs[run_id];
            const auto first = static_cast<std::uint32_t>(result.events.size());
            for (std::uint32_t offset = 0; offset < run.instruction_count; ++offset) {
                const Instruction& row = program.instructions[run.first_instruction + offset];
                if (is_event(static_cast<Opcode>(row.op))) result.events.push_back(event_of(row, run.first_instruction + offset, offset));
            }
            const auto last = static_cast<std::uint32_t>(result.events.size());
            if (last != first) result.segments.push_back({first, last, run.trip_count, run.instruction_count, position});
            position += std::uint64_t{run.instruction_count} * run.trip_count;
            executed = checked_add(executed, std::uint64_t{last - first} * run.trip_count);
        }
    }
    result.core_first_segment.push_back(static_cast<std::uint32_t>(result.segments.size()));
    if (checked_multiply<std::uint64_t>(executed, generations) > event_limit) {
        system_failure("{} communication instructions a round are more than the deadlock check takes", executed);
    }
    return result;
}

/// The three ways in which a communication instruction cannot be executed at all.
std::vector<LivenessFault> faults_of(const Program& program, const Skeleton& skeleton) {
    std::vector<LivenessFault> faults;
    const std::size_t cores = program.core_first_run.size() - 1;
    for (std::size_t core = 0; core < cores; ++core) {
        const std::uint32_t first_segment = skeleton.core_first_segment[core];
        const std::uint32_t last_segment = skeleton.core_first_segment[core + 1];
        for (std::uint32_t segment = first_segment; segment < last_segment; ++segment) {
            for (std::uint32_t id = skeleton.segments[segment].first; id < skeleton.segments[segment].last; ++id) {
                const Event& event = skeleton.events[id];
                const bool delivers = event.op == Opcode::Send || event.op == Opcode::Sync;
                const auto idle = [&](std::uint32_t other) { return program.core_first_run[other] == program.core_first_run[other + 1]; };
                if (event.op != Opcode::Wait && event.other >= cores) {
                    faults.push_back({CoreId(core), event.instruction, fmt::format("names core {}, but the program has {}", event.other, cores)});
                } else if (delivers && idle(event.other)) {
                    faults.push_back({CoreId(core), event.instruction, fmt::format("sends to core {}, which has no program", event.other)});
                } else if (event.register_id >= register_count) {
                    faults.push_back({CoreId(core), event.instruction,
                                      fmt::format("uses event register {}; there are {}", event.register_id, register_count)});
                }
            }
        }
    }
    return faults;
}

/// Runs the skeleton: every core goes as far as it can; who lets another go on wakes it.
class Execution {
public:
    Execution(const Skeleton& skeleton, std::size_t cores, unsigned generations)
        : skeleton_(skeleton), generations_(generations), cursors_(cores), tokens_(cores * register_count, 0) {
        for (std::size_t core = 0; core < cores; ++core) restart(core);
    }

    void run() {
        for (std::size_t core = cursors_.size(); core > 0; --core) ready_.push_back(static_cast<std::uint32_t>(core - 1));
        while (!ready_.empty()) {
            const std::uint32_t core = ready_.back();
            ready_.pop_back();
            while (!cursors_[core].finished && step(core)) {
            }
        }
    }

    [[nodiscard]] const Cursor& cursor(std::size_t core) const { return cursors_[core]; }
    [[nodiscard]] std::int64_t tokens(std::size_t core, std::uint32_t id) const { return tokens_[core * register_count + id]; }
    [[nodiscard]] const Event& event(std::size_t core) const { return skeleton_.events[cursors_[core].event]; }

private:
    void restart(std::size_t core) {
        Cursor& cursor = cursors_[core];
        cursor.segment = skeleton_.core_first_segment[core];
        cursor.trip = 0;
        cursor.finished = cursor.segment == skeleton_.core_first_segment[core + 1] || cursor.generation == generations_;
        if (!cursor.finished) cursor.event = skeleton_.segments[cursor.segment].first;
    }

    void advance(std::size_t core) {
        Cursor& cursor = cursors_[core];
        const Segment& segment = skeleton_.segments[cursor.segment];
        if (++cursor.event != segment.last) return;
        cursor.event = segment.first;
        if (++cursor.trip != segment.trip_count) return;
        cursor.trip = 0;
        if (++cursor.segment != skeleton_.core_first_segment[core + 1]) {
            cursor.event = skeleton_.segments[cursor.segment].first;
            return;
        }
        ++cursor.generation;
        restart(core);
    }

    [[nodiscard]] bool waits_at(std::size_t core, Opcode op, std::size_t other) const {
        return core != other && !cursors_[core].finished && event(core).op == op && event(core).other == other;
    }

    /// One communication instruction of `core`; false where it must wait.
    bool step(std::uint32_t core) {
        const Event& now = event(core);
        switch (now.op) {
            case Opcode::Send:
            case Opcode::Recv:
                if (!waits_at(now.other, now.op == Opcode::Send ? Opcode::Recv : Opcode::Send, core)) return false;
                ready_.push_back(now.other);
                advance(now.other);
                break;
            case Opcode::Sync: {
                ++tokens_[now.other * register_count + now.register_id];
                const Cursor& other = cursors_[now.other];
                if (now.other != core && !other.finished && event(now.other).op == Opcode::Wait) ready_.push_back(now.other);
                break;
            }
            default: {
                std::int64_t& present = tokens_[core * register_count + now.register_id];
                if (now.count > 0 && present < now.count) return false;
                present -= now.count;
            }
        }
        advance(core);
        return true;
    }

    const Skeleton& skeleton_;
    unsigned generations_;
    std::vector<Cursor> cursors_;
    std::vector<std::int64_t> tokens_;
    std::vector<std::uint32_t> ready_;
};

/// Cores that post to (core, register) anywhere in their lists, ascending.
std::vector<CoreId> posters(const Skeleton& skeleton, std::size_t core, std::uint32_t register_id) {
    std::vector<CoreId> result;
    for (std::size_t other = 0; other + 1 < skeleton.core_first_segment.size(); ++other) {
        const std::uint32_t first = skeleton.core_first_segment[other];
        const std::uint32_t last = skeleton.core_first_segment[other + 1];
        if (first == last) continue;
        const auto events = std::span(skeleton.events).subspan(
            skeleton.segments[first].first, skeleton.segments[last - 1].last - skeleton.segments[first].first);
        const bool posts = std::any_of(events.begin(), events.end(), [&](const Event& event) {
            return event.op == Opcode::Sync && event.other == core && event.register_id == register_id;
        });
        if (posts) result.emplace_back(other);
    }
    return result;
}

std::vector<BlockedCore> blocked_cores(const Skeleton& skeleton, const Execution& execution, std::size_t cores, unsigned generations) {
    std::vector<BlockedCore> result;
    for (std::size_t core = 0; core < cores; ++core) {
        const Cursor& cursor = execution.cursor(core);
        if (cursor.finished || cursor.generation >= generations) continue;
        const Event& event = execution.event(core);
        const Segment& segment = skeleton.segments[cursor.segment];
        BlockedCore row;
        row.core = CoreId(core);
        row.generation = cursor.generation;
        row.position = segment.first_position + std::uint64_t{cursor.trip} * segment.body + event.offset;
        row.instruction = event.instruction;
        row.op = event.op;
        if (event.op == Opcode::Wait) {
            row.event_register = event.register_id;
            row.wanted = event.count;
            row.present = execution.tokens(core, event.register_id);
            row.waits_for = posters(skeleton, core, event.register_id);
        } else {
            row.peer = CoreId(event.other);
            row.waits_for = {row.peer};
        }
        result.push_back(std::move(row));
    }
    return result;
}

/// Shortest path of waits from row `start` back to itself, or nothing where it is not shorter than `limit`.
std::vector<std::uint32_t> cycle_through(const std::vector<BlockedCore>& blocked, const std::vector<std::uint32_t>& row_of,
                                         std::uint32_t start, std::size_t limit) {
    std::vector<std::uint32_t> parent(blocked.size(), no_id);
    std::vector<std::uint32_t> depth(blocked.size(), 0);
    std::vector<std::uint32_t> queue{start};
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const std::uint32_t row = queue[head];
        if (depth[row] + 1 >= limit) break;
        for (const CoreId core : blocked[row].waits_for) {
            const std::uint32_t next = row_of[core.index()];
            if (next == start) {
                std::vector<std::uint32_t> path;
                for (std::uint32_t at = row; at != start; at = parent[at]) path.push_back(at);
                path.push_back(start);
                std::reverse(path.begin(), path.end());
                return path;
            }
            if (next == no_id || parent[next] != no_id) continue;
            parent[next] = row;
            depth[next] = depth[row] + 1;
            queue.push_back(next);
        }
    }
    return {};
}

std::vector<std::uint32_t> shortest_cycle(const std::vector<BlockedCore>& blocked, std::size_t cores) {
    std::vector<std::uint32_t> row_of(cores, no_id);
    for (std::uint32_t row = 0; row < blocked.size(); ++row) row_of[blocked[row].core.index()] = row;
    std::vector<std::uint32_t> best;
    for (std::uint32_t row = 0; row < blocked.size() && best.size() != 1; ++row) {
        auto found = cycle_through(blocked, row_of, row, best.empty() ? blocked.size() + 1 : best.size());
        if (!found.empty()) best = std::move(found);
    }
    if (!best.empty()) return best;
    // No cycle: somebody waits for a core that has nothing left to do.
    for (std::uint32_t row = 0; row < blocked.size(); ++row) {
        const auto& others = blocked[row].waits_for;
        if (std::all_of(others.begin(), others.end(), [&](CoreId core) { return row_of[core.index()] == no_id; })) return {row};
    }
    return {};
}

std::string describe(const BlockedCore& row) {
    const std::string where = fmt::format("core {} round {} instruction {} (row {})", row.core.value, row.generation, row.position, row.instruction);
    switch (row.op) {
        case Opcode::Send: return fmt::format("{}: send to core {}", where, row.peer.value);
        case Opcode::Recv: return fmt::format("{}: recv from core {}", where, row.peer.value);
        default: return fmt::format("{}: wait for {} tokens in register {}, {} came", where, row.wanted, row.event_register, row.present);
    }
}

}  // namespace

std::string LivenessReport::text() const {
    if (live) return {};
    std::string result;
    for (const LivenessFault& fault : faults) result += fmt::format("core {} instruction row {} {}\n", fault.core.value, fault.instruction, fault.what);
    if (!faults.empty()) return result;
    const auto still_blocked = [&](CoreId core) {
        return std::any_of(blocked.begin(), blocked.end(), [&](const BlockedCore& row) { return row.core == core; });
    };
    result = fmt::format("deadlock of {} cores; ", blocked.size());
    const bool open = cycle.size() == 1 && std::none_of(blocked[cycle[0]].waits_for.begin(), blocked[cycle[0]].waits_for.end(), still_blocked);
    result += open ? "one waits for a partner that has nothing left to do:\n" : fmt::format("the shortest blocked cycle has {}:\n", cycle.size());
    for (const std::uint32_t row : cycle) result += "  " + describe(blocked[row]) + "\n";
    return result;
}

LivenessReport check_liveness(const Program& program, [[maybe_unused]] const Target& target, unsigned generations, unsigned run_ahead) {
    LivenessReport report;
    const Skeleton skeleton = skeleton_of(program, generations + run_ahead);
    report.faults = faults_of(program, skeleton);
    if (report.faults.empty()) {
        const std::size_t cores = program.core_first_run.size() - 1;
        Execution execution(skeleton, cores, generations + run_ahead);
        execution.run();
        report.blocked = blocked_cores(skeleton, execution, cores, generations);
        report.cycle = shortest_cycle(report.blocked, cores);
    }
    report.live = report.faults.empty() && report.blocked.empty();
    return report;
}

}  // namespace weft
