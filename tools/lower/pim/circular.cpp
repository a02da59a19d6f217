#include "lower/pim/circular.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace weft::lower_pim {
namespace {

struct Busy {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// What a core does besides computation in [0, interval), ascending.
class Timeline {
public:
    Timeline(std::int64_t fixed_ns, std::int64_t interval_ns, std::int64_t grain_ns) : interval_ns_(interval_ns), grain_ns_(grain_ns) {
        busy_.push_back({std::numeric_limits<std::int64_t>::min() / 2, fixed_ns});
    }

    [[nodiscard]] std::span<const Busy> busy() const { return busy_; }

    /// Free time that a new piece [start, start + length) would spoil; none where the core is busy then.
    [[nodiscard]] std::int64_t spoiled_ns(std::int64_t start, std::int64_t length) const {
        const auto after = first_from(start);
        const std::int64_t gap_begin = std::prev(after)->end;
        const std::int64_t gap_end = after == busy_.end() ? interval_ns_ : after->begin;
        if (start < gap_begin || start + length > gap_end) return occupied;
        return lost(start - gap_begin) + lost(gap_end - start - length) - lost(gap_end - gap_begin);
    }

    void add(std::int64_t start, std::int64_t length) { busy_.insert(first_from(start), {start, start + length}); }

    static constexpr std::int64_t occupied = std::numeric_limits<std::int64_t>::max() / 4;

private:
    /// Half a grain is lost at every piece of computation, because it consists of whole instructions.
    [[nodiscard]] std::int64_t lost(std::int64_t gap) const { return gap < grain_ns_ ? gap : grain_ns_ / 2; }

    [[nodiscard]] std::vector<Busy>::const_iterator first_from(std::int64_t start) const {
        return std::upper_bound(busy_.begin() + 1, busy_.end(), start, [](std::int64_t time, const Busy& piece) { return time < piece.begin; });
    }

    std::int64_t interval_ns_;
    std::int64_t grain_ns_;
    std::vector<Busy> busy_;
};

/// Length of the repetition that a random time of the core's computation falls into, in the mean.
std::int64_t grain_ns(const WovenCore& core) {
    std::int64_t sum = 0;
    std::int64_t squares = 0;
    for (const WovenLoop& loop : core.loops) {
        sum += loop.trips * loop.trip_ns;
        squares += loop.trips * loop.trip_ns * loop.trip_ns;
    }
    return sum == 0 ? 1 : std::max<std::int64_t>(1, squares / sum);
}

/// What an event occupies of one timeline: [start + offset, start + offset + length).
struct Part {
    std::uint32_t timeline = 0;
    std::int64_t offset = 0;
    std::int64_t length = 0;
};

/// Both parts of a message; of a load at its core and at the memory, whose timeline is the last. The sender's part lasts until its
/// outgoing queue has the data behind it: its next request, or permission, would wait there.
std::array<Part, 2> parts_of(const WovenMessage& message, std::size_t core_count) {
    if (message.is_load()) {
        return {Part{message.from.value, 0, send_ns(message)}, Part{static_cast<std::uint32_t>(core_count), message.request_ns, message.read_ns}};
    }
    return {Part{message.from.value, 0, send_ns(message) + message.data_ns}, Part{message.to.value, 0, recv_ns(message)}};
}

/// Best start for both parts: next to something that is there already. `interval_ns` where there is none.
std::int64_t best_start(std::span<const Timeline> timelines, const std::array<Part, 2>& parts, std::int64_t interval_ns) {
    std::int64_t best = interval_ns;
    std::int64_t best_spoiled = Timeline::occupied;
    const auto consider = [&](std::int64_t start) {
        if (start < 0) return;
        std::int64_t spoiled = 0;
        for (const Part& part : parts) {
            const std::int64_t here = timelines[part.timeline].spoiled_ns(start + part.offset, part.length);
            if (here == Timeline::occupied) return;
            spoiled += here;
        }
        if (spoiled < best_spoiled || (spoiled == best_spoiled && start < best)) {
            best_spoiled = spoiled;
            best = start;
        }
    };
    for (const Part& part : parts) {
        for (const Busy& piece : timelines[part.timeline].busy()) {
            consider(piece.end - part.offset);
            consider(piece.begin - part.offset - part.length);
        }
        consider(interval_ns - part.offset - part.length);
    }
    return best;
}

}  // namespace

std::vector<std::int64_t> circular_starts(std::span<const WovenCore> cores, std::span<const WovenMessage> messages,
                                          std::int64_t interval_ns) {
    std::vector<Timeline> timelines;
    for (const WovenCore& core : cores) timelines.emplace_back(core.fixed_ns, interval_ns, grain_ns(core));
    timelines.emplace_back(0, interval_ns, 1);
    std::vector<std::int64_t> load(timelines.size(), 0);
    for (const WovenMessage& message : messages) {
        for (const Part& part : parts_of(message, cores.size())) load[part.timeline] += part.length;
    }
    std::vector<std::uint32_t> order(messages.size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<std::int64_t> key;
    for (const WovenMessage& message : messages) {
        const auto parts = parts_of(message, cores.size());
        key.push_back(std::max(load[parts[0].timeline], load[parts[1].timeline]));
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key[a] > key[b]; });
    std::vector<std::int64_t> starts(messages.size(), interval_ns);
    for (const std::uint32_t m : order) {
        const auto parts = parts_of(messages[m], cores.size());
        starts[m] = best_start(timelines, parts, interval_ns);
        if (starts[m] == interval_ns) continue;
        for (const Part& part : parts) timelines[part.timeline].add(starts[m] + part.offset, part.length);
    }
    return starts;
}

}  // namespace weft::lower_pim
