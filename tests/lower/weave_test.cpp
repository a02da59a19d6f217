#include "lower/pim/weave.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"

using namespace weft;
using namespace weft::lower_pim;

namespace {

struct Case {
    std::vector<WovenCore> cores;
    std::vector<WovenMessage> messages;
    std::vector<std::int64_t> wish;
};

Case random_case(Random& random) {
    Case result;
    result.cores.resize(2 + random.below(6));
    for (WovenCore& core : result.cores) {
        core.fixed_ns = random.below(300);
        const std::uint32_t loops = random.below(5);
        for (std::uint32_t l = 0; l < loops; ++l) {
            // Some in one piece.
            const std::uint32_t ops = random.below(4);
            WovenLoop loop{1 + random.below(20), ops == 0 ? 50 + random.below(2000) : 0, static_cast<std::uint32_t>(core.op_ns.size()), ops};
            for (std::uint32_t op = 0; op < ops; ++op) {
                core.op_ns.push_back(20 + random.below(1000));
                loop.trip_ns += core.op_ns.back();
            }
            core.loops.push_back(loop);
        }
    }
    const std::uint32_t count = random.below(40);
    const auto cores = static_cast<std::uint32_t>(result.cores.size());
    for (std::uint32_t m = 0; m < count; ++m) {
        const std::uint32_t from = random.below(cores);
        const std::uint32_t to = (from + 1 + random.below(cores - 1)) % cores;
        result.messages.push_back({CoreId(from), CoreId(to), 4, 4, 20 + random.below(500), random.below(900), 30 + random.below(500),
                                   {no_id, 0}, {0, 0}, {no_id, 0}, {0, 0}, false});
        result.wish.push_back(random.below(20000));
    }
    return result;
}

std::int64_t busy_ns(const Case& c, std::uint32_t core) {
    std::int64_t ns = c.cores[core].fixed_ns;
    for (const WovenLoop& loop : c.cores[core].loops) ns += loop.trip_ns * loop.trips;
    for (const WovenMessage& m : c.messages) {
        if (m.from.value == core) ns += m.request_ns + m.permission_ns + m.read_ns;
        if (m.to.value == core) ns += m.request_ns + m.permission_ns + m.read_ns + m.data_ns + m.write_ns;
    }
    return ns;
}

/// Points of one core in the chip-wide order, for messages that it takes part in.
std::vector<WeavePoint> points_of(const Case& c, const Weave& weave, std::uint32_t core) {
    std::vector<WeavePoint> points;
    for (const std::uint32_t m : weave.order) {
        if (c.messages[m].from.value == core) points.push_back(weave.send_point[m]);
        if (c.messages[m].to.value == core) points.push_back(weave.recv_point[m]);
    }
    return points;
}

}  // namespace

TEST_CASE("every message has one place in the order and points inside its cores' loops, in that order") {
    Random random(5);
    int cuts = 0;
    for (int round = 0; round < 200; ++round) {
        const Case c = random_case(random);
        const Weave weave = weave_messages(c.cores, c.messages, c.wish, {});
        auto order = weave.order;
        std::sort(order.begin(), order.end());
        REQUIRE(order.size() == c.messages.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
        for (std::uint32_t core = 0; core < c.cores.size(); ++core) {
            const auto points = points_of(c, weave, core);
            CHECK(std::is_sorted(points.begin(), points.end()));
            for (const WeavePoint& point : points) {
                CHECK(point.loop <= c.cores[core].loops.size());
                if (point.loop == c.cores[core].loops.size()) continue;
                const WovenLoop& loop = c.cores[core].loops[point.loop];
                CHECK(point.trip < loop.trips);
                CHECK(point.op < std::max(1U, loop.op_count));
                cuts += point.op != 0;
            }
        }
    }
    CHECK(cuts > 100);
}

TEST_CASE("the interval is at least the half of the busiest core that no overlap can hide, and at most everything in a row") {
    // A core's sends can overlap its peer's earlier arrival, so only computation and own ends count for the lower bound.
    Random random(6);
    for (int round = 0; round < 200; ++round) {
        const Case c = random_case(random);
        const Weave weave = weave_messages(c.cores, c.messages, c.wish, {});
        std::int64_t all = 0;
        std::int64_t compute = 0;
        for (std::uint32_t core = 0; core < c.cores.size(); ++core) {
            all += busy_ns(c, core);
            std::int64_t own = c.cores[core].fixed_ns;
            for (const WovenLoop& loop : c.cores[core].loops) own += loop.trip_ns * loop.trips;
            compute = std::max(compute, own);
        }
        CHECK(weave.interval_ns + 1 >= compute);
        CHECK(weave.interval_ns <= all);
    }
}

TEST_CASE("two cores that could wait for each other's computation do not after weaving") {
    // Both compute 10 x 1000; the message is wished at the very start of the sender and found best anywhere common.
    Case c;
    c.cores = {{0, {{10, 1000}}, {}}, {0, {{10, 1000}}, {}}};
    c.messages = {{CoreId(0), CoreId(1), 4, 4, 50, 20, 60}, {CoreId(1), CoreId(0), 4, 4, 50, 20, 60}};
    c.wish = {0, 9000};
    const Weave weave = weave_messages(c.cores, c.messages, c.wish, {});
    CHECK(weave.interval_ns < 10000 + 2 * 400);
}

TEST_CASE("where buffers exist once, a message stands before or behind its data's use at both ends") {
    Random random(9);
    int late = 0;
    int early = 0;
    for (int round = 0; round < 300; ++round) {
        Case c = random_case(random);
        for (WovenMessage& message : c.messages) {
            if (random.below(4) == 0) message.to = CoreId::none();   // a load
        }
        const auto point = [&](const WovenCore& core) -> WeavePoint {
            if (core.loops.empty()) return {0, 0};
            const std::uint32_t loop = random.below(static_cast<std::uint32_t>(core.loops.size()));
            return {loop, random.below(core.loops[loop].trips)};
        };
        for (WovenMessage& message : c.messages) {
            const auto use = [&](CoreId core, WeavePoint& first, WeavePoint& last) {
                first = point(c.cores[core.index()]);
                last = point(c.cores[core.index()]);
                if (last < first) std::swap(first, last);
            };
            use(message.from, message.send_first, message.send_last);
            if (message.is_load()) continue;
            use(message.to, message.recv_first, message.recv_last);
            message.may_be_late = random.below(2) == 0;
        }
        // Half of them without the places in the round, so that only what must always work is left.
        WeaveOptions options;
        if (round % 2 == 0) options.circular_steps = options.variations = 0;
        const Weave weave = weave_messages(c.cores, c.messages, c.wish, options);
        auto order = weave.order;
        std::sort(order.begin(), order.end());
        REQUIRE(order.size() == c.messages.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
        for (std::uint32_t core = 0; core < c.cores.size(); ++core) {
            const auto points = points_of(c, weave, core);
            CHECK(std::is_sorted(points.begin(), points.end()));
        }
        for (std::size_t m = 0; m < c.messages.size(); ++m) {
            const WovenMessage& message = c.messages[m];
            const bool is_early = weave.send_point[m] <= message.send_first && (message.is_load() || weave.recv_point[m] <= message.recv_first);
            const bool is_late = message.may_be_late && weave.send_point[m] >= message.send_last && weave.recv_point[m] >= message.recv_last;
            CHECK((is_early || is_late));
            early += is_early ? 1 : 0;
            late += is_early ? 0 : 1;
        }
    }
    CHECK(early > 100);
    CHECK(late > 100);
}
