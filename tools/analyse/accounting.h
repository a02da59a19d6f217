#pragma once

#include <cstdint>
#include <vector>

#include "queue.h"

namespace weft {

/// Whom a core waits for, picoseconds a round.
struct PeerWait {
    std::uint32_t core = 0;
    double wait = 0;
};

/// What a round of one core consists of in steady state; picoseconds a round.
struct CoreWaits {
    std::uint64_t rounds = 0;          ///< looked at
    double round = 0;                  ///< mean length
    double partner = 0;                ///< for the other end of a message, its switch included
    double own_queue = 0;              ///< behind own messages in the own switch
    double memory = 0;                 ///< in the global memory's queue
    double tokens = 0;                 ///< for tokens
    std::vector<PeerWait> peers;       ///< longest first, at most `peer_limit`
};

inline constexpr std::size_t peer_limit = 4;

/// The global memory, from the start on.
struct MemoryUse {
    std::uint64_t requests = 0;
    double busy_share = 0;             ///< of the time looked at
    double mean_wait = 0;              ///< picoseconds a request, in the queue
    Picoseconds longest_wait = 0;
};

struct Accounting {
    std::vector<CoreWaits> cores;
    MemoryUse memory;
};

/// Executes the program once more, from the start to `rounds` rounds of every core beyond its first `skipped`, and adds up the
/// waits of those rounds. Cores that communicate with nobody have no waits.
[[nodiscard]] Accounting account_waits(const QueueProgram& program, TieOrder ties, std::uint32_t skipped, std::uint32_t rounds);

}  // namespace weft
