#include "ipu21/exchange_counters.h"

#include <algorithm>

#include "base/id.h"

namespace weft::ipu21 {
namespace {

/// Transfers that each tile receives, ascending.
std::vector<std::vector<std::uint32_t>> incoming_transfers(const Phase& phase, std::uint32_t tile_count) {
    std::vector<std::vector<std::uint32_t>> incoming(tile_count);
    for (std::uint32_t row = 0; row < phase.transfers.size(); ++row) {
        for (const std::uint32_t tile : phase.receivers_of(phase.transfers[row])) incoming[tile].push_back(row);
    }
    return incoming;
}

/// Words of the union of two ascending lists of transfers, and whether they have one in common.
std::pair<std::uint64_t, bool> union_words(const Phase& phase, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
    std::uint64_t words = 0;
    bool common = false;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() || j < b.size()) {
        const bool take_a = j == b.size() || (i < a.size() && a[i] <= b[j]);
        const std::uint32_t row = take_a ? a[i] : b[j];
        if (i < a.size() && j < b.size() && a[i] == b[j]) common = true;
        if (i < a.size() && a[i] == row) ++i;
        if (j < b.size() && b[j] == row) ++j;
        words += phase.transfers[row].words;
    }
    return {words, common};
}

}  // namespace

ExchangeCounters count_exchange(const Topology& topology, const Phase& phase) {
    ExchangeCounters counters;
    const std::uint32_t tile_count = topology.tile_count();
    std::vector<std::uint64_t> sent(tile_count, 0);
    std::vector<std::uint32_t> roles(tile_count, 0);
    for (const Transfer& transfer : phase.transfers) {
        ++counters.transfers;
        counters.largest_fan_out = std::max(counters.largest_fan_out, transfer.receiver_count);
        counters.payload_words += transfer.words;
        counters.delivered_words += std::uint64_t{transfer.words} * transfer.receiver_count;
        sent[transfer.source] += transfer.words;
        ++roles[transfer.source];
        for (const std::uint32_t tile : phase.receivers_of(transfer)) {
            ++roles[tile];
            const std::int32_t route = topology.route_cycles(TileId(transfer.source), TileId(tile));
            const bool first = counters.transfers == 1 && tile == phase.receivers[transfer.first_receiver];
            counters.shortest_route_cycles = first ? route : std::min(counters.shortest_route_cycles, route);
            counters.longest_route_cycles = first ? route : std::max(counters.longest_route_cycles, route);
        }
    }
    const auto incoming = incoming_transfers(phase, tile_count);
    const std::vector<std::uint32_t> nothing;
    for (std::uint32_t tile = 0; tile < tile_count; tile += 2) {
        const bool whole = tile + 1 < tile_count;
        const auto& left = incoming[tile];
        const auto& right = whole ? incoming[tile + 1] : nothing;
        counters.pair_send_words = std::max(counters.pair_send_words, sent[tile] + (whole ? sent[tile + 1] : 0));
        const auto [words, common] = union_words(phase, left, right);
        counters.pair_receive_words = std::max(counters.pair_receive_words, words);
        if (left.empty() || right.empty()) continue;
        if (left == right) ++counters.pairs_same_payload;
        if (!common) ++counters.pairs_unrelated_payload;
    }
    for (std::uint32_t tile = 0; tile < tile_count; ++tile) {
        std::uint64_t received = 0;
        for (const std::uint32_t row : incoming[tile]) received += phase.transfers[row].words;
        counters.tile_send_words = std::max(counters.tile_send_words, sent[tile]);
        counters.tile_receive_words = std::max(counters.tile_receive_words, received);
        counters.tile_transfers = std::max(counters.tile_transfers, roles[tile]);
        if (sent[tile] != 0 && received != 0) ++counters.tiles_sending_and_receiving;
    }
    return counters;
}

std::vector<std::uint32_t> critical_chain(const Phase& phase, std::span<const TransferTime> times, ExchangeDiscipline discipline) {
    std::vector<std::uint32_t> chain;
    if (times.empty()) return chain;
    const std::uint32_t streams = discipline == ExchangeDiscipline::Exclusive ? 1 : 2;
    std::uint32_t tiles = 0;
    for (const Transfer& transfer : phase.transfers) {
        tiles = std::max(tiles, transfer.source + 1);
        for (const std::uint32_t tile : phase.receivers_of(transfer)) tiles = std::max(tiles, tile + 1);
    }
    // Per tile and stream: who uses it.
    std::vector<std::vector<std::uint32_t>> users(std::size_t{tiles} * streams);
    const auto stream = [&](std::uint32_t tile, bool receives) { return std::size_t{tile} * streams + (receives && streams == 2 ? 1 : 0); };
    for (std::uint32_t row = 0; row < phase.transfers.size(); ++row) {
        users[stream(phase.transfers[row].source, false)].push_back(row);
        for (const std::uint32_t tile : phase.receivers_of(phase.transfers[row])) users[stream(tile, true)].push_back(row);
    }
    const auto ends_later = [&](std::uint32_t a, std::uint32_t b) { return b == no_id || times[a].end > times[b].end || (times[a].end == times[b].end && a < b); };
    std::uint32_t at = 0;
    for (std::uint32_t row = 1; row < times.size(); ++row) at = ends_later(row, at) ? row : at;
    while (at != no_id) {
        chain.push_back(at);
        std::uint32_t before = no_id;
        const auto look = [&](const std::vector<std::uint32_t>& list) {
            for (const std::uint32_t row : list) {
                if (times[row].start < times[at].start && ends_later(row, before)) before = row;
            }
        };
        look(users[stream(phase.transfers[at].source, false)]);
        for (const std::uint32_t tile : phase.receivers_of(phase.transfers[at])) look(users[stream(tile, true)]);
        at = before;
    }
    std::ranges::reverse(chain);
    return chain;
}

std::uint64_t critical_bytes(const ExchangeCounters& counters) {
    return 4 * std::max(counters.pair_send_words, counters.tile_receive_words);
}

}  // namespace weft::ipu21
