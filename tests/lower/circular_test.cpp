#include "lower/pim/circular.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/random.h"

using namespace weft;
using namespace weft::lower_pim;

namespace {

struct Piece {
    std::int64_t begin;
    std::int64_t end;
};

struct Case {
    std::vector<WovenCore> cores;
    std::vector<WovenMessage> messages;
};

Case random_case(Random& random) {
    Case result;
    result.cores.resize(2 + random.below(5));
    for (WovenCore& core : result.cores) {
        core.fixed_ns = random.below(200);
        if (random.below(3) != 0) core.loops.push_back({1 + random.below(9), 1 + random.below(500)});
    }
    const auto cores = static_cast<std::uint32_t>(result.cores.size());
    const std::uint32_t count = random.below(30);
    for (std::uint32_t m = 0; m < count; ++m) {
        const std::uint32_t from = random.below(cores);
        const bool is_load = random.below(4) == 0;
        const CoreId to = is_load ? CoreId::none() : CoreId((from + 1 + random.below(cores - 1)) % cores);
        result.messages.push_back({CoreId(from), to, 1 + random.below(9), is_load ? 0 : 1 + random.below(9), 1 + random.below(90),
                                   is_load ? 0 : random.below(90), 1 + random.below(90), {no_id, 0}, {0, 0}, {no_id, 0}, {0, 0}, false});
    }
    return result;
}

/// What occupies core `core`, or the memory for core == cores.size(), by the definition.
std::vector<Piece> pieces_of(const Case& c, const std::vector<std::int64_t>& starts, std::int64_t interval, std::size_t core) {
    std::vector<Piece> pieces;
    if (core < c.cores.size()) pieces.push_back({0, c.cores[core].fixed_ns});
    for (std::size_t m = 0; m < c.messages.size(); ++m) {
        const WovenMessage& message = c.messages[m];
        if (starts[m] == interval) continue;
        const std::int64_t read_begin = starts[m] + message.request_ns + message.permission_ns;
        const std::int64_t read_end = read_begin + message.read_ns;
        if (message.is_load()) {
            if (core == c.cores.size()) pieces.push_back({read_begin, read_end});
            if (core == message.from.index()) pieces.push_back({starts[m], read_end + message.write_ns});
        } else {
            if (core == message.from.index()) pieces.push_back({starts[m], read_end + message.data_ns});
            if (core == message.to.index()) pieces.push_back({starts[m], read_end + message.data_ns + message.write_ns});
        }
    }
    return pieces;
}

}  // namespace

TEST_CASE("no core and not the memory is wanted twice at once, and nothing passes the end of the round") {
    Random random(11);
    for (int round = 0; round < 500; ++round) {
        const Case c = random_case(random);
        const std::int64_t interval = 200 + random.below(4000);
        const auto starts = circular_places(c.cores, c.messages, interval, exchange_load(c.cores, c.messages)).start_ns;
        REQUIRE(starts.size() == c.messages.size());
        for (std::size_t core = 0; core <= c.cores.size(); ++core) {
            auto pieces = pieces_of(c, starts, interval, core);
            std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                CHECK(pieces[i].begin >= 0);
                CHECK(pieces[i].end <= std::max(interval, core < c.cores.size() ? c.cores[core].fixed_ns : 0));
                if (i > 0) CHECK(pieces[i].begin >= pieces[i - 1].end);
            }
        }
    }
}

TEST_CASE("a round that is long enough for all messages one after another has a place for each") {
    Random random(12);
    for (int round = 0; round < 300; ++round) {
        const Case c = random_case(random);
        std::int64_t interval = 1;
        for (const WovenCore& core : c.cores) interval += core.fixed_ns;
        // Gaps that earlier messages leave can each be just too short, so as much again.
        for (const WovenMessage& message : c.messages) interval += 2 * (recv_ns(message) + message.data_ns);
        for (const std::int64_t start : circular_places(c.cores, c.messages, interval, exchange_load(c.cores, c.messages)).start_ns) CHECK(start < interval);
    }
}
