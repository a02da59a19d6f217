#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "ipu21/phase.h"

namespace weft::test {

struct Shape {
    std::uint32_t tiles;
    std::uint32_t transfers;
    std::uint32_t fan_out;
    std::uint32_t words;
};

inline ipu21::Phase random_phase(Random& random, const Shape& shape, bool placed) {
    ipu21::Phase phase;
    for (std::uint32_t i = 0; i < shape.transfers; ++i) {
        std::vector<std::uint32_t> tiles(shape.tiles);
        std::iota(tiles.begin(), tiles.end(), 0U);
        const std::uint32_t count = 1 + random.below(std::min(shape.fan_out, shape.tiles - 1));
        for (std::uint32_t k = 0; k <= count; ++k) std::swap(tiles[k], tiles[k + random.below(shape.tiles - k)]);
        const auto receivers = std::span(tiles).subspan(1, count);
        ipu21::add_transfer(phase, ipu21::TileId(tiles[0]), receivers, 1 + random.below(shape.words), 4148);
        if (!placed) continue;
        while (phase.source_address.size() < phase.transfers.size()) phase.source_address.push_back(0x80000 + 64 * random.below(40));
        while (phase.receiver_address.size() < phase.receivers.size()) phase.receiver_address.push_back(0x80000 + 64 * random.below(40));
    }
    return phase;
}

/// Shortest phase over all orders in which transfers may be appended (which covers every schedule without needless waiting).
inline std::uint64_t shortest_phase(const Target& target, const ipu21::Topology& topology, const ipu21::Phase& phase, bool exclusive) {
    std::vector<std::uint32_t> order(phase.transfers.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto dedicated = ipu21::dedicated_transfers(phase, topology.tile_count());
    std::uint64_t best = ~std::uint64_t{0};
    do {
        std::vector<std::uint64_t> send(topology.tile_count(), 0);
        std::vector<std::uint64_t> receive(topology.tile_count(), 0);
        std::uint64_t horizon = 0;
        for (const std::uint32_t row : order) {
            const ipu21::Transfer& transfer = phase.transfers[row];
            std::vector<std::uint32_t> begin;
            const auto receivers = phase.receivers_of(transfer);
            const ipu21::TransferTiming timing =
                ipu21::transfer_timing(target, topology, ipu21::TileId(transfer.source), receivers, transfer.words, dedicated[row] != 0, &begin);
            std::uint64_t start = 0;
            const auto after = [&](std::uint64_t free, std::uint64_t offset) { start = std::max(start, free > offset ? free - offset : 0); };
            if (exclusive) {
                after(send[transfer.source], 0);
                for (const std::uint32_t tile : receivers) after(send[tile], 0);
                send[transfer.source] = start + timing.end + 1;
                for (const std::uint32_t tile : receivers) send[tile] = start + timing.end + 1;
            } else {
                after(send[transfer.source], timing.send_begin);
                for (std::size_t i = 0; i < receivers.size(); ++i) after(receive[receivers[i]], begin[i]);
                send[transfer.source] = start + timing.send_begin + transfer.words + 1;
                for (std::size_t i = 0; i < receivers.size(); ++i) receive[receivers[i]] = start + begin[i] + transfer.words + 1;
            }
            horizon = std::max(horizon, start + timing.end);
        }
        best = std::min(best, horizon);
    } while (std::ranges::next_permutation(order).found);
    return best;
}

}  // namespace weft::test
