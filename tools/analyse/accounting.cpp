#include "accounting.h"

#include <algorithm>
#include <numeric>

#include "machine.h"

namespace weft {
namespace {

using Record = QueueMachine::Record;

/// Sums over the rounds of the window.
class WaitSums {
public:
    WaitSums(const QueueProgram& program, std::uint32_t skipped, std::uint32_t rounds)
        : program_(program), skipped_(skipped), last_(skipped + rounds), cores_(program.lists.size()), peers_(cores_.size()), begin_(cores_.size(), 0) {}

    void add(const Record& record) {
        add_request(record);
        if (record.generation < skipped_ || record.generation >= last_) return;
        CoreWaits& core = cores_[record.core];
        core.own_queue += static_cast<double>(record.own_queue);
        core.partner += static_cast<double>(record.partner);
        core.tokens += static_cast<double>(record.tokens);
        core.memory += static_cast<double>(record.memory);
        const Picoseconds blamed = record.partner + record.tokens;
        if (blamed > 0 && record.peer != QueueMachine::none) blame(record.core, record.peer, blamed);
    }

    /// From the start on: a round of one core lasts as long as many of another.
    void add_request(const Record& record) {
        const EventKind kind = program_.events[record.event].kind;
        if (kind != EventKind::Load && kind != EventKind::Store) return;
        ++memory_.requests;
        busy_ += record.message_end - record.message_begin;
        waited_ += static_cast<double>(record.memory);
        memory_.longest_wait = std::max(memory_.longest_wait, record.memory);
        end_ = std::max(end_, record.message_end);
    }

    void end_round(std::uint32_t core, std::uint32_t finished, Picoseconds now) {
        if (finished == skipped_) begin_[core] = now;
        if (finished <= skipped_ || finished > last_) return;
        cores_[core].rounds = finished - skipped_;
        cores_[core].round = static_cast<double>(now - begin_[core]);
    }

    Accounting finish() {
        for (std::size_t id = 0; id < cores_.size(); ++id) {
            CoreWaits& core = cores_[id];
            const double rounds = static_cast<double>(std::max<std::uint64_t>(core.rounds, 1));
            for (double* sum : {&core.round, &core.own_queue, &core.partner, &core.tokens, &core.memory}) *sum /= rounds;
            core.peers = std::move(peers_[id]);
            std::stable_sort(core.peers.begin(), core.peers.end(), [](const PeerWait& a, const PeerWait& b) { return a.wait != b.wait ? a.wait > b.wait : a.core < b.core; });
            if (core.peers.size() > peer_limit) core.peers.resize(peer_limit);
            for (PeerWait& peer : core.peers) peer.wait /= rounds;
        }
        if (memory_.requests > 0) memory_.mean_wait = waited_ / static_cast<double>(memory_.requests);
        if (end_ > 0) memory_.busy_share = static_cast<double>(busy_) / static_cast<double>(end_);
        return {std::move(cores_), memory_};
    }

private:
    void blame(std::uint32_t core, std::uint32_t peer, Picoseconds wait) {
        auto& list = peers_[core];   // a core talks to few others
        const auto found = std::find_if(list.begin(), list.end(), [&](const PeerWait& one) { return one.core == peer; });
        if (found == list.end()) {
            list.push_back({peer, static_cast<double>(wait)});
        } else {
            found->wait += static_cast<double>(wait);
        }
    }

    const QueueProgram& program_;
    std::uint32_t skipped_;
    std::uint32_t last_;
    std::vector<CoreWaits> cores_;
    std::vector<std::vector<PeerWait>> peers_;
    std::vector<Picoseconds> begin_;   // of the window, by core
    MemoryUse memory_;
    Picoseconds busy_ = 0;
    double waited_ = 0;
    Picoseconds end_ = 0;
};

bool communicates(const QueueProgram& program, std::uint32_t core) {
    const EventList& list = program.lists[core].any_pass;
    return list.begin != list.end;
}

}  // namespace

Accounting account_waits(const QueueProgram& program, TieOrder ties, std::uint32_t skipped, std::uint32_t rounds) {
    WaitSums sums(program, skipped, rounds);
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
        for (const Record& record : records) sums.add(record);
        records.clear();
    }
    return sums.finish();
}

}  // namespace weft
