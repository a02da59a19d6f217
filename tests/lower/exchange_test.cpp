#include "lower/pim/exchange.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"

using namespace weft;
using lower_pim::Message;
using lower_pim::order_exchange;
using lower_pim::OrderedMessage;

namespace {

/// Completion time of an order when each core does its messages in that order.
std::int64_t makespan(std::span<const Message> messages, std::span<const std::uint32_t> order, std::vector<std::int64_t> ready) {
    for (const std::uint32_t index : order) {
        const Message& message = messages[index];
        const std::int64_t start = std::max(ready[message.from.index()], ready[message.to.index()]);
        ready[message.from.index()] = start + message.send_ns;
        ready[message.to.index()] = start + message.recv_ns;
    }
    return *std::max_element(ready.begin(), ready.end());
}

std::vector<Message> random_messages(Random& random, std::uint32_t cores, std::uint32_t count) {
    std::vector<Message> messages;
    while (messages.size() < count) {
        const std::uint32_t from = random.below(cores);
        const std::uint32_t to = random.below(cores);
        if (from == to) continue;
        const std::int64_t ns = 300 + random.below(3000);
        messages.push_back({CoreId(from), CoreId(to), ns, ns + random.below(500)});
    }
    return messages;
}

}  // namespace

TEST_CASE("every message is ordered once and the ready times are those of the order") {
    Random random(2);
    for (int round = 0; round < 200; ++round) {
        const std::uint32_t cores = 2 + random.below(20);
        const auto messages = random_messages(random, cores, random.below(100));
        std::vector<std::int64_t> ready(cores);
        for (auto& time : ready) time = random.below(5000);
        const auto start = ready;
        std::vector<std::uint32_t> order;
        for (const OrderedMessage& message : order_exchange(messages, ready)) {
            order.push_back(message.index);
            // No message starts before its cores could.
            CHECK(message.start_ns >= std::max(start[messages[message.index].from.index()], start[messages[message.index].to.index()]));
        }
        CHECK(makespan(messages, order, start) == *std::max_element(ready.begin(), ready.end()));
        std::sort(order.begin(), order.end());
        REQUIRE(order.size() == messages.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
    }
}

TEST_CASE("the order is within twice the best of all orders, on small cases") {
    Random random(3);
    for (int round = 0; round < 60; ++round) {
        const std::uint32_t cores = 2 + random.below(4);
        const auto messages = random_messages(random, cores, 1 + random.below(6));
        std::vector<std::int64_t> ready(cores, 0);
        (void)order_exchange(messages, ready);
        std::vector<std::uint32_t> order(messages.size());
        std::iota(order.begin(), order.end(), 0U);
        std::int64_t best = makespan(messages, order, std::vector<std::int64_t>(cores, 0));
        while (std::next_permutation(order.begin(), order.end())) {
            best = std::min(best, makespan(messages, order, std::vector<std::int64_t>(cores, 0)));
        }
        CHECK(*std::max_element(ready.begin(), ready.end()) <= 2 * best);
    }
}
