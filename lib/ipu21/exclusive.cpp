// Colouring of multicasts whose endpoints are exclusive: the discipline behind the measured phases of the calibration
// workload. The priority and timing rules are part of the discipline's definition; changing them moves its golden figures.
#include <algorithm>
#include <bit>
#include <queue>

#include "ipu21/phase.h"
#include "ipu21/transfer_order.h"

namespace weft::ipu21 {
namespace {

/// Which slots of each tile are taken, one bit per slot, grown on demand.
class SlotTable {
public:
    explicit SlotTable(std::uint32_t tile_count) : taken_(tile_count), first_free_(tile_count, 0) {}

    /// Lowest slot, `least` or later, that is free on the source and all receivers.
    [[nodiscard]] std::uint32_t lowest_common(std::uint32_t source, std::span<const std::uint32_t> receivers, std::uint32_t least) const {
        std::uint32_t slot = std::max(least, first_free_[source]);
        for (const std::uint32_t tile : receivers) slot = std::max(slot, first_free_[tile]);
        for (std::uint32_t word = slot / 64;; ++word) {
            std::uint64_t busy = word_of(source, word);
            for (const std::uint32_t tile : receivers) busy |= word_of(tile, word);
            if (word == slot / 64) busy |= (std::uint64_t{1} << (slot % 64)) - 1;
            if (busy != ~std::uint64_t{0}) return word * 64 + static_cast<std::uint32_t>(std::countr_one(busy));
        }
    }

    void take(std::uint32_t tile, std::uint32_t slot) {
        std::vector<std::uint64_t>& words = taken_[tile];
        if (words.size() <= slot / 64) words.resize(slot / 64 + 1, 0);
        words[slot / 64] |= std::uint64_t{1} << (slot % 64);
        std::uint32_t& free = first_free_[tile];
        while ((word_of(tile, free / 64) >> (free % 64) & 1U) != 0) ++free;
    }

private:
    [[nodiscard]] std::uint64_t word_of(std::uint32_t tile, std::uint32_t word) const {
        return word < taken_[tile].size() ? taken_[tile][word] : 0;
    }

    std::vector<std::vector<std::uint64_t>> taken_;
    std::vector<std::uint32_t> first_free_;
};

std::vector<Priority> priorities(const Phase& phase, std::uint32_t tile_count) {
    std::vector<std::uint64_t> incidence(tile_count, 0);
    for (const Transfer& transfer : phase.transfers) {
        ++incidence[transfer.source];
        for (const std::uint32_t tile : phase.receivers_of(transfer)) ++incidence[tile];
    }
    std::vector<Priority> result;
    result.reserve(phase.transfers.size());
    for (std::uint32_t row = 0; row < phase.transfers.size(); ++row) {
        const Transfer& transfer = phase.transfers[row];
        std::uint64_t pressure = incidence[transfer.source];
        for (const std::uint32_t tile : phase.receivers_of(transfer)) pressure += incidence[tile];
        result.push_back({pressure, transfer.receiver_count, transfer.words, transfer.source, row});
    }
    return result;
}

/// Rows in the order in which they get their slots; sets `slots`.
std::vector<std::uint32_t> colour(const Phase& phase, std::uint32_t tile_count, std::vector<std::uint32_t>& slots) {
    const std::vector<Priority> priority = priorities(phase, tile_count);
    HazardGraph hazards = hazard_graph(phase, tile_count);
    std::vector<std::uint32_t> least(phase.transfers.size(), 0);
    std::priority_queue<Priority> ready;
    for (const Priority& candidate : priority) {
        if (hazards.waiting[candidate.row] == 0) ready.push(candidate);
    }
    SlotTable table(tile_count);
    std::vector<std::uint32_t> order;
    order.reserve(phase.transfers.size());
    slots.assign(phase.transfers.size(), 0);
    while (!ready.empty()) {
        const std::uint32_t row = ready.top().row;
        ready.pop();
        const Transfer& transfer = phase.transfers[row];
        const std::uint32_t slot = table.lowest_common(transfer.source, phase.receivers_of(transfer), least[row]);
        table.take(transfer.source, slot);
        for (const std::uint32_t tile : phase.receivers_of(transfer)) table.take(tile, slot);
        slots[row] = slot;
        order.push_back(row);
        for (std::uint32_t i = hazards.first[row]; i < hazards.first[row + 1]; ++i) {
            const std::uint32_t next = hazards.after[i];
            least[next] = std::max(least[next], slot + 1);
            if (--hazards.waiting[next] == 0) ready.push(priority[next]);
        }
    }
    WEFT_CHECK(order.size() == phase.transfers.size());
    return order;
}

}  // namespace

PhaseSchedule schedule_exclusive(const Target& target, const Topology& topology, const Phase& phase) {
    const std::uint32_t tile_count = topology.tile_count();
    std::vector<std::uint32_t> slots;
    std::vector<std::uint32_t> order = colour(phase, tile_count, slots);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return slots[row]; });
    const std::vector<std::uint8_t> dedicated = dedicated_transfers(phase, tile_count);

    PhaseSchedule schedule;
    schedule.times.resize(phase.transfers.size());
    std::vector<std::uint64_t> free_at(tile_count, 0);
    for (const std::uint32_t row : order) {
        const Transfer& transfer = phase.transfers[row];
        const auto receivers = phase.receivers_of(transfer);
        std::uint64_t latest = free_at[transfer.source];
        for (const std::uint32_t tile : receivers) latest = std::max(latest, free_at[tile]);
        const std::uint64_t start = latest == 0 ? 0 : latest + 1;
        const TransferTiming timing =
            transfer_timing(target, topology, TileId(transfer.source), receivers, transfer.words, dedicated[row] != 0);
        const std::uint64_t end = start + timing.end;
        free_at[transfer.source] = end;
        for (const std::uint32_t tile : receivers) free_at[tile] = end;
        schedule.times[row] = {start, end, slots[row]};
        schedule.cycles = std::max(schedule.cycles, end);
        schedule.slots = std::max(schedule.slots, slots[row] + 1);
    }
    return schedule;
}

}  // namespace weft::ipu21
