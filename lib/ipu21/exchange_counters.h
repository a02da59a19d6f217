#pragma once

#include "ipu21/phase.h"

namespace weft::ipu21 {

/// What drives a phase, for diagnostics and for ranking grid orders without a schedule. Words are 32-bit.
struct ExchangeCounters {
    std::uint32_t transfers = 0;
    std::uint32_t largest_fan_out = 0;
    std::uint64_t payload_words = 0;               ///< each multicast counted once
    std::uint64_t delivered_words = 0;             ///< once per receiver
    std::uint64_t tile_send_words = 0;             ///< busiest tile
    std::uint64_t tile_receive_words = 0;
    std::uint64_t pair_send_words = 0;             ///< busiest pair of tiles
    std::uint64_t pair_receive_words = 0;          ///< busiest pair, what both tiles receive counted once
    std::uint32_t pairs_same_payload = 0;          ///< both tiles receive, and exactly the same transfers
    std::uint32_t pairs_unrelated_payload = 0;     ///< both tiles receive and share no transfer
    std::uint32_t tiles_sending_and_receiving = 0;
    std::int32_t shortest_route_cycles = 0;
    std::int32_t longest_route_cycles = 0;
    std::uint32_t tile_transfers = 0;              ///< most roles of one tile: its exchange row grows with them
    bool operator==(const ExchangeCounters&) const = default;
};

[[nodiscard]] ExchangeCounters count_exchange(const Topology& topology, const Phase& phase);

/// The transfers that decide when a scheduled phase ends, first to last: the one that ends last, before it the one on a common tile (under
/// full duplex: in a common stream) that ends last of those that start earlier, and so on. Lower rows first among equals.
[[nodiscard]] std::vector<std::uint32_t> critical_chain(const Phase& phase, std::span<const TransferTime> times, ExchangeDiscipline discipline);

/// Bytes of a phase by volume alone: the larger of the busiest pair's outgoing and the busiest tile's incoming bytes.
[[nodiscard]] std::uint64_t critical_bytes(const ExchangeCounters& counters);

}  // namespace weft::ipu21
