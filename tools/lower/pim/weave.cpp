#include "lower/pim/weave.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace weft::lower_pim {
namespace {

/// Walks a core's loops and knows how much computation lies behind.
class LoopCursor {
public:
    explicit LoopCursor(const WovenCore& core) : core_(&core) {}

    /// Computation until the repetition whose end is nearest to `span_ns` from here; returns what was passed.
    std::int64_t advance(std::int64_t span_ns) {
        std::int64_t passed = 0;
        while (point_.loop < core_->loops.size()) {
            const WovenLoop& loop = core_->loops[point_.loop];
            const std::int64_t wanted = span_ns - passed;
            if (wanted <= 0) break;
            const std::uint32_t left = loop.trips - point_.trip;
            const std::int64_t nearest = loop.trip_ns == 0 ? left : (wanted + loop.trip_ns / 2) / loop.trip_ns;
            if (nearest < left) {
                point_.trip += static_cast<std::uint32_t>(nearest);
                passed += nearest * loop.trip_ns;
                break;
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

std::int64_t send_ns(const WovenMessage& message) { return message.request_ns + message.permission_ns + message.read_ns; }
std::int64_t recv_ns(const WovenMessage& message) { return send_ns(message) + message.data_ns + message.write_ns; }

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
        : cores_(cores), messages_(messages), options_(options) {
        for (const WovenCore& core : cores) compute_ns_.push_back(compute_ns(core));
    }

    Weave run(std::span<const std::int64_t> start_ns) {
        std::vector<std::int64_t> wish(start_ns.begin(), start_ns.end());
        Weave best;
        std::vector<std::int64_t> met(messages_.size());
        for (unsigned iteration = 0; iteration <= options_.iterations; ++iteration) {
            Attempt attempt = weave(wish);
            attempt.weave.interval_ns = play(attempt, met);
            const std::int64_t interval = std::max<std::int64_t>(1, attempt.weave.interval_ns);
            if (iteration == 0 || attempt.weave.interval_ns < best.interval_ns) best = attempt.weave;
            for (std::size_t m = 0; m < met.size(); ++m) wish[m] = stretch(met[m] % interval, interval);
        }
        return best;
    }

private:
    /// A wish in a round of `interval` belongs earlier in the shorter round that is aimed at.
    [[nodiscard]] std::int64_t stretch(std::int64_t time, std::int64_t interval) const {
        return multiply_divide(time, std::max<std::int64_t>(1, busiest_ns_), interval);
    }

    /// Each core: computation until a message's wish is nearest, then the message.
    Attempt weave(std::span<const std::int64_t> wish) {
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
        std::vector<std::int64_t> clock;
        for (const WovenCore& core : cores_) {
            cursors.emplace_back(core);
            clock.push_back(core.fixed_ns);
        }
        attempt.tail_ns = compute_ns_;
        const auto place = [&](std::uint32_t core, std::int64_t when, std::int64_t cost, std::int64_t& lead, WeavePoint& point) {
            lead = cursors[core].advance(when - clock[core]);
            attempt.tail_ns[core] -= lead;
            point = cursors[core].point();
            clock[core] += lead + cost;
        };
        for (const std::uint32_t m : attempt.weave.order) {
            const WovenMessage& message = messages_[m];
            place(message.from.value, wish[m], send_ns(message), attempt.send_lead_ns[m], attempt.weave.send_point[m]);
            place(message.to.value, wish[m], recv_ns(message), attempt.recv_lead_ns[m], attempt.weave.recv_point[m]);
        }
        busiest_ns_ = 0;
        for (std::size_t c = 0; c < clock.size(); ++c) busiest_ns_ = std::max(busiest_ns_, clock[c] + attempt.tail_ns[c]);
        return attempt;
    }

    /// Play `rounds` rounds: because all cores follow one order, one pass over the messages per round is enough. Each core has a clock
    /// and an outgoing queue that works through requests, permissions and data one after another. `met` gets the time of each
    /// message's rendezvous in the last round; returns the interval over the last rounds.
    std::int64_t play(const Attempt& attempt, std::span<std::int64_t> met) {
        clock_.assign(cores_.size(), 0);
        queue_.assign(cores_.size(), 0);
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

    std::span<const WovenCore> cores_;
    std::span<const WovenMessage> messages_;
    WeaveOptions options_;
    std::vector<std::int64_t> compute_ns_;
    std::int64_t busiest_ns_ = 0;
    std::vector<std::int64_t> clock_;
    std::vector<std::int64_t> queue_;
};

}  // namespace

Weave weave_messages(std::span<const WovenCore> cores, std::span<const WovenMessage> messages,
                     std::span<const std::int64_t> start_ns, const WeaveOptions& options) {
    WEFT_CHECK(start_ns.size() == messages.size() && options.rounds >= 3);
    return Weaver(cores, messages, options).run(start_ns);
}

}  // namespace weft::lower_pim
