#include "lower/pim/weave.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/random.h"
#include "lower/pim/circular.h"

namespace weft::lower_pim {
namespace {

/// Walks a core's loops and knows how much computation lies behind.
class LoopCursor {
public:
    explicit LoopCursor(const WovenCore& core) : core_(&core) {}

    /// Whole operations, as many as fit `span_ns`, but not beyond `limit` (a point between repetitions); returns what they take.
    std::int64_t advance(std::int64_t span_ns, WeavePoint limit) {
        std::int64_t passed = 0;
        while (point_.loop < core_->loops.size() && point_ < limit) {
            const WovenLoop& loop = core_->loops[point_.loop];
            if (point_.op != 0) {
                if (!advance_in_trip(loop, span_ns, passed)) return passed;
                continue;
            }
            const std::uint32_t left = (point_.loop == limit.loop ? limit.trip : loop.trips) - point_.trip;
            const std::int64_t fitting = loop.trip_ns == 0 ? left : std::max<std::int64_t>(0, span_ns - passed) / loop.trip_ns;
            if (fitting < left) {
                point_.trip += static_cast<std::uint32_t>(fitting);
                passed += fitting * loop.trip_ns;
                advance_in_trip(loop, span_ns, passed);
                return passed;
            }
            passed += left * loop.trip_ns;
            point_ = point_.loop == limit.loop ? limit : WeavePoint{point_.loop + 1, 0};
        }
        return passed;
    }

    /// Computation up to `point`, if that is not behind already; returns what it takes.
    std::int64_t reach(WeavePoint point) {
        constexpr std::int64_t ever = std::numeric_limits<std::int64_t>::max() / 4;
        return point_ < point ? advance(ever, point) : 0;
    }

    [[nodiscard]] WeavePoint point() const { return point_; }

private:
    /// Operations of the repetition at hand while they fit; true where it is done.
    bool advance_in_trip(const WovenLoop& loop, std::int64_t span_ns, std::int64_t& passed) {
        const auto ops = core_->ops(loop);
        while (point_.op < ops.size() && passed + ops[point_.op] <= span_ns) passed += ops[point_.op++];
        if (point_.op < ops.size() || ops.empty()) return false;
        point_ = point_.trip + 1 == loop.trips ? WeavePoint{point_.loop + 1, 0} : WeavePoint{point_.loop, point_.trip + 1};
        return true;
    }

    const WovenCore* core_;
    WeavePoint point_;
};

std::int64_t compute_ns(const WovenCore& core) {
    std::int64_t ns = 0;
    for (const WovenLoop& loop : core.loops) ns += loop.trip_ns * loop.trips;
    return ns;
}

/// State of one attempt: the weave and the computation before each end of each message.
struct Attempt {
    Weave weave;
    std::vector<std::int64_t> send_lead_ns;
    std::vector<std::int64_t> recv_lead_ns;
    std::vector<std::int64_t> tail_ns;       // per core: computation after its last message
    bool legal = true;                       // false where a message would have to stand behind a point that another must precede
};

class Weaver {
public:
    Weaver(std::span<const WovenCore> cores, std::span<const WovenMessage> messages, const WeaveOptions& options)
        : cores_(cores), messages_(messages), options_(options), exchange_ns_(cores.size(), 0), met_(messages.size(), 0) {
        for (const WovenCore& core : cores) compute_ns_.push_back(compute_ns(core));
        for (const WovenMessage& message : messages) {
            exchange_ns_[message.from.index()] += send_ns(message);
            if (!message.is_load()) exchange_ns_[message.to.index()] += recv_ns(message);
        }
        for (std::size_t c = 0; c < cores.size(); ++c) {
            busiest_ns_ = std::max(busiest_ns_, cores[c].fixed_ns + compute_ns_[c] + exchange_ns_[c]);
        }
    }

    Weave run(std::span<const std::int64_t> start_ns) {
        Wishes wishes{{start_ns.begin(), start_ns.end()}, std::vector<char>(messages_.size(), 0)};
        const std::int64_t span = start_ns.empty() ? 0 : *std::max_element(start_ns.begin(), start_ns.end());
        const bool sided = has_sides();
        if (sided) {
            // As a burst: all messages at the start of the round, then the loads. It is legal whatever the sides.
            for (std::size_t m = 0; m < messages_.size(); ++m) {
                if (messages_[m].is_load()) wishes.start_ns[m] += span + 1;
            }
        }
        attempt(wishes, std::max(busiest_ns_, span), sided);
        std::vector<std::int64_t> met = met_;
        // Places without conflict in rounds that leave one percent more and more time.
        const std::vector<std::int64_t> load = exchange_load(cores_, messages_);
        std::int64_t best_round_ns = busiest_ns_;
        const unsigned affordable = affordable_attempts();
        for (unsigned percent = 0; percent < std::min(options_.circular_steps, affordable); ++percent) {
            const std::int64_t interval = busiest_ns_ + busiest_ns_ / 100 * percent;
            if (percent != 0 && interval >= best_.interval_ns) break;
            if (!attempt(circular_places(cores_, messages_, interval, load), interval)) continue;
            met = met_;
            best_round_ns = interval;
        }
        const unsigned left = affordable - std::min(options_.circular_steps, affordable);
        if (vary(load, best_round_ns, std::min(options_.variations, left))) met = best_met_;
        WEFT_CHECK(best_.order.size() == messages_.size(), "no attempt of the weave was legal");
        if (sided) return best_;
        // Where the messages of the best attempt so far really met, in a round as short as the busiest core allows.
        for (unsigned iteration = 0; iteration < options_.iterations; ++iteration) {
            const std::int64_t interval = std::max<std::int64_t>(1, last_interval_ns_);
            for (std::size_t m = 0; m < met.size(); ++m) {
                wishes.start_ns[m] = multiply_divide(met[m] % interval, std::max<std::int64_t>(1, busiest_ns_), interval);
            }
            attempt(wishes, busiest_ns_);
            met = met_;
        }
        return best_;
    }

private:
    /// Finding places takes the square of a core's messages, so that cores with thousands of them afford few attempts: some seconds in all.
    [[nodiscard]] unsigned affordable_attempts() const {
        constexpr std::uint64_t pairs = 120'000'000;
        std::vector<std::uint64_t> count(cores_.size(), 0);
        for (const WovenMessage& message : messages_) {
            ++count[message.from.index()];
            if (!message.is_load()) ++count[message.to.index()];
        }
        std::uint64_t each = 1;
        for (const std::uint64_t messages : count) each += messages * messages;
        return static_cast<unsigned>(std::min<std::uint64_t>(pairs / each, options_.circular_steps + options_.variations));
    }

    /// The order in which messages find their places decides which of them find good ones: some cores' priorities are changed at a time, and
    /// kept where the round becomes shorter. True where it did.
    bool vary(std::vector<std::int64_t> priority, std::int64_t round_ns, unsigned variations) {
        if (messages_.empty()) return false;
        Random random(messages_.size());
        bool better = false;
        const std::int64_t highest = *std::max_element(priority.begin(), priority.end());
        const auto timelines = narrow<std::uint32_t>(priority.size());
        for (unsigned variation = 0; variation < variations && best_.interval_ns > busiest_ns_; ++variation) {
            std::vector<std::int64_t> changed = priority;
            for (std::uint32_t change = 0; change < 1 + timelines / 16; ++change) {
                changed[random.below(timelines)] = multiply_divide(highest, random.below(1024), 1024);
            }
            const std::int64_t interval = busiest_ns_ + multiply_divide(round_ns - busiest_ns_, random.below(3), 2);
            if (!attempt(circular_places(cores_, messages_, interval, changed), interval)) continue;
            priority = std::move(changed);
            best_met_ = met_;
            better = true;
        }
        return better;
    }

    [[nodiscard]] bool has_sides() const {
        return std::any_of(messages_.begin(), messages_.end(), [](const WovenMessage& message) {
            return message.send_first.loop != no_id || message.recv_first.loop != no_id;
        });
    }

    /// For each end of each message the point that its core must not pass before it: the first touch of it and the early ones behind it;
    /// `at_start`: the round's start, except for loads.
    void set_limits(std::span<const std::uint32_t> order, std::span<const char> late, bool at_start) {
        send_limit_.resize(messages_.size());
        recv_limit_.resize(messages_.size());
        core_limit_.assign(cores_.size(), {no_id, 0});
        for (auto m = order.rbegin(); m != order.rend(); ++m) {
            const WovenMessage& message = messages_[*m];
            const bool pinned = at_start && !message.is_load();
            WeavePoint& from = core_limit_[message.from.index()];
            if (late[*m] == 0) from = std::min(from, pinned ? WeavePoint{0, 0} : message.send_first);
            send_limit_[*m] = from;
            if (message.is_load()) continue;
            WeavePoint& to = core_limit_[message.to.index()];
            if (late[*m] == 0) to = std::min(to, pinned ? WeavePoint{0, 0} : message.recv_first);
            recv_limit_[*m] = to;
        }
    }

    /// Weave and play; true where it is the best so far.
    bool attempt(const Wishes& wishes, std::int64_t interval_ns, bool at_start = false) {
        Attempt trial = weave(wishes, interval_ns, at_start);
        if (!trial.legal) return false;
        trial.weave.interval_ns = play(trial, met_);
        last_interval_ns_ = trial.weave.interval_ns;
        const bool better = best_.interval_ns == 0 || trial.weave.interval_ns < best_.interval_ns;
        if (better) best_ = std::move(trial.weave);
        return better;
    }

    /// Each core, in the order of the wishes: computation, then the message. A core paces its computation such that it would end with the
    /// round: what it does not need of the time stands before every message and absorbs that computation consists of whole
    /// repetitions. Rather too early than too late, because the late end keeps the other one waiting.
    Attempt weave(const Wishes& wishes, std::int64_t interval_ns, bool at_start) {
        Attempt attempt;
        std::vector<std::uint32_t>& order = attempt.weave.order;
        order.resize(messages_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return wishes.start_ns[a] < wishes.start_ns[b]; });
        attempt.weave.send_point.resize(messages_.size());
        attempt.weave.recv_point.resize(messages_.size());
        attempt.send_lead_ns.resize(messages_.size());
        attempt.recv_lead_ns.resize(messages_.size());
        std::vector<LoopCursor> cursors;
        std::vector<std::int64_t> exchanged(cores_.size(), 0);
        std::vector<std::int64_t> clock;
        for (const WovenCore& core : cores_) {
            cursors.emplace_back(core);
            clock.push_back(core.fixed_ns);
        }
        attempt.tail_ns = compute_ns_;
        set_limits(order, wishes.late, at_start);
        const auto place = [&](std::uint32_t core, std::int64_t when, std::int64_t cost, WeavePoint from, WeavePoint limit) {
            const std::int64_t room = std::max(compute_ns_[core], interval_ns - cores_[core].fixed_ns - exchange_ns_[core]);
            const std::int64_t before = std::max<std::int64_t>(0, when - cores_[core].fixed_ns - exchanged[core]);
            const std::int64_t done = compute_ns_[core] - attempt.tail_ns[core];
            const std::int64_t paced = multiply_divide(before, compute_ns_[core], std::max<std::int64_t>(1, room)) - done;
            attempt.legal = attempt.legal && from <= limit;
            const std::int64_t lead = cursors[core].advance(std::min(paced, when - clock[core]), limit) + cursors[core].reach(std::min(from, limit));
            attempt.legal = attempt.legal && cursors[core].point() <= limit;
            attempt.tail_ns[core] -= lead;
            exchanged[core] += cost;
            clock[core] = std::max(clock[core] + lead, when) + cost;
            return lead;
        };
        for (const std::uint32_t m : order) {
            const WovenMessage& message = messages_[m];
            const bool late = wishes.late[m] != 0;
            const std::int64_t when = wishes.start_ns[m];
            attempt.send_lead_ns[m] = place(message.from.value, when, send_ns(message), late ? message.send_last : WeavePoint{}, send_limit_[m]);
            attempt.weave.send_point[m] = cursors[message.from.index()].point();
            if (message.is_load()) continue;
            attempt.recv_lead_ns[m] = place(message.to.value, when, recv_ns(message), late ? message.recv_last : WeavePoint{}, recv_limit_[m]);
            attempt.weave.recv_point[m] = cursors[message.to.index()].point();
        }
        return attempt;
    }

    /// Play `rounds` rounds: because all cores follow one order, one pass over the messages per round is enough. Each core has a clock
    /// and an outgoing queue that works through requests, permissions and data one after another. `met` gets the time of each
    /// message's rendezvous in the last round; returns the interval over the last rounds.
    std::int64_t play(const Attempt& attempt, std::span<std::int64_t> met) {
        clock_.assign(cores_.size(), 0);
        queue_.assign(cores_.size(), 0);
        memory_ = 0;
        std::int64_t early_finish = 0;
        const unsigned warm_up = options_.rounds / 3;
        for (unsigned round = 0; round < options_.rounds; ++round) {
            for (std::size_t c = 0; c < cores_.size(); ++c) clock_[c] += cores_[c].fixed_ns;
            for (const std::uint32_t m : attempt.weave.order) {
                met[m] = play_message(messages_[m], attempt.send_lead_ns[m], attempt.recv_lead_ns[m]);
            }
            for (std::size_t c = 0; c < cores_.size(); ++c) clock_[c] += attempt.tail_ns[c];
            if (round + 1 == warm_up) early_finish = *std::max_element(clock_.begin(), clock_.end());
        }
        return (*std::max_element(clock_.begin(), clock_.end()) - early_finish) / (options_.rounds - warm_up);
    }

    std::int64_t play_message(const WovenMessage& message, std::int64_t send_lead, std::int64_t recv_lead) {
        if (message.is_load()) return play_load(message, send_lead);
        std::int64_t& sender = clock_[message.from.index()];
        std::int64_t& receiver = clock_[message.to.index()];
        std::int64_t& sender_queue = queue_[message.from.index()];
        std::int64_t& receiver_queue = queue_[message.to.index()];
        sender += send_lead;
        receiver += recv_lead;
        const std::int64_t rendezvous = std::max(sender, receiver);
        sender_queue = std::max(sender, sender_queue) + message.request_ns;
        receiver_queue = std::max(std::max(sender_queue, receiver), receiver_queue) + message.permission_ns;
        sender = receiver_queue + message.read_ns;
        sender_queue = std::max(sender, sender_queue) + message.data_ns;
        receiver = sender_queue + message.write_ns;
        return rendezvous;
    }

    std::int64_t play_load(const WovenMessage& load, std::int64_t lead) {
        std::int64_t& core = clock_[load.from.index()];
        core += lead;
        const std::int64_t start = core;
        memory_ = std::max(memory_, core + load.request_ns) + load.read_ns;
        core = memory_ + load.write_ns;
        return start;
    }

    std::span<const WovenCore> cores_;
    std::span<const WovenMessage> messages_;
    WeaveOptions options_;
    std::vector<std::int64_t> compute_ns_;   // per core
    std::vector<std::int64_t> exchange_ns_;  // per core: its ends of all messages
    std::vector<WeavePoint> send_limit_;     // per message, see set_limits
    std::vector<WeavePoint> recv_limit_;
    std::vector<WeavePoint> core_limit_;
    std::vector<std::int64_t> met_;          // per message: when it met in the last attempt
    std::vector<std::int64_t> best_met_;     // and in the best variation
    std::int64_t busiest_ns_ = 0;
    std::int64_t last_interval_ns_ = 0;
    Weave best_;
    std::vector<std::int64_t> clock_;
    std::vector<std::int64_t> queue_;
    std::int64_t memory_ = 0;                // when the global memory is free
};

}  // namespace

Weave weave_messages(std::span<const WovenCore> cores, std::span<const WovenMessage> messages,
                     std::span<const std::int64_t> start_ns, const WeaveOptions& options) {
    WEFT_CHECK(start_ns.size() == messages.size() && options.rounds >= 3);
    return Weaver(cores, messages, options).run(start_ns);
}

}  // namespace weft::lower_pim
