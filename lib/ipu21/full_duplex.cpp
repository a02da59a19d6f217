// One send stream and one receive stream per tile, independent of each other.
#include <algorithm>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

#include "ipu21/phase.h"
#include "ipu21/transfer_order.h"

namespace weft::ipu21 {
namespace {

/// When each tile's two streams are free.
struct Streams {
    explicit Streams(std::uint32_t tile_count) : send(tile_count, 0), receive(tile_count, 0) {}
    std::vector<std::uint64_t> send;
    std::vector<std::uint64_t> receive;
};

/// A stream's use of a tile's memory, half-open in time.
struct ElementUse {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    ElementRange elements;
};

/// Appends transfers one after another, each as early as its streams, its hazards and the memory elements allow. With
/// `paired` (per transfer) the marked ones take the 64-bit form.
class Timeline {
public:
    Timeline(const Target& target, const Topology& topology, const Phase& phase, std::span<const std::uint8_t> paired)
        : target_(target), topology_(topology), phase_(phase), paired_(paired), streams_(topology.tile_count()),
          dedicated_(dedicated_transfers(phase, topology.tile_count())) {
        schedule_.times.resize(phase.transfers.size());
        if (phase.placed()) {
            reads_.resize(topology.tile_count());
            writes_.resize(topology.tile_count());
        }
    }

    void append(std::uint32_t row, std::uint64_t earliest) {
        const Transfer& transfer = phase_.transfers[row];
        const auto receivers = phase_.receivers_of(transfer);
        const bool wide = !paired_.empty() && paired_[row] != 0;
        const std::uint32_t events = wide ? transfer.words / 2 : transfer.words;
        const TransferTiming timing = transfer_timing(target_, topology_, TileId(transfer.source), receivers, events,
                                                      dedicated_[row] != 0, &receive_begin_);
        std::uint64_t start = earliest;
        const auto require = [&](std::uint64_t free, std::uint64_t offset) { start = std::max(start, free > offset ? free - offset : 0); };
        require(streams_.send[transfer.source], timing.send_begin);
        for (std::size_t i = 0; i < receivers.size(); ++i) require(streams_.receive[receivers[i]], receive_begin_[i]);
        const std::uint32_t partner = topology_.partner(TileId(transfer.source)).value;
        if (wide) {
            require(streams_.send[partner], timing.send_begin);
            require(streams_.receive[partner], timing.send_begin);
        }
        if (phase_.placed()) start = after_conflicts(row, start, timing, events);
        // One event separates two transfers of a stream, as it does between exclusive roles.
        const std::uint64_t sent = start + timing.send_begin + events + 1;
        streams_.send[transfer.source] = sent;
        if (wide) {
            streams_.send[partner] = sent;
            streams_.receive[partner] = std::max(streams_.receive[partner], sent);
        }
        for (std::size_t i = 0; i < receivers.size(); ++i) streams_.receive[receivers[i]] = start + receive_begin_[i] + events + 1;
        if (phase_.placed()) note_uses(row, start, timing, events);
        schedule_.times[row] = {start, start + timing.end, 0, wide};
        schedule_.cycles = std::max(schedule_.cycles, start + timing.end);
    }

    [[nodiscard]] const PhaseSchedule& schedule() const { return schedule_; }

private:
    [[nodiscard]] ElementRange read_elements(std::uint32_t row) const {
        return elements_of(target_.ipu21, phase_.source_address[row], std::uint64_t{phase_.transfers[row].words} * 4);
    }
    [[nodiscard]] ElementRange written_elements(std::uint32_t row, std::uint32_t receiver) const {
        const Transfer& transfer = phase_.transfers[row];
        return elements_of(target_.ipu21, phase_.receiver_address[transfer.first_receiver + receiver], std::uint64_t{transfer.words} * 4);
    }

    /// The earliest time from `start` on at which no tile would read and write one element at once.
    [[nodiscard]] std::uint64_t after_conflicts(std::uint32_t row, std::uint64_t start, const TransferTiming& timing, std::uint32_t events) const {
        const Transfer& transfer = phase_.transfers[row];
        for (bool moved = true; moved;) {
            moved = false;
            const auto avoid = [&](const std::vector<ElementUse>& uses, ElementRange elements, std::uint64_t offset) {
                for (const ElementUse& use : uses) {
                    const std::uint64_t begin = start + offset;
                    if (!use.elements.meets(elements) || use.end <= begin || begin + events + 1 <= use.begin) continue;
                    start = use.end - offset;   // `use` ends after `begin`, so this is later
                    moved = true;
                }
            };
            avoid(writes_[transfer.source], read_elements(row), timing.send_begin);
            for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
                avoid(reads_[phase_.receivers[transfer.first_receiver + i]], written_elements(row, i), receive_begin_[i]);
            }
        }
        return start;
    }

    void note_uses(std::uint32_t row, std::uint64_t start, const TransferTiming& timing, std::uint32_t events) {
        const Transfer& transfer = phase_.transfers[row];
        reads_[transfer.source].push_back({start + timing.send_begin, start + timing.send_begin + events + 1, read_elements(row)});
        for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
            const std::uint64_t begin = start + receive_begin_[i];
            writes_[phase_.receivers[transfer.first_receiver + i]].push_back({begin, begin + events + 1, written_elements(row, i)});
        }
    }

    const Target& target_;
    const Topology& topology_;
    const Phase& phase_;
    std::span<const std::uint8_t> paired_;
    Streams streams_;
    std::vector<std::uint8_t> dedicated_;
    std::vector<std::uint32_t> receive_begin_;
    std::vector<std::vector<ElementUse>> reads_;    // per tile; empty before placement
    std::vector<std::vector<ElementUse>> writes_;
    PhaseSchedule schedule_;
};

/// Words that each stream still has to move.
struct Pressure {
    std::vector<std::uint64_t> send;
    std::vector<std::uint64_t> receive;

    Pressure(const Phase& phase, std::uint32_t tile_count) : send(tile_count, 0), receive(tile_count, 0) {
        for (const Transfer& transfer : phase.transfers) {
            send[transfer.source] += transfer.words;
            for (const std::uint32_t tile : phase.receivers_of(transfer)) receive[tile] += transfer.words;
        }
    }

    [[nodiscard]] std::uint64_t of(const Phase& phase, const Transfer& transfer) const {
        std::uint64_t result = send[transfer.source];
        for (const std::uint32_t tile : phase.receivers_of(transfer)) result = std::max(result, receive[tile]);
        return result;
    }

    void finish(const Phase& phase, const Transfer& transfer) {
        send[transfer.source] -= transfer.words;
        for (const std::uint32_t tile : phase.receivers_of(transfer)) receive[tile] -= transfer.words;
    }
};

/// Earliest start that hazards allow; hazards are kept by ending before the other begins.
void release(const HazardGraph& hazards, std::uint32_t row, std::uint64_t end, std::vector<std::uint64_t>& earliest) {
    for (std::uint32_t i = hazards.first[row]; i < hazards.first[row + 1]; ++i) {
        earliest[hazards.after[i]] = std::max(earliest[hazards.after[i]], end + 1);
    }
}

PhaseSchedule by_pressure(const Target& target, const Topology& topology, const Phase& phase, std::span<const std::uint8_t> paired) {
    HazardGraph hazards = hazard_graph(phase, topology.tile_count());
    std::vector<std::uint64_t> earliest(phase.transfers.size(), 0);
    Pressure pressure(phase, topology.tile_count());
    const auto priority = [&](std::uint32_t row) {
        const Transfer& transfer = phase.transfers[row];
        return Priority{pressure.of(phase, transfer), transfer.receiver_count, transfer.words, transfer.source, row};
    };
    std::priority_queue<Priority> ready;
    for (std::uint32_t row = 0; row < phase.transfers.size(); ++row) {
        if (hazards.waiting[row] == 0) ready.push(priority(row));
    }
    Timeline timeline(target, topology, phase, paired);
    while (!ready.empty()) {
        const Priority top = ready.top();
        ready.pop();
        // Pressure only falls, so a stale entry is an upper bound: refresh it and look again.
        const Priority fresh = priority(top.row);
        if (fresh.pressure != top.pressure) {
            ready.push(fresh);
            continue;
        }
        timeline.append(top.row, earliest[top.row]);
        pressure.finish(phase, phase.transfers[top.row]);
        release(hazards, top.row, timeline.schedule().times[top.row].end, earliest);
        for (std::uint32_t i = hazards.first[top.row]; i < hazards.first[top.row + 1]; ++i) {
            if (--hazards.waiting[hazards.after[i]] == 0) ready.push(priority(hazards.after[i]));
        }
    }
    return timeline.schedule();
}

PhaseSchedule in_exclusive_order(const Target& target, const Topology& topology, const Phase& phase, std::span<const std::uint8_t> paired) {
    const PhaseSchedule exclusive = schedule_exclusive(target, topology, phase);
    std::vector<std::uint32_t> order(phase.transfers.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return std::pair(exclusive.times[row].slot, row); });
    const HazardGraph hazards = hazard_graph(phase, topology.tile_count());
    std::vector<std::uint64_t> earliest(phase.transfers.size(), 0);
    Timeline timeline(target, topology, phase, paired);
    for (const std::uint32_t row : order) {
        timeline.append(row, earliest[row]);
        release(hazards, row, timeline.schedule().times[row].end, earliest);
    }
    return timeline.schedule();
}

}  // namespace

PhaseSchedule schedule_full_duplex(const Target& target, const Topology& topology, const Phase& phase) {
    PhaseSchedule best = by_pressure(target, topology, phase, {});
    const auto consider = [&](PhaseSchedule other) {
        if (other.cycles < best.cycles) best = std::move(other);
    };
    consider(in_exclusive_order(target, topology, phase, {}));
    const std::vector<std::uint8_t> paired = paired_transfers(target, topology, phase);
    if (std::ranges::find(paired, 1) != paired.end()) {
        consider(by_pressure(target, topology, phase, paired));
        consider(in_exclusive_order(target, topology, phase, paired));
    }
    return best;
}

}  // namespace weft::ipu21
