#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ipu21/topology.h"

namespace weft::ipu21 {

/// One multicast of a phase: `words` 32-bit words from `source` to `receiver_count` tiles of the phase's receiver list.
struct Transfer {
    std::uint32_t source = 0;
    std::uint32_t first_receiver = 0;
    std::uint32_t receiver_count = 0;
    std::uint32_t words = 0;
    bool operator==(const Transfer&) const = default;
};

/// Communication between two synchronisations: a hypergraph over tiles. Transfers stand in program order, which matters only
/// where their memory overlaps (and as the last tie-break). Addresses are bytes in the tile's memory, one per transfer
/// and one per entry of `receivers`; both empty before placement, when nothing is taken to overlap.
struct Phase {
    std::vector<Transfer> transfers;
    std::vector<std::uint32_t> receivers;
    std::vector<std::uint32_t> source_address;
    std::vector<std::uint32_t> receiver_address;

    [[nodiscard]] std::span<const std::uint32_t> receivers_of(const Transfer& transfer) const {
        return std::span(receivers).subspan(transfer.first_receiver, transfer.receiver_count);
    }
    [[nodiscard]] bool placed() const { return !source_address.empty(); }
};

/// Append a transfer without addresses, cut into pieces of at most `limit` words. No receivers or no words: nothing.
void add_transfer(Phase& phase, TileId source, std::span<const std::uint32_t> receivers, std::uint64_t words, std::uint32_t limit);

/// The same communication with neighbouring transfers joined: same source and receivers, contiguous addresses at
/// both ends, at most `limit` words. Phases without addresses are returned unchanged.
[[nodiscard]] Phase coalesce(const Phase& phase, std::uint32_t limit);

/// Throws Failure(bad_input) naming `what` where a transfer is impossible: tile out of range, no or repeated receivers, the
/// source among them, no words, more words than one transfer takes.
void check_phase(const Phase& phase, std::uint32_t tile_count, std::uint32_t limit, std::string_view what);

/// When a transfer runs, relative to its schedule offset.
struct TransferTiming {
    std::uint32_t send_begin = 0;   ///< first word leaves the sender
    std::uint32_t send_end = 0;     ///< the sender's row ends
    std::uint32_t end = 0;          ///< the last row ends, the sender's included
};

/// Timing of one transfer on its own. `dedicated`: a single receiver that receives nothing else in the phase uses the form
/// with a fixed receive event (fixed lead, the sender waits instead of the receiver).
/// `receive_begin` (may be empty) gets one entry per receiver: when its stream switches on.
[[nodiscard]] TransferTiming transfer_timing(const Target& target, const Topology& topology, TileId source,
                                             std::span<const std::uint32_t> receivers, std::uint32_t words, bool dedicated,
                                             std::vector<std::uint32_t>* receive_begin = nullptr);

/// Per transfer: whether the dedicated form applies.
[[nodiscard]] std::vector<std::uint8_t> dedicated_transfers(const Phase& phase, std::uint32_t tile_count);

/// Where a transfer ended up.
struct TransferTime {
    std::uint64_t start = 0;   ///< schedule offset in the phase
    std::uint64_t end = 0;     ///< last row's end
    std::uint32_t slot = 0;    ///< colour under the exclusive discipline; 0 under full duplex
    bool paired = false;       ///< full duplex: two words a cycle, the sender's partner reserved
    bool operator==(const TransferTime&) const = default;
};

struct PhaseSchedule {
    std::vector<TransferTime> times;   ///< one per transfer
    std::uint64_t cycles = 0;          ///< the phase's horizon
    std::uint32_t slots = 0;           ///< colours; 0 under full duplex
};

/// A tile sends or receives one transfer at a time. Transfers are coloured greedily (most contended endpoints first), colours
/// run in order, and a transfer starts one cycle after its last endpoint is free.
[[nodiscard]] PhaseSchedule schedule_exclusive(const Target& target, const Topology& topology, const Phase& phase);

/// One send stream and one receive stream per tile. List scheduling by remaining pressure, or in the order of the
/// exclusive schedule where that ends earlier, so that full duplex is never slower than exclusive. In a placed phase a tile does not
/// send from a memory element while it receives into it, and transfers may take the 64-bit form where that ends earlier.
[[nodiscard]] PhaseSchedule schedule_full_duplex(const Target& target, const Topology& topology, const Phase& phase);

/// By the target's discipline.
[[nodiscard]] PhaseSchedule schedule_phase(const Target& target, const Topology& topology, const Phase& phase);

/// Per transfer of a placed phase: whether the 64-bit form is legal. At least the target's least words, an even number of them, both
/// ends at multiples of 8 bytes, receivers that are whole physical pairs with one address each, and a sender whose partner
/// exists and is none of them. None before placement.
[[nodiscard]] std::vector<std::uint8_t> paired_transfers(const Target& target, const Topology& topology, const Phase& phase);

/// Memory elements that `bytes` from `address` on lie in, as numbers that never collide between the two regions; what two accesses of
/// one cycle must not share.
struct ElementRange {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    [[nodiscard]] bool meets(const ElementRange& other) const { return first <= other.last && other.first <= last; }
};
[[nodiscard]] ElementRange elements_of(const Ipu21& machine, std::uint32_t address, std::uint64_t bytes);

/// Pairs (before, after) of transfers whose memory overlaps in a tile and that are not both reads; empty before placement.
struct Hazard {
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    auto operator<=>(const Hazard&) const = default;
};
[[nodiscard]] std::vector<Hazard> hazards_of(const Phase& phase, std::uint32_t tile_count);

/// Cycles that no schedule can beat: the busiest tile's words (sent plus received when exclusive, the larger of both when
/// full duplex), and the longest single transfer.
[[nodiscard]] std::uint64_t lower_bound_cycles(const Target& target, const Topology& topology, const Phase& phase,
                                               ExchangeDiscipline discipline);

}  // namespace weft::ipu21
