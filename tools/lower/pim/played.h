#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lower/pim/weave.h"

namespace weft::lower_pim {

/// The two ends of message m are numbered 2m (its sender, or the core that loads) and 2m + 1 (its receiver).
[[nodiscard]] constexpr std::uint32_t sending_end(std::uint32_t message) { return 2 * message; }
[[nodiscard]] constexpr std::uint32_t receiving_end(std::uint32_t message) { return 2 * message + 1; }

/// A weave with what playing it needs.
struct PlayedWeave {
    std::vector<std::uint32_t> order;        // messages in the chip-wide order
    std::vector<WeavePoint> point;           // per end
    std::vector<std::int64_t> lead_ns;       // per end: computation between the core's message before and this one
    std::vector<std::int64_t> tail_ns;       // per core: computation after its last message
    std::int64_t interval_ns = 0;
    bool legal = true;                       // false where a message would have to stand behind a point that another must precede
};

/// Plays rounds out. All cores follow one order, so one pass over the messages per round is enough. Each core has a clock and an outgoing
/// queue that works through requests, permissions and data one after another.
class Player {
public:
    Player(std::span<const WovenCore> cores, std::span<const WovenMessage> messages, unsigned rounds)
        : cores_(cores), messages_(messages), rounds_(rounds), clock_(cores.size()), queue_(cores.size()) {}

    /// The interval over the last two thirds of the rounds. `met_ns` gets the time of each message's rendezvous in the last round.
    std::int64_t play(const PlayedWeave& weave, std::span<std::int64_t> met_ns);

private:
    /// Returns the time of the rendezvous.
    std::int64_t play_message(const WovenMessage& message, const std::int64_t* lead_ns);
    std::int64_t play_load(const WovenMessage& load, std::int64_t lead_ns);

    std::span<const WovenCore> cores_;
    std::span<const WovenMessage> messages_;
    unsigned rounds_;
    std::vector<std::int64_t> clock_;
    std::vector<std::int64_t> queue_;
    std::int64_t memory_ns_ = 0;             // when the global memory is free
};

}  // namespace weft::lower_pim
