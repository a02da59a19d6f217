#include "timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failure.h"
#include "machine.h"

namespace weft {
namespace {

using Record = QueueMachine::Record;

constexpr int core_rows = 1;
constexpr int switch_rows = 2;
constexpr int memory_row = 3;

const char* name_of(EventKind kind) {
    switch (kind) {
        case EventKind::Send: return "send";
        case EventKind::Recv: return "recv";
        case EventKind::Load: return "ld";
        case EventKind::Store: return "st";
        case EventKind::Sync: return "sync";
        case EventKind::Wait: return "wait";
    }
    return "?";
}

class TimelineWriter {
public:
    explicit TimelineWriter(const QueueProgram& program) : program_(program), busy_until_(program.lists.size(), 0) {
        text_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
        name_row("process_name", core_rows, 0, "cores");
        name_row("process_name", switch_rows, 0, "outgoing switches");
        name_row("process_name", memory_row, 0, "global memory");
        name_row("thread_name", memory_row, 0, "service");
        for (std::uint32_t core = 0; core < program.lists.size(); ++core) {
            if (!program.accounts[core].has_program) continue;
            name_row("thread_name", core_rows, core, fmt::format("core {}", core));
            name_row("thread_name", switch_rows, core, fmt::format("core {}", core));
        }
    }

    void add(const Record& record) {
        const QueueEvent& event = program_.events[record.event];
        work(record.core, record.start);
        busy_until_[record.core] = record.ready;
        const std::string title = record.peer == QueueMachine::none ? name_of(event.kind) : fmt::format("{} core {}", name_of(event.kind), record.peer);
        slice(core_rows, record.core, title, record.start, record.ready,
              fmt::format(R"("round":{},"row":{},"partner_wait_ns":{},"own_queue_ns":{},"token_wait_ns":{},"memory_wait_ns":{})", record.generation, event.row,
                          nanoseconds(record.partner), nanoseconds(record.own_queue), nanoseconds(record.tokens), nanoseconds(record.memory)));
        switch (event.kind) {
            case EventKind::Send:
                slice(switch_rows, record.core, fmt::format("data to core {}", record.peer), record.message_begin, record.message_end, "");
                break;
            case EventKind::Sync:
                slice(switch_rows, record.core, fmt::format("token to core {}", record.peer), record.message_begin, record.message_end, "");
                break;
            case EventKind::Load:
            case EventKind::Store:
                slice(memory_row, 0, fmt::format("{} of core {}", name_of(event.kind), record.core), record.message_begin, record.message_end,
                      fmt::format(R"("queued_ns":{})", nanoseconds(record.memory)));
                break;
            default: break;
        }
    }

    /// Local work of the core up to `end`.
    void work(std::uint32_t core, Picoseconds end) {
        if (end > busy_until_[core]) slice(core_rows, core, "work", busy_until_[core], end, "");
        busy_until_[core] = std::max(busy_until_[core], end);
    }

    std::string finish() {
        text_ += "\n]}\n";
        return std::move(text_);
    }

private:
    static double nanoseconds(Picoseconds time) { return static_cast<double>(time) / 1000.0; }

    void separate() {
        text_ += first_ ? "\n" : ",\n";
        first_ = false;
    }

    void name_row(const char* what, int process, std::uint32_t thread, const std::string& name) {
        separate();
        fmt::format_to(std::back_inserter(text_), R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})", what, process, thread, name);
    }

    void slice(int process, std::uint32_t thread, std::string_view name, Picoseconds begin, Picoseconds end, const std::string& arguments) {
        separate();
        fmt::format_to(std::back_inserter(text_), R"({{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{:.6f},"dur":{:.6f},"args":{{{}}}}})", name, process, thread,
                       static_cast<double>(begin) / 1e6, static_cast<double>(end - begin) / 1e6, arguments);
    }

    const QueueProgram& program_;
    std::vector<Picoseconds> busy_until_;   // by core
    std::string text_;
    bool first_ = true;
};

}  // namespace

std::string timeline_json(const QueueProgram& program, TieOrder ties, std::uint32_t rounds, std::uint64_t event_limit) {
    TimelineWriter writer(program);
    QueueMachine machine(program, ties);
    std::vector<Record> records;
    machine.record_to(&records);
    for (std::uint32_t core = machine.take_entry(); core != QueueMachine::exhausted; core = machine.take_entry()) {
        if (machine.events() > event_limit) {
            refuse("a timeline of {} rounds has more than {} events; ask for fewer rounds", rounds, event_limit);
        }
        if (core != QueueMachine::none) {
            const QueueMachine::Core& state = machine.cores()[core];
            if (state.generation > 0) writer.work(core, state.ready);
            if (state.generation < rounds) machine.start_round(core);
        }
        // Cores run ahead of one another, but each core's own events come in its order.
        for (const Record& record : records) writer.add(record);
        records.clear();
    }
    return writer.finish();
}

}  // namespace weft
