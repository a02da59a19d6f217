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

Expected expected_timing(const Target& target, const Topology& topology, const Phase& phase, std::size_t row, bool alone) {
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
    result.end = std::max<std::int64_t>(6, result.send_begin + transfer.words);
    for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
        const std::int64_t begin = alone ? std::int64_t{machine.dedicated_lead_cycles} : lead + routes[i];
        const std::uint32_t array_row = topology.row(TileId(phase.receivers[transfer.first_receiver + i]));
        result.receive_begin.push_back(begin);
        result.end = std::max<std::int64_t>(result.end, begin + transfer.words + machine.receive_tail_cycles + machine.row_cycles * array_row);
    }
    return result;
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
    std::vector<std::uint64_t> words(topology.tile_count(), 0);
    std::uint64_t horizon = 0;
    for (std::uint32_t row = 0; row < phase.transfers.size(); ++row) {
        const Transfer& transfer = phase.transfers[row];
        const TransferTime& time = schedule.times[row];
        const bool alone = transfer.receiver_count == 1 && receive_count[phase.receivers[transfer.first_receiver]] == 1;
        const Expected expected = expected_timing(target, topology, phase, row, alone);
        if (time.end != time.start + static_cast<std::uint64_t>(expected.end)) {
            return fmt::format("transfer {} lasts {} cycles instead of {}", row, time.end - time.start, expected.end);
        }
        horizon = std::max(horizon, time.end);
        words[transfer.source] += transfer.words;
        if (exclusive) {
            sends[transfer.source].push_back({time.start, time.end + 1, row});
        } else {
            const std::uint64_t begin = time.start + static_cast<std::uint64_t>(expected.send_begin);
            sends[transfer.source].push_back({begin, begin + transfer.words + 1, row});
        }
        for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
            const std::uint32_t tile = phase.receivers[transfer.first_receiver + i];
            const std::uint64_t begin = time.start + static_cast<std::uint64_t>(expected.receive_begin[i]);
            if (exclusive) {
                words[tile] += transfer.words;
                sends[tile].push_back({time.start, time.end + 1, row});
            } else {
                receives[tile].push_back({begin, begin + transfer.words + 1, row});
            }
        }
    }
    if (schedule.cycles != horizon) return fmt::format("the horizon is {} and the last transfer ends at {}", schedule.cycles, horizon);
    for (std::size_t tile = 0; tile < words.size(); ++tile) {
        if (words[tile] > horizon) return fmt::format("tile {} moves {} words in {} cycles", tile, words[tile], horizon);
    }
    if (std::string fault = overlap(sends, exclusive ? "takes part" : "sends"); !fault.empty()) return fault;
    if (std::string fault = overlap(receives, "receives"); !fault.empty()) return fault;
    return check_hazards(phase, schedule);
}

}  // namespace weft::ipu21
