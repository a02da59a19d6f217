#include "lower/pim/exchange.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "base/checked.h"

namespace weft::lower_pim {
namespace {

// Start times closer than this count as equal, so that the remaining load decides: about a small message.
constexpr std::int64_t bucket_ns = 256;

/// Smallest first: start bucket, then less remaining load last, then index.
using Key = std::tuple<std::int64_t, std::int64_t, std::uint32_t>;

}  // namespace

std::vector<OrderedMessage> order_exchange(std::span<const Message> messages, std::vector<std::int64_t>& core_ready_ns) {
    std::vector<std::int64_t> remaining(core_ready_ns.size(), 0);
    for (const Message& message : messages) {
        remaining[message.from.index()] += message.send_ns;
        remaining[message.to.index()] += message.recv_ns;
    }
    const auto key_of = [&](std::uint32_t index) {
        const Message& message = messages[index];
        const std::int64_t start = std::max(core_ready_ns[message.from.index()], core_ready_ns[message.to.index()]);
        const std::int64_t load = std::max(remaining[message.from.index()], remaining[message.to.index()]);
        return Key{start / bucket_ns, -load, index};
    };
    std::priority_queue<Key, std::vector<Key>, std::greater<>> queue;
    for (std::uint32_t i = 0; i < messages.size(); ++i) queue.push(key_of(i));
    std::vector<OrderedMessage> order;
    order.reserve(messages.size());
    while (!queue.empty()) {
        const Key top = queue.top();
        queue.pop();
        const std::uint32_t index = std::get<2>(top);
        // Keys only grow (later starts, less load), so a stale entry is put back with its present key.
        if (const Key now = key_of(index); now != top) {
            queue.push(now);
            continue;
        }
        const Message& message = messages[index];
        std::int64_t& from = core_ready_ns[message.from.index()];
        std::int64_t& to = core_ready_ns[message.to.index()];
        const std::int64_t start = std::max(from, to);
        from = start + message.send_ns;
        to = start + message.recv_ns;
        remaining[message.from.index()] -= message.send_ns;
        remaining[message.to.index()] -= message.recv_ns;
        order.push_back({index, start});
    }
    return order;
}

}  // namespace weft::lower_pim
