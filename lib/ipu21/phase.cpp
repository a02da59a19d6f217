#include "ipu21/phase.h"

#include <algorithm>

#include "base/checked.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint32_t shortest_send_cycles = 6;   // a sender's row holds at least this many events
constexpr std::uint32_t word_bytes = 4;

bool same_receivers(const Phase& phase, const Transfer& a, const Transfer& b) {
    return std::ranges::equal(phase.receivers_of(a), phase.receivers_of(b));
}

/// Whether transfer `b` continues `a` in the sender's and every receiver's memory.
bool continues(const Phase& phase, const Transfer& a, std::size_t a_row, const Transfer& b, std::size_t b_row) {
    const std::uint32_t bytes = a.words * word_bytes;
    if (a.source != b.source || phase.source_address[a_row] + bytes != phase.source_address[b_row]) return false;
    if (!same_receivers(phase, a, b)) return false;
    for (std::uint32_t i = 0; i < a.receiver_count; ++i) {
        if (phase.receiver_address[a.first_receiver + i] + bytes != phase.receiver_address[b.first_receiver + i]) return false;
    }
    return true;
}

}  // namespace

void add_transfer(Phase& phase, TileId source, std::span<const std::uint32_t> receivers, std::uint64_t words, std::uint32_t limit) {
    if (receivers.empty() || words == 0) return;
    const auto first = narrow<std::uint32_t>(phase.receivers.size());
    phase.receivers.insert(phase.receivers.end(), receivers.begin(), receivers.end());
    for (std::uint64_t done = 0; done < words; done += limit) {
        const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, words - done));
        phase.transfers.push_back({source.value, first, static_cast<std::uint32_t>(receivers.size()), piece});
    }
}

Phase coalesce(const Phase& phase, std::uint32_t limit) {
    if (!phase.placed()) return phase;
    Phase result;
    std::size_t previous_row = 0;   // the row of the first piece in `phase`
    for (std::size_t row = 0; row < phase.transfers.size(); ++row) {
        const Transfer& next = phase.transfers[row];
        if (!result.transfers.empty()) {
            Transfer& last = result.transfers.back();
            const Transfer joined{last.source, phase.transfers[previous_row].first_receiver, last.receiver_count, last.words};
            if (last.words + next.words <= limit && continues(phase, joined, previous_row, next, row)) {
                last.words += next.words;
                continue;
            }
        }
        previous_row = row;
        const auto first = static_cast<std::uint32_t>(result.receivers.size());
        const auto receivers = phase.receivers_of(next);
        const auto addresses = std::span(phase.receiver_address).subspan(next.first_receiver, next.receiver_count);
        result.receivers.insert(result.receivers.end(), receivers.begin(), receivers.end());
        result.receiver_address.insert(result.receiver_address.end(), addresses.begin(), addresses.end());
        result.source_address.push_back(phase.source_address[row]);
        result.transfers.push_back({next.source, first, next.receiver_count, next.words});
    }
    return result;
}

void check_phase(const Phase& phase, std::uint32_t tile_count, std::uint32_t limit, std::string_view what) {
    if (phase.placed() && (phase.source_address.size() != phase.transfers.size() || phase.receiver_address.size() != phase.receivers.size())) {
        bad_input("{}: {} source and {} receiver addresses for {} transfers and {} receivers", what, phase.source_address.size(),
                  phase.receiver_address.size(), phase.transfers.size(), phase.receivers.size());
    }
    std::vector<std::uint32_t> seen(tile_count, no_id);
    for (std::uint32_t row = 0; row < phase.transfers.size(); ++row) {
        const Transfer& transfer = phase.transfers[row];
        if (transfer.source >= tile_count) bad_input("{}: transfer {}: there is no tile {}", what, row, transfer.source);
        if (transfer.words == 0 || transfer.words > limit) {
            bad_input("{}: transfer {}: {} words, must be 1..{}", what, row, transfer.words, limit);
        }
        if (transfer.receiver_count == 0 || transfer.first_receiver > phase.receivers.size() ||
            transfer.receiver_count > phase.receivers.size() - transfer.first_receiver) {
            bad_input("{}: transfer {}: receivers {}+{} of {}", what, row, transfer.first_receiver, transfer.receiver_count,
                      phase.receivers.size());
        }
        seen[transfer.source] = row;
        for (const std::uint32_t tile : phase.receivers_of(transfer)) {
            if (tile >= tile_count) bad_input("{}: transfer {}: there is no tile {}", what, row, tile);
            if (seen[tile] == row) bad_input("{}: transfer {}: tile {} takes part twice", what, row, tile);
            seen[tile] = row;
        }
    }
}

TransferTiming transfer_timing(const Target& target, const Topology& topology, TileId source,
                               std::span<const std::uint32_t> receivers, std::uint32_t words, bool dedicated,
                               std::vector<std::uint32_t>* receive_begin) {
    const Ipu21& machine = target.ipu21;
    TransferTiming timing;
    if (receive_begin != nullptr) receive_begin->clear();
    if (dedicated) {
        const TileId receiver(receivers.front());
        const auto lead = static_cast<std::int32_t>(machine.dedicated_lead_cycles);
        timing.send_begin = static_cast<std::uint32_t>(std::max(0, lead - topology.route_cycles(source, receiver)));
        timing.send_end = std::max(timing.send_begin + words, shortest_send_cycles);
        const std::uint32_t receive_end =
            machine.dedicated_lead_cycles + words + machine.receive_tail_cycles + machine.row_cycles * topology.row(receiver);
        if (receive_begin != nullptr) receive_begin->push_back(machine.dedicated_lead_cycles);
        timing.end = std::max(timing.send_end, receive_end);
        return timing;
    }
    std::int32_t least = 0;
    for (const std::uint32_t receiver : receivers) least = std::min(least, topology.route_cycles(source, TileId(receiver)));
    timing.send_begin = static_cast<std::uint32_t>(-least);
    timing.send_end = std::max(timing.send_begin + words, shortest_send_cycles);
    timing.end = timing.send_end;
    for (const std::uint32_t receiver : receivers) {
        const auto begin = static_cast<std::uint32_t>(topology.route_cycles(source, TileId(receiver)) - least);
        if (receive_begin != nullptr) receive_begin->push_back(begin);
        const std::uint32_t end = begin + words + machine.receive_tail_cycles + machine.row_cycles * topology.row(TileId(receiver));
        timing.end = std::max(timing.end, end);
    }
    return timing;
}

std::vector<std::uint8_t> dedicated_transfers(const Phase& phase, std::uint32_t tile_count) {
    std::vector<std::uint32_t> receives(tile_count, 0);
    for (const Transfer& transfer : phase.transfers) {
        for (const std::uint32_t tile : phase.receivers_of(transfer)) ++receives[tile];
    }
    std::vector<std::uint8_t> dedicated;
    dedicated.reserve(phase.transfers.size());
    for (const Transfer& transfer : phase.transfers) {
        dedicated.push_back(transfer.receiver_count == 1 && receives[phase.receivers[transfer.first_receiver]] == 1 ? 1 : 0);
    }
    return dedicated;
}

std::vector<std::uint8_t> paired_transfers(const Target& target, const Topology& topology, const Phase& phase) {
    std::vector<std::uint8_t> result(phase.transfers.size(), 0);
    if (!phase.placed()) return result;
    const std::uint32_t alignment = target.ipu21.paired_alignment_bytes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;   // receiver, address
    for (std::size_t row = 0; row < phase.transfers.size(); ++row) {
        const Transfer& transfer = phase.transfers[row];
        const TileId partner = topology.partner(TileId(transfer.source));
        if (transfer.words < target.ipu21.paired_min_words || transfer.words % 2 != 0 || transfer.receiver_count % 2 != 0 ||
            phase.source_address[row] % alignment != 0 || partner.is_none()) {
            continue;
        }
        ends.clear();
        for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
            ends.emplace_back(phase.receivers[transfer.first_receiver + i], phase.receiver_address[transfer.first_receiver + i]);
        }
        std::ranges::sort(ends);
        bool legal = true;
        for (std::size_t i = 0; i < ends.size() && legal; i += 2) {
            legal = ends[i].first % 2 == 0 && ends[i + 1].first == ends[i].first + 1 && ends[i].second == ends[i + 1].second &&
                    ends[i].second % alignment == 0 && ends[i].first != partner.value && ends[i + 1].first != partner.value;
        }
        result[row] = legal ? 1 : 0;
    }
    return result;
}

ElementRange elements_of(const Ipu21& machine, std::uint32_t address, std::uint64_t bytes) {
    constexpr std::uint32_t second_region = 1U << 16U;
    const auto element = [&](std::uint64_t at) {
        return at >= machine.interleaved_begin ? second_region + static_cast<std::uint32_t>((at - machine.interleaved_begin) / machine.interleaved_element_bytes)
                                               : static_cast<std::uint32_t>((at - std::min<std::uint64_t>(at, machine.memory_begin)) / machine.element_bytes);
    };
    return {element(address), element(address + (bytes == 0 ? 0 : bytes - 1))};
}

std::vector<Hazard> hazards_of(const Phase& phase, std::uint32_t tile_count) {
    struct Access {
        std::uint64_t begin;
        std::uint64_t end;
        std::uint32_t transfer;
        bool write;
    };
    std::vector<Hazard> hazards;
    if (!phase.placed()) return hazards;
    std::vector<std::vector<Access>> accesses(tile_count);
    for (std::uint32_t row = 0; row < phase.transfers.size(); ++row) {
        const Transfer& transfer = phase.transfers[row];
        const std::uint64_t bytes = std::uint64_t{transfer.words} * word_bytes;
        accesses[transfer.source].push_back({phase.source_address[row], phase.source_address[row] + bytes, row, false});
        for (std::uint32_t i = 0; i < transfer.receiver_count; ++i) {
            const std::uint64_t begin = phase.receiver_address[transfer.first_receiver + i];
            accesses[phase.receivers[transfer.first_receiver + i]].push_back({begin, begin + bytes, row, true});
        }
    }
    for (std::vector<Access>& of_tile : accesses) {
        std::ranges::sort(of_tile, {}, [](const Access& a) { return std::pair(a.begin, a.transfer); });
        // Sweep over begins; `open` holds the accesses that may still overlap.
        std::vector<Access> open;
        for (const Access& next : of_tile) {
            std::erase_if(open, [&](const Access& a) { return a.end <= next.begin; });
            for (const Access& a : open) {
                if (a.write || next.write) hazards.push_back({std::min(a.transfer, next.transfer), std::max(a.transfer, next.transfer)});
            }
            open.push_back(next);
        }
    }
    std::ranges::sort(hazards);
    hazards.erase(std::unique(hazards.begin(), hazards.end()), hazards.end());
    return hazards;
}

std::uint64_t lower_bound_cycles(const Target& target, const Topology& topology, const Phase& phase, ExchangeDiscipline discipline) {
    std::vector<std::uint64_t> sent(topology.tile_count(), 0);
    std::vector<std::uint64_t> received(topology.tile_count(), 0);
    const std::vector<std::uint8_t> dedicated = dedicated_transfers(phase, topology.tile_count());
    const std::vector<std::uint8_t> paired = paired_transfers(target, topology, phase);
    std::uint64_t bound = 0;
    for (std::size_t row = 0; row < phase.transfers.size(); ++row) {
        const Transfer& transfer = phase.transfers[row];
        const bool wide = paired[row] != 0 && discipline == ExchangeDiscipline::FullDuplex;
        const std::uint32_t events = wide ? transfer.words / 2 : transfer.words;
        sent[transfer.source] += events;
        for (const std::uint32_t tile : phase.receivers_of(transfer)) received[tile] += events;
        const TransferTiming timing = transfer_timing(target, topology, TileId(transfer.source), phase.receivers_of(transfer),
                                                      events, dedicated[row] != 0);
        bound = std::max<std::uint64_t>(bound, timing.end);
    }
    for (std::size_t tile = 0; tile < sent.size(); ++tile) {
        const std::uint64_t words =
            discipline == ExchangeDiscipline::Exclusive ? sent[tile] + received[tile] : std::max(sent[tile], received[tile]);
        bound = std::max(bound, words);
    }
    return bound;
}

PhaseSchedule schedule_phase(const Target& target, const Topology& topology, const Phase& phase) {
    return target.ipu21.discipline == ExchangeDiscipline::Exclusive ? schedule_exclusive(target, topology, phase)
                                                                    : schedule_full_duplex(target, topology, phase);
}

}  // namespace weft::ipu21
