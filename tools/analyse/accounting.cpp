#include "accounting.h"

#include "machine.h"
#include "wait_sums.h"

namespace weft {
namespace {

using Record = QueueMachine::Record;

void add(WaitSums& sums, const QueueProgram& program, const Record& record) {
    const EventKind kind = program.events[record.event].kind;
    if (kind == EventKind::Load || kind == EventKind::Store) sums.add_request(record.message_begin, record.message_end, record.memory);
    sums.add(record.core, record.generation, {record.peer, record.own_queue, record.partner, record.tokens, record.memory});
}

bool communicates(const QueueProgram& program, std::uint32_t core) {
    const EventList& list = program.lists[core].any_pass;
    return list.begin != list.end;
}

}  // namespace

Accounting account_waits(const QueueProgram& program, TieOrder ties, std::uint32_t skipped, std::uint32_t rounds) {
    WaitSums sums(program.lists.size(), skipped, rounds);
    QueueMachine machine(program, ties);
    std::vector<Record> records;
    machine.record_to(&records);
    const std::uint32_t last = skipped + rounds;
    std::uint32_t open = 0;
    for (std::uint32_t core = 0; core < program.lists.size(); ++core) open += program.accounts[core].has_program && communicates(program, core) ? 1 : 0;
    while (open > 0) {
        const std::uint32_t core = machine.take_entry();
        if (core == QueueMachine::exhausted) break;
        if (core != QueueMachine::none) {
            const QueueMachine::Core& state = machine.cores()[core];
            sums.end_round(core, state.generation, state.ready);
            // Who is done goes on as long as others are not, so that the last rounds are no quieter than the first.
            if (state.generation == last && communicates(program, core)) --open;
            const bool idle = !communicates(program, core) && state.generation >= last;
            if (!idle && open > 0) machine.start_round(core);
        }
        for (const Record& record : records) add(sums, program, record);
        records.clear();
    }
    return sums.finish();
}

}  // namespace weft
