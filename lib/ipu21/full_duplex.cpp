// One send stream and one receive stream per tile, independent of each other.
#include <algorithm>
#include <numeric>
#include <queue>

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

/// Appends transfers one after another, each as early as its streams and its hazards allow.
class Timeline {
public:
    Timeline(const Target& target, const Topology& topology, const Phase& phase)
        : target_(target), topology_(topology), phase_(phase), streams_(topology.tile_count()),
          dedicated_(dedicated_transfers(phase, topology.tile_count())) {
        schedule_.times.resize(phase.transfers.size());
    }

    void append(std::uint32_t row, std::uint64_t earliest) {
        const Transfer& transfer = phase_.transfers[row];
        const auto receivers = phase_.receivers_of(transfer);
        const TransferTiming timing = transfer_timing(target_, topology_, TileId(transfer.source), receivers, transfer.words,
                                                      dedicated_[row] != 0, &receive_begin_);
        std::uint64_t start = earliest;
        const auto require = [&](std::uint64_t free, std::uint64_t offset) { start = std::max(start, free > offset ? free - offset : 0); };
        require(streams_.send[transfer.source], timing.send_begin);
        for (std::size_t i = 0; i < receivers.size(); ++i) require(streams_.receive[receivers[i]], receive_begin_[i]);
        // One event separates two transfers of a stream, as it does between exclusive roles.
        streams_.send[transfer.source] = start + timing.send_begin + transfer.words + 1;
        for (std::size_t i = 0; i < receivers.size(); ++i) streams_.receive[receivers[i]] = start + receive_begin_[i] + transfer.words + 1;
        schedule_.times[row] = {start, start + timing.end, 0};
        schedule_.cycles = std::max(schedule_.cycles, start + timing.end);
    }

    [[nodiscard]] const PhaseSchedule& schedule() const { return schedule_; }

private:
    const Target& target_;
    const Topology& topology_;
    const Phase& phase_;
    Streams streams_;
    std::vector<std::uint8_t> dedicated_;
    std::vector<std::uint32_t> receive_begin_;
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

PhaseSchedule by_pressure(const Target& target, const Topology& topology, const Phase& phase) {
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
    Timeline timeline(target, topology, phase);
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

PhaseSchedule in_exclusive_order(const Target& target, const Topology& topology, const Phase& phase) {
    const PhaseSchedule exclusive = schedule_exclusive(target, topology, phase);
    std::vector<std::uint32_t> order(phase.transfers.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return std::pair(exclusive.times[row].slot, row); });
    const HazardGraph hazards = hazard_graph(phase, topology.tile_count());
    std::vector<std::uint64_t> earliest(phase.transfers.size(), 0);
    Timeline timeline(target, topology, phase);
    for (const std::uint32_t row : order) {
        timeline.append(row, earliest[row]);
        release(hazards, row, timeline.schedule().times[row].end, earliest);
    }
    return timeline.schedule();
}

}  // namespace

PhaseSchedule schedule_full_duplex(const Target& target, const Topology& topology, const Phase& phase) {
    PhaseSchedule pressed = by_pressure(target, topology, phase);
    PhaseSchedule ordered = in_exclusive_order(target, topology, phase);
    return ordered.cycles < pressed.cycles ? ordered : pressed;
}

}  // namespace weft::ipu21
