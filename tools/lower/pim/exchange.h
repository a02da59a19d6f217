#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"

namespace weft::lower_pim {

/// A message of one slot, as the ordering sees it.
struct Message {
    CoreId from;
    CoreId to;
    std::int64_t send_ns = 0;     // both ends ready, queues empty
    std::int64_t recv_ns = 0;
};

struct OrderedMessage {
    std::uint32_t index = 0;
    std::int64_t start_ns = 0;    // when both its cores are free for it
};

/// A chip-wide order of the messages: list scheduling. Repeatedly the message that both its cores can start earliest is taken, among
/// equals the one whose cores have more exchange left. `core_ready_ns` says when each core can begin and is advanced to when it is done.
/// Every core follows the projection of this one order, so the earliest message not yet done always has both its cores free to
/// reach it: no cycle of waiting is possible. O(M log M) amortised. Source: docs/lowering.md.
[[nodiscard]] std::vector<OrderedMessage> order_exchange(std::span<const Message> messages, std::vector<std::int64_t>& core_ready_ns);

}  // namespace weft::lower_pim
