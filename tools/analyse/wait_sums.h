#pragma once

#include <cstdint>
#include <vector>

#include "accounting.h"

namespace weft {

/// What one event took longer than alone, by cause; `peer` is whom `partner` and `tokens` blame.
struct EventWaits {
    std::uint32_t peer = 0xffffffffU;
    Picoseconds own_queue = 0;
    Picoseconds partner = 0;
    Picoseconds tokens = 0;
    Picoseconds memory = 0;
};

/// Adds up the waits of `rounds` rounds of every core beyond its first `skipped`.
class WaitSums {
public:
    WaitSums(std::size_t cores, std::uint32_t skipped, std::uint32_t rounds)
        : skipped_(skipped), last_(skipped + rounds), cores_(cores), peers_(cores), begin_(cores, 0) {}

    void add(std::uint32_t core, std::uint32_t generation, const EventWaits& waits);
    /// One service of the global memory, which waited in its queue. From the start on: a round of one core lasts as long as many of another.
    void add_request(Picoseconds begin, Picoseconds end, Picoseconds waited);
    void end_round(std::uint32_t core, std::uint32_t finished, Picoseconds now);
    [[nodiscard]] Accounting finish();

private:
    void blame(std::uint32_t core, std::uint32_t peer, Picoseconds wait);

    std::uint32_t skipped_;
    std::uint32_t last_;
    std::vector<CoreWaits> cores_;
    std::vector<std::vector<PeerWait>> peers_;
    std::vector<Picoseconds> begin_;   // of the window, by core
    MemoryUse memory_;
    Picoseconds busy_ = 0;
    double waited_ = 0;
    Picoseconds end_ = 0;
};

}  // namespace weft
