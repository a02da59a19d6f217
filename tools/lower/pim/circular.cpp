#include "lower/pim/circular.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checked.h"

namespace weft::lower_pim {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct Busy {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    WeavePoint not_after = {no_id, 0};   // early: the computation may not have passed this point
    WeavePoint not_before = {0, 0};      // late: nor be before this one
};

/// What a core does besides computation in [0, interval), ascending.
class Timeline {
public:
    Timeline(std::int64_t fixed_ns, std::int64_t interval_ns, std::int64_t grain_ns) : interval_ns_(interval_ns), grain_ns_(grain_ns) {
        busy_.push_back({std::numeric_limits<std::int64_t>::min() / 2, fixed_ns, {no_id, 0}, {0, 0}});
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

    /// Time from the round's start to `start` that is neither fixed work nor taken by the pieces so far.
    [[nodiscard]] std::int64_t free_before(std::int64_t start) const {
        std::int64_t taken = busy_.front().end;
        for (std::size_t i = 1; i < busy_.size() && busy_[i].begin < start; ++i) taken += busy_[i].end - busy_[i].begin;
        return start - taken;
    }

    void add(const Busy& piece) { busy_.insert(first_from(piece.begin), piece); }

    /// False where the computation would have to pass a point before this piece that it must not have passed at a later one, or the like.
    [[nodiscard]] bool in_order(std::int64_t start, WeavePoint not_after, WeavePoint not_before) const {
        for (const Busy& piece : busy_) {
            if (piece.begin <= start ? piece.not_before > not_after : piece.not_after < not_before) return false;
        }
        return true;
    }

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

/// Length of the operation that a random time of the core's computation falls into, in the mean.
std::int64_t grain_ns(const WovenCore& core) {
    std::int64_t sum = 0;
    std::int64_t squares = 0;
    for (const WovenLoop& loop : core.loops) {
        sum += loop.trips * loop.trip_ns;
        if (loop.op_count == 0) squares += loop.trips * loop.trip_ns * loop.trip_ns;
        for (const std::int64_t op : core.ops(loop)) squares += loop.trips * op * op;
    }
    return sum == 0 ? 1 : std::max<std::int64_t>(1, squares / sum);
}

/// What an event occupies of one timeline: [start + offset, start + offset + length).
struct Part {
    std::uint32_t timeline = 0;
    std::int64_t offset = 0;
    std::int64_t length = 0;
    WeavePoint first = {no_id, 0};      // of the computation that touches the data, see WovenMessage
    WeavePoint last = {0, 0};
};

/// Both parts of a message; of a load at its core and at the memory, whose timeline is the last. The sender's part lasts until its
/// outgoing queue has the data behind it: its next request, or permission, would wait there.
std::array<Part, 2> parts_of(const WovenMessage& message, std::size_t core_count) {
    if (message.is_load()) {
        return {Part{message.from.value, 0, send_ns(message), message.send_first, message.send_last}, Part{static_cast<std::uint32_t>(core_count), message.request_ns, message.read_ns}};
    }
    return {Part{message.from.value, 0, send_ns(message) + message.data_ns, message.send_first, message.send_last},
            Part{message.to.value, 0, recv_ns(message), message.recv_first, message.recv_last}};
}

/// How long a core computes before each of its loops, spread over what the round leaves it besides messages.
class Pace {
public:
    Pace(const WovenCore& core, std::int64_t exchange_ns, std::int64_t interval_ns)
        : core_(&core), grain_ns_(grain_ns(core)), exchange_ns_(exchange_ns) {
        before_ns_.push_back(0);
        for (const WovenLoop& loop : core.loops) before_ns_.push_back(before_ns_.back() + loop.trip_ns * loop.trips);
        room_ns_ = std::max(before_ns_.back(), interval_ns - core.fixed_ns - exchange_ns);
    }

    /// Free time that may pass before the computation reaches `point`.
    [[nodiscard]] std::int64_t free_until(WeavePoint point) const { return at_pace(point, room_ns_); }
    /// Time after the fixed work when the computation is surely behind `point`: all free time until then, its share of the messages, and
    /// the repetition that may not fit before one.
    [[nodiscard]] std::int64_t behind(WeavePoint point) const {
        return point == WeavePoint{0, 0} ? 0 : at_pace(point, room_ns_ + exchange_ns_) + grain_ns_;
    }

private:
    [[nodiscard]] std::int64_t at_pace(WeavePoint point, std::int64_t whole_ns) const {
        if (point.loop >= core_->loops.size()) return point.loop == no_id ? never : whole_ns;
        const std::int64_t compute = before_ns_[point.loop] + point.trip * core_->loops[point.loop].trip_ns;
        return multiply_divide(compute, whole_ns, std::max<std::int64_t>(1, before_ns_.back()));
    }

    const WovenCore* core_;
    std::vector<std::int64_t> before_ns_;   // per loop, and all of them
    std::int64_t grain_ns_;
    std::int64_t exchange_ns_;
    std::int64_t room_ns_ = 0;
};

/// When the parts of a message may start.
struct Sides {
    std::array<std::int64_t, 2> early_free_ns{never, never};   // at most so much free time before, or
    std::array<std::int64_t, 2> late_free_ns{0, 0};             // at least so much,
    std::int64_t late_ns = never;                               // and not before
};

struct Place {
    std::int64_t start_ns = 0;
    bool late = false;
    bool found = false;
};

/// Best start for both parts: next to something that is there already, or as soon as it may be late.
/// `waiting`: the earliest one before which the cores must not compute on, however long they wait there.
Place best_place(std::span<const Timeline> timelines, const std::array<Part, 2>& parts, const Sides& sides, std::int64_t interval_ns, bool waiting) {
    Place best;
    std::int64_t best_spoiled = Timeline::occupied;
    const auto consider = [&](std::int64_t start) {
        if (start < 0) return;
        std::int64_t spoiled = 0;
        bool early = true;
        bool late = start >= sides.late_ns;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const Timeline& timeline = timelines[parts[i].timeline];
            const std::int64_t here = timeline.spoiled_ns(start + parts[i].offset, parts[i].length);
            if (here == Timeline::occupied) return;
            spoiled += here;
            if (sides.early_free_ns[i] == never && sides.late_ns == never) continue;
            const std::int64_t free = timeline.free_before(start + parts[i].offset);
            early = early && (waiting || free <= sides.early_free_ns[i]) && timeline.in_order(start, parts[i].first, {0, 0});
            late = late && free >= sides.late_free_ns[i] && timeline.in_order(start, {no_id, 0}, parts[i].last);
        }
        if (!early && !late) return;
        if (waiting) spoiled = start;
        if (best.found && (spoiled > best_spoiled || (spoiled == best_spoiled && start >= best.start_ns))) return;
        best_spoiled = spoiled;
        best = {start, !early, true};
    };
    for (const Part& part : parts) {
        for (const Busy& piece : timelines[part.timeline].busy()) {
            consider(piece.end - part.offset);
            consider(piece.begin - part.offset - part.length);
        }
        consider(interval_ns - part.offset - part.length);
    }
    if (sides.late_ns < interval_ns) consider(sides.late_ns);
    return best;
}

}  // namespace

std::vector<std::int64_t> exchange_load(std::span<const WovenCore> cores, std::span<const WovenMessage> messages) {
    std::vector<std::int64_t> load(cores.size() + 1, 0);
    for (const WovenMessage& message : messages) {
        for (const Part& part : parts_of(message, cores.size())) load[part.timeline] += part.length;
    }
    return load;
}

Wishes circular_places(std::span<const WovenCore> cores, std::span<const WovenMessage> messages, std::int64_t interval_ns,
                       std::span<const std::int64_t> priority) {
    std::vector<Timeline> timelines;
    for (const WovenCore& core : cores) timelines.emplace_back(core.fixed_ns, interval_ns, grain_ns(core));
    timelines.emplace_back(0, interval_ns, 1);
    const std::vector<std::int64_t> load = exchange_load(cores, messages);
    std::vector<Pace> paces;
    for (std::size_t c = 0; c < cores.size(); ++c) paces.emplace_back(cores[c], load[c], interval_ns);
    // Those that have to come early first, by sixteenths of the round, then those of the first timelines.
    std::vector<Sides> sides(messages.size());
    std::vector<std::pair<std::int64_t, std::int64_t>> key;
    for (std::size_t m = 0; m < messages.size(); ++m) {
        const auto parts = parts_of(messages[m], cores.size());
        std::int64_t late = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (parts[i].timeline == cores.size()) continue;
            const Pace& pace = paces[parts[i].timeline];
            sides[m].early_free_ns[i] = pace.free_until(parts[i].first);
            sides[m].late_free_ns[i] = parts[i].last == WeavePoint{0, 0} ? 0 : pace.free_until(parts[i].last);
            late = std::max(late, cores[parts[i].timeline].fixed_ns + pace.behind(parts[i].last));
        }
        if (messages[m].may_be_late) sides[m].late_ns = late;
        std::int64_t window = std::min({sides[m].early_free_ns[0], sides[m].early_free_ns[1], interval_ns});
        if (messages[m].may_be_late) window += std::max<std::int64_t>(0, interval_ns - late);
        key.emplace_back(std::min(window, interval_ns) * 16 / std::max<std::int64_t>(1, interval_ns),
                         -std::max(priority[parts[0].timeline], priority[parts[1].timeline]));
    }
    std::vector<std::uint32_t> order(messages.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key[a] < key[b]; });
    Wishes wishes{std::vector<std::int64_t>(messages.size(), 0), std::vector<char>(messages.size(), 0)};
    for (const std::uint32_t m : order) {
        const auto parts = parts_of(messages[m], cores.size());
        Place place = best_place(timelines, parts, sides[m], interval_ns, false);
        if (!place.found) place = best_place(timelines, parts, sides[m], interval_ns, true);
        if (!place.found) {
            const bool anywhere = sides[m].early_free_ns[0] == never && sides[m].early_free_ns[1] == never;
            wishes.start_ns[m] = anywhere ? interval_ns : 0;
            continue;
        }
        wishes.start_ns[m] = place.start_ns;
        wishes.late[m] = place.late ? 1 : 0;
        for (const Part& part : parts) {
            const std::int64_t begin = place.start_ns + part.offset;
            timelines[part.timeline].add({begin, begin + part.length, place.late ? WeavePoint{no_id, 0} : part.first, place.late ? part.last : WeavePoint{}});
        }
    }
    return wishes;
}

}  // namespace weft::lower_pim
