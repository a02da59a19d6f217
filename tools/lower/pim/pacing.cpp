#include "lower/pim/pacing.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "lower/pim/circular.h"
#include "lower/pim/loop_cursor.h"

namespace weft::lower_pim {
namespace {

/// For each end of each message the point that its core must not pass before it: the first touch of its data and of the early ones behind it;
/// `at_start`: the round's start, except for loads.
std::vector<WeavePoint> side_limits(std::size_t core_count, std::span<const WovenMessage> messages, std::span<const std::uint32_t> order,
                                    std::span<const char> late, bool at_start) {
    std::vector<WeavePoint> limits(2 * messages.size(), {no_id, 0});
    std::vector<WeavePoint> core_limit(core_count, {no_id, 0});
    for (auto m = order.rbegin(); m != order.rend(); ++m) {
        const WovenMessage& message = messages[*m];
        const bool pinned = at_start && !message.is_load();
        WeavePoint& from = core_limit[message.from.index()];
        if (late[*m] == 0) from = std::min(from, pinned ? WeavePoint{0, 0} : message.send_first);
        limits[sending_end(*m)] = from;
        if (message.is_load()) continue;
        WeavePoint& to = core_limit[message.to.index()];
        if (late[*m] == 0) to = std::min(to, pinned ? WeavePoint{0, 0} : message.recv_first);
        limits[receiving_end(*m)] = to;
    }
    return limits;
}

class Pacer {
public:
    Pacer(std::span<const WovenCore> cores, std::span<const WovenMessage> messages, std::span<const RoundWork> work, const Wishes& wishes,
          std::int64_t interval_ns, Pacing pacing, bool at_start)
        : messages_(messages), wishes_(wishes), pacing_(pacing) {
        weave_.order.resize(messages.size());
        std::iota(weave_.order.begin(), weave_.order.end(), 0U);
        std::stable_sort(weave_.order.begin(), weave_.order.end(), [&](std::uint32_t a, std::uint32_t b) { return wishes.start_ns[a] < wishes.start_ns[b]; });
        weave_.point.resize(2 * messages.size());
        weave_.lead_ns.resize(2 * messages.size());
        limits_ = side_limits(cores.size(), messages, weave_.order, wishes.late, at_start);
        for (std::size_t c = 0; c < cores.size(); ++c) {
            weave_.tail_ns.push_back(work[c].compute_ns);
            const std::int64_t room_ns = std::max(work[c].compute_ns, interval_ns - cores[c].fixed_ns - work[c].exchange_ns);
            states_.push_back({LoopCursor(cores[c]), cores[c].fixed_ns, 0, cores[c].fixed_ns, work[c].compute_ns, std::max<std::int64_t>(1, room_ns)});
        }
    }

    PlayedWeave run() {
        for (const std::uint32_t m : weave_.order) messages_[m].is_load() ? load(m) : meet(m);
        return std::move(weave_);
    }

private:
    struct CoreState {
        LoopCursor cursor;
        std::int64_t clock_ns = 0;
        std::int64_t queue_ns = 0;          ///< when its outgoing queue is empty
        std::int64_t exchanged_ns = 0;      ///< fixed work and messages so far
        std::int64_t compute_ns = 0;
        std::int64_t room_ns = 1;           ///< what the round leaves for computation
    };

    /// Whole operations of up to `span_ns`, or as many as it takes to be behind `from`.
    void compute(std::uint32_t end, CoreId core, std::int64_t span_ns, WeavePoint from) {
        CoreState& state = states_[core.index()];
        const WeavePoint limit = limits_[end];
        weave_.legal = weave_.legal && from <= limit;
        const std::int64_t lead_ns = state.cursor.advance(span_ns, limit) + state.cursor.reach(std::min(from, limit));
        weave_.legal = weave_.legal && state.cursor.point() <= limit;
        weave_.tail_ns[core.index()] -= lead_ns;
        weave_.lead_ns[end] += lead_ns;
        state.clock_ns += lead_ns;
        weave_.point[end] = state.cursor.point();
    }

    /// The core's share of its computation before `when_ns`, less what is done.
    [[nodiscard]] std::int64_t share_ns(CoreId core, std::int64_t when_ns) const {
        const CoreState& state = states_[core.index()];
        const std::int64_t before_ns = std::max<std::int64_t>(0, when_ns - state.exchanged_ns);
        const std::int64_t share_ns = multiply_divide(before_ns, state.compute_ns, state.room_ns) - (state.compute_ns - weave_.tail_ns[core.index()]);
        return pacing_ == Pacing::share ? share_ns : std::min(share_ns, when_ns - state.clock_ns);
    }

    void load(std::uint32_t m) {
        const WovenMessage& message = messages_[m];
        CoreState& state = states_[message.from.index()];
        const WeavePoint from = wishes_.late[m] != 0 ? message.send_last : WeavePoint{};
        compute(sending_end(m), message.from, share_ns(message.from, wishes_.start_ns[m]), from);
        const std::int64_t start_ns = std::max(memory_ns_, state.clock_ns + message.request_ns);
        compute(sending_end(m), message.from, start_ns - message.request_ns - state.clock_ns, from);
        memory_ns_ = start_ns + message.read_ns;
        state.clock_ns = memory_ns_ + message.write_ns;
        state.exchanged_ns += send_ns(message);
    }

    void meet(std::uint32_t m) {
        const WovenMessage& message = messages_[m];
        CoreState& sender = states_[message.from.index()];
        CoreState& receiver = states_[message.to.index()];
        const bool late = wishes_.late[m] != 0;
        const WeavePoint send_from = late ? message.send_last : WeavePoint{};
        const WeavePoint recv_from = late ? message.recv_last : WeavePoint{};
        compute(sending_end(m), message.from, share_ns(message.from, wishes_.start_ns[m]), send_from);
        compute(receiving_end(m), message.to, share_ns(message.to, wishes_.start_ns[m]), recv_from);
        const std::int64_t requested_ns = std::max(sender.clock_ns, sender.queue_ns) + message.request_ns;
        const std::int64_t granted_ns = std::max({requested_ns, receiver.clock_ns, receiver.queue_ns});
        compute(sending_end(m), message.from, granted_ns - message.request_ns - sender.clock_ns, send_from);
        compute(receiving_end(m), message.to, granted_ns - receiver.clock_ns, recv_from);
        receiver.queue_ns = granted_ns + message.permission_ns;
        sender.clock_ns = receiver.queue_ns + message.read_ns;
        sender.queue_ns = sender.clock_ns + message.data_ns;
        receiver.clock_ns = sender.queue_ns + message.write_ns;
        sender.exchanged_ns += send_ns(message);
        receiver.exchanged_ns += recv_ns(message);
    }

    std::span<const WovenMessage> messages_;
    const Wishes& wishes_;
    Pacing pacing_;
    PlayedWeave weave_;
    std::vector<WeavePoint> limits_;            // per end
    std::vector<CoreState> states_;
    std::int64_t memory_ns_ = 0;                // when the global memory is free
};

}  // namespace

PlayedWeave pace_computation(std::span<const WovenCore> cores, std::span<const WovenMessage> messages, std::span<const RoundWork> work, const Wishes& wishes,
                             std::int64_t interval_ns, Pacing pacing, bool at_start) {
    return Pacer(cores, messages, work, wishes, interval_ns, pacing, at_start).run();
}

}  // namespace weft::lower_pim
