#pragma once

#include <cstdint>
#include <span>

#include "lower/pim/played.h"

namespace weft::lower_pim {

/// How much a core computes before a message that it wishes for a time.
enum class Pacing : std::uint8_t {
    schedule,       ///< its share of the computation by then, and nothing that would make it late
    share,          ///< its share, even if that makes it late
};

/// What a core's round consists of besides waiting.
struct RoundWork {
    std::int64_t compute_ns = 0;
    std::int64_t exchange_ns = 0;       ///< its ends of all messages
};

/// Puts messages into the cores' computation in the order of the wishes, playing one round out as it goes. A core paces its computation such
/// that it would end with a round of `interval_ns`. Who comes to a message before its partner computes on until then, whole operations
/// only, so that at every message one core at most wastes less than one operation. `at_start`: no computation before messages other than loads.
[[nodiscard]] PlayedWeave pace_computation(std::span<const WovenCore> cores, std::span<const WovenMessage> messages, std::span<const RoundWork> work,
                                           const Wishes& wishes, std::int64_t interval_ns, Pacing pacing, bool at_start);

}  // namespace weft::lower_pim
