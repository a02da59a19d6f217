#include "ipu21/check_exchange.h"

#include <algorithm>
#include <map>

namespace weft::ipu21 {
namespace {

/// Half-open time during which a tile plays a role, with the event that separates it from the next.
struct Interval {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t transfer;
};

std::string overlap(std::vector<std::vector<Interval>>& of_tile, std::string_view role) {
    for (std::size_t tile = 0; tile < of_tile.size(); ++tile) {
        std::vector<Interval>& intervals = of_tile[tile];
        std::ranges::sort(intervals, {}, [](const Interval& i) { return std::pair(i.begin, i.transfer); });
        for (std::size_t i = 1; i < intervals.size(); ++i) {
            if (intervals[i].begin >= intervals[i - 1].end) continue;
            return fmt::format("tile {} {} in transfers {} and {} at the same time (cycle {})", tile, role, intervals[i - 1].transfer,
                               intervals[i].transfer, intervals[i].begin);
        }
    }
    return {};
}

/// Ends of one transfer straight from the rules of docs/ipu21.md.
struct Expected {
    std::int64_t send_begin = 0;
    std::vector<std::int64_t> receive_begin;
    std::int64_t end = 0;
};

Expected expected_timing(const Target& target, const Topology& topology, const Phase& phase, std::size_t row, bool alone, std::uint32_t events) {
    const Transfer& transfer = phase.transfers[row];
    const Ipu21& machine = target.ipu21;
    Expected result;
    std::int64_t lead = 0;
    std::vector<std::int64_t> routes;
    for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
        const TileId receiver(phase.receivers[transfer.first_receiver + i]);
        routes.push_back(topology.route_cycles(TileId(transfer.source), receiver));
        lead = std::max(lead, -routes.back());
    }
    if (alone) lead = std::int64_t{machine.dedicated_lead_cycles} - routes[0];
    result.send_begin = std::max<std::int64_t>(lead, 0);
    result.end = std::max<std::int64_t>(6, result.send_begin + events);
    for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
        const std::int64_t begin = alone ? std::int64_t{machine.dedicated_lead_cycles} : lead + routes[i];
        const std::uint32_t array_row = topology.row(TileId(phase.receivers[transfer.first_receiver + i]));
        result.receive_begin.push_back(begin);
        result.end = std::max<std::int64_t>(result.end, begin + events + machine.receive_tail_cycles + machine.row_cycles * array_row);
    }
    return result;
}

/// Why a transfer may not take the 64-bit form; empty where it may.
std::string pair_fault(const Target& target, const Phase& phase, std::uint32_t tile_count, std::size_t row) {
    const Transfer& transfer = phase.transfers[row];
    const auto complain = [&](std::string_view what) { return fmt::format("transfer {} is 64 bits wide: {}", row, what); };
    if (!phase.placed()) return complain("there are no addresses yet");
    if (transfer.words < target.ipu21.paired_min_words || transfer.words % 2 != 0) return complain("its words");
    const std::uint32_t partner = transfer.source ^ 1U;
    if (partner >= tile_count) return complain("its sender has no partner");
    std::map<std::uint32_t, std::uint32_t> address_of;
    for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
        address_of[phase.receivers[transfer.first_receiver + i]] = phase.receiver_address[transfer.first_receiver + i];
    }
    if (address_of.count(partner) != 0) return complain("its sender's partner receives");
    if (phase.source_address[row] % 8 != 0) return complain("its source address");
    for (const auto& [tile, address] : address_of) {
        const auto other = address_of.find(tile ^ 1U);
        if (other == address_of.end() || other->second != address || address % 8 != 0) return complain(fmt::format("the pair of tile {}", tile));
    }
    return {};
}

/// One tile's stream in time and memory.
struct ElementAccess {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint32_t transfer;
};

/// A tile that sends from an element while it receives into it; every pair, the obvious way.
std::string element_fault(const Ipu21& machine, const std::vector<std::vector<ElementAccess>>& reads, const std::vector<std::vector<ElementAccess>>& writes) {
    const auto element = [&](std::uint64_t at) {
        return at < machine.interleaved_begin ? (at - machine.memory_begin) / machine.element_bytes
                                              : 1000 + (at - machine.interleaved_begin) / machine.interleaved_element_bytes;
    };
    for (std::size_t tile = 0; tile < reads.size(); ++tile) {
        for (const ElementAccess& read : reads[tile]) {
            for (const ElementAccess& write : writes[tile]) {
                const bool together = read.begin < write.end && write.begin < read.end;
                const bool shared = element(read.address) <= element(write.address + write.bytes - 1) && element(write.address) <= element(read.address + read.bytes - 1);
                if (together && shared) {
                    return fmt::format("tile {} sends transfer {} from the memory element into which it receives transfer {}", tile, read.transfer, write.transfer);
                }
            }
        }
    }
    return {};
}

std::string check_hazards(const Phase& phase, const PhaseSchedule& schedule) {
    if (!phase.placed()) return {};
    // Every pair of accesses of one tile, the obvious way.
    struct Access {
        std::uint32_t transfer;
        std::uint64_t begin;
        bool write;
    };
    std::map<std::uint32_t, std::vector<Access>> accesses;
    for (std::uint32_t row = 0; row < phase.transfers.size(); ++row) {
        const Transfer& transfer = phase.transfers[row];
        accesses[transfer.source].push_back({row, phase.source_address[row], false});
        for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
            accesses[phase.receivers[transfer.first_receiver + i]].push_back({row, phase.receiver_address[transfer.first_receiver + i], true});
        }
    }
    for (const auto& [tile, of_tile] : accesses) {
        for (const Access& a : of_tile) {
            for (const Access& b : of_tile) {
                if (a.transfer >= b.transfer || (!a.write && !b.write)) continue;
                const bool apart = a.begin + 4ULL * phase.transfers[a.transfer].words <= b.begin ||
                                   b.begin + 4ULL * phase.transfers[b.transfer].words <= a.begin;
                if (!apart && schedule.times[b.transfer].start <= schedule.times[a.transfer].end) {
                    return fmt::format("transfers {} and {} overlap in the memory of tile {} and leave program order", a.transfer, b.transfer, tile);
                }
            }
        }
    }
    return {};
}

}  // namespace

std::string find_fault(const Target& target, const Topology& topology, const Phase& phase, const PhaseSchedule& schedule,
                       ExchangeDiscipline discipline) {
    if (schedule.times.size() != phase.transfers.size()) return "not every transfer has a time";
    const bool exclusive = discipline == ExchangeDiscipline::Exclusive;
    std::vector<std::uint32_t> receive_count(topology.tile_count(), 0);
    for (const Transfer& transfer : phase.transfers) {
        for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) ++receive_count[phase.receivers[transfer.first_receiver + i]];
    }
    std::vector<std::vector<Interval>> sends(topology.tile_count());
    std::vector<std::vector<Interval>> receives(topology.tile_count());
    std::vector<std::vector<ElementAccess>> reads(topology.tile_count());
    std::vector<std::vector<ElementAccess>> writes(topology.tile_count());
    std::vector<std::uint64_t> words(topology.tile_count(), 0);
    std::uint64_t horizon = 0;
    for (std::uint32_t row = 0; row < phase.transfers.size(); ++row) {
        const Transfer& transfer = phase.transfers[row];
        const TransferTime& time = schedule.times[row];
        const bool alone = transfer.receiver_count == 1 && receive_count[phase.receivers[transfer.first_receiver]] == 1;
        if (time.paired) {
            if (exclusive) return fmt::format("transfer {} is 64 bits wide under the exclusive discipline", row);
            if (std::string fault = pair_fault(target, phase, topology.tile_count(), row); !fault.empty()) return fault;
        }
        const std::uint32_t events = time.paired ? transfer.words / 2 : transfer.words;
        const Expected expected = expected_timing(target, topology, phase, row, alone, events);
        if (time.end != time.start + static_cast<std::uint64_t>(expected.end)) {
            return fmt::format("transfer {} lasts {} cycles instead of {}", row, time.end - time.start, expected.end);
        }
        horizon = std::max(horizon, time.end);
        words[transfer.source] += events;
        if (exclusive) {
            sends[transfer.source].push_back({time.start, time.end + 1, row});
        } else {
            const std::uint64_t begin = time.start + static_cast<std::uint64_t>(expected.send_begin);
            sends[transfer.source].push_back({begin, begin + events + 1, row});
            if (phase.placed()) reads[transfer.source].push_back({begin, begin + events + 1, phase.source_address[row], 4ULL * transfer.words, row});
            if (time.paired) {
                sends[transfer.source ^ 1U].push_back({begin, begin + events + 1, row});
                receives[transfer.source ^ 1U].push_back({begin, begin + events + 1, row});
            }
        }
        for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
            const std::uint32_t tile = phase.receivers[transfer.first_receiver + i];
            const std::uint64_t begin = time.start + static_cast<std::uint64_t>(expected.receive_begin[i]);
            if (exclusive) {
                words[tile] += transfer.words;
                sends[tile].push_back({time.start, time.end + 1, row});
            } else {
                receives[tile].push_back({begin, begin + events + 1, row});
                if (phase.placed()) {
                    writes[tile].push_back({begin, begin + events + 1, phase.receiver_address[transfer.first_receiver + i], 4ULL * transfer.words, row});
                }
            }
        }
    }
    if (schedule.cycles != horizon) return fmt::format("the horizon is {} and the last transfer ends at {}", schedule.cycles, horizon);
    for (std::size_t tile = 0; tile < words.size(); ++tile) {
        if (words[tile] > horizon) return fmt::format("tile {} moves {} words in {} cycles", tile, words[tile], horizon);
    }
    if (std::string fault = overlap(sends, exclusive ? "takes part" : "sends"); !fault.empty()) return fault;
    if (std::string fault = overlap(receives, "receives"); !fault.empty()) return fault;
    if (std::string fault = element_fault(target.ipu21, reads, writes); !fault.empty()) return fault;
    return check_hazards(phase, schedule);
}

}  // namespace weft::ipu21
