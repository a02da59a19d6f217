#include "lower/pim/weave.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "lower/pim/circular.h"

namespace weft::lower_pim {
namespace {

/// Walks a core's loops and knows how much computation lies behind.
class LoopCursor {
public:
    explicit LoopCursor(const WovenCore& core) : core_(&core) {}

    /// Whole repetitions, as many as fit `span_ns`; returns what they take.
    std::int64_t advance(std::int64_t span_ns) {
        std::int64_t passed = 0;
        while (point_.loop < core_->loops.size()) {
            const WovenLoop& loop = core_->loops[point_.loop];
            const std::uint32_t left = loop.trips - point_.trip;
            const std::int64_t fitting = loop.trip_ns == 0 ? left : std::max<std::int64_t>(0, span_ns - passed) / loop.trip_ns;
            if (fitting < left) {
                point_.trip += static_cast<std::uint32_t>(fitting);
                return passed + fitting * loop.trip_ns;
            }
            passed += left * loop.trip_ns;
            point_ = {point_.loop + 1, 0};
        }
        return passed;
    }

    [[nodiscard]] WeavePoint point() const { return point_; }

private:
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
        std::vector<std::int64_t> wish(start_ns.begin(), start_ns.end());
        const std::int64_t span = wish.empty() ? 0 : *std::max_element(wish.begin(), wish.end());
        attempt(wish, std::max(busiest_ns_, span));
        std::vector<std::int64_t> met = met_;
        // Places without conflict in rounds that leave one percent more and more time.
        for (unsigned percent = 0; percent < options_.circular_steps; ++percent) {
            const std::int64_t interval = busiest_ns_ + busiest_ns_ / 100 * percent;
            if (percent != 0 && interval >= best_.interval_ns) break;
            if (attempt(circular_starts(cores_, messages_, interval), interval)) met = met_;
        }
        // Where the messages of the best attempt so far really met, in a round as short as the busiest core allows.
        for (unsigned iteration = 0; iteration < options_.iterations; ++iteration) {
            const std::int64_t interval = std::max<std::int64_t>(1, last_interval_ns_);
            for (std::size_t m = 0; m < met.size(); ++m) wish[m] = multiply_divide(met[m] % interval, std::max<std::int64_t>(1, busiest_ns_), interval);
            attempt(wish, busiest_ns_);
            met = met_;
        }
        return best_;
    }

private:
    /// Weave and play; true where it is the best so far.
    bool attempt(std::span<const std::int64_t> wish, std::int64_t interval_ns) {
        Attempt trial = weave(wish, interval_ns);
        trial.weave.interval_ns = play(trial, met_);
        last_interval_ns_ = trial.weave.interval_ns;
        const bool better = best_.interval_ns == 0 || trial.weave.interval_ns < best_.interval_ns;
        if (better) best_ = std::move(trial.weave);
        return better;
    }

    /// Each core, in the order of the wishes: computation, then the message. A core paces its computation such that it would end with the
    /// round: what it does not need of the time stands before every message and absorbs that computation consists of whole
    /// repetitions. Rather too early than too late, because the late end keeps the other one waiting.
    Attempt weave(std::span<const std::int64_t> wish, std::int64_t interval_ns) {
        Attempt attempt;
        attempt.weave.order.resize(messages_.size());
        std::iota(attempt.weave.order.begin(), attempt.weave.order.end(), 0U);
        std::stable_sort(attempt.weave.order.begin(), attempt.weave.order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return wish[a] < wish[b]; });
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
        const auto place = [&](std::uint32_t core, std::int64_t when, std::int64_t cost, std::int64_t& lead, WeavePoint& point) {
            const std::int64_t room = std::max(compute_ns_[core], interval_ns - cores_[core].fixed_ns - exchange_ns_[core]);
            const std::int64_t before = std::max<std::int64_t>(0, when - cores_[core].fixed_ns - exchanged[core]);
            const std::int64_t done = compute_ns_[core] - attempt.tail_ns[core];
            const std::int64_t paced = multiply_divide(before, compute_ns_[core], std::max<std::int64_t>(1, room)) - done;
            lead = cursors[core].advance(std::min(paced, when - clock[core]));
            attempt.tail_ns[core] -= lead;
            point = cursors[core].point();
            exchanged[core] += cost;
            clock[core] = std::max(clock[core] + lead, when) + cost;
        };
        for (const std::uint32_t m : attempt.weave.order) {
            const WovenMessage& message = messages_[m];
            place(message.from.value, wish[m], send_ns(message), attempt.send_lead_ns[m], attempt.weave.send_point[m]);
            if (!message.is_load()) place(message.to.value, wish[m], recv_ns(message), attempt.recv_lead_ns[m], attempt.weave.recv_point[m]);
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
    std::vector<std::int64_t> met_;          // per message: when it met in the last attempt
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
