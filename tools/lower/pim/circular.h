#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lower/pim/weave.h"

namespace weft::lower_pim {

/// Time of both ends of a message on its core, without waiting; of a load, all at its core.
[[nodiscard]] inline std::int64_t recv_ns(const WovenMessage& message) {
    return message.request_ns + message.permission_ns + message.read_ns + message.data_ns + message.write_ns;
}
[[nodiscard]] inline std::int64_t send_ns(const WovenMessage& message) {
    return message.is_load() ? recv_ns(message) : message.request_ns + message.permission_ns + message.read_ns;
}

/// Times for all messages in a round of `interval_ns`, such that no core has two at once or during its fixed work at the start of the
/// round, the memory serves one load at a time, and no core computes further than a message's side allows (where a core has time to spare, its
/// computation is spread over the round). Where there is none: the interval itself, or the start of the round if the message must not be
/// late. Messages that have to come early go first, then those of the cores (the last entry: of the memory) of highest priority; each takes the
/// place that cuts least of its cores' free time into pieces that are too short for one of the core's repetitions. O(M * N) for N messages on
/// a core.
[[nodiscard]] Wishes circular_places(std::span<const WovenCore> cores, std::span<const WovenMessage> messages, std::int64_t interval_ns,
                                     std::span<const std::int64_t> priority);

/// What the messages take of each core's time, and the loads of the memory's: priorities to begin with.
[[nodiscard]] std::vector<std::int64_t> exchange_load(std::span<const WovenCore> cores, std::span<const WovenMessage> messages);

}  // namespace weft::lower_pim
