#include "lower/pim/weave.h"

#include <algorithm>

#include "base/checked.h"
#include "base/random.h"
#include "lower/pim/circular.h"
#include "lower/pim/pacing.h"

namespace weft::lower_pim {
namespace {

std::int64_t compute_ns(const WovenCore& core) {
    std::int64_t ns = 0;
    for (const WovenLoop& loop : core.loops) ns += loop.trip_ns * loop.trips;
    return ns;
}

class Weaver {
public:
    Weaver(std::span<const WovenCore> cores, std::span<const WovenMessage> messages, const WeaveOptions& options)
        : cores_(cores), messages_(messages), options_(options), player_(cores, messages, options.rounds), met_(messages.size(), 0),
          trial_met_(messages.size(), 0) {
        for (const WovenCore& core : cores) work_.push_back({compute_ns(core), 0});
        for (const WovenMessage& message : messages) {
            work_[message.from.index()].exchange_ns += send_ns(message);
            if (!message.is_load()) work_[message.to.index()].exchange_ns += recv_ns(message);
        }
        for (std::size_t c = 0; c < cores.size(); ++c) {
            busiest_ns_ = std::max(busiest_ns_, cores[c].fixed_ns + work_[c].compute_ns + work_[c].exchange_ns);
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
        if (sided) return best();
        // Where the messages of the best attempt so far really met, in a round as short as the busiest core allows.
        for (unsigned iteration = 0; iteration < options_.iterations; ++iteration) {
            const std::int64_t interval = std::max<std::int64_t>(1, last_interval_ns_);
            for (std::size_t m = 0; m < met.size(); ++m) {
                wishes.start_ns[m] = multiply_divide(met[m] % interval, std::max<std::int64_t>(1, busiest_ns_), interval);
            }
            attempt(wishes, busiest_ns_);
            met = met_;
        }
        return best();
    }

private:
    [[nodiscard]] Weave best() const {
        Weave weave{best_.order, {}, {}, best_.interval_ns};
        for (std::uint32_t m = 0; m < messages_.size(); ++m) {
            weave.send_point.push_back(best_.point[sending_end(m)]);
            weave.recv_point.push_back(best_.point[receiving_end(m)]);
        }
        return weave;
    }

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

    /// Weave and play, at either pace; true where that gave the best so far. met_ is then the best one's, else the last one's.
    bool attempt(const Wishes& wishes, std::int64_t interval_ns, bool at_start = false) {
        bool better = false;
        for (const Pacing pacing : {Pacing::schedule, Pacing::share}) {
            PlayedWeave trial = pace_computation(cores_, messages_, work_, wishes, interval_ns, pacing, at_start);
            if (!trial.legal) continue;
            trial.interval_ns = player_.play(trial, trial_met_);
            if (best_.interval_ns != 0 && trial.interval_ns >= best_.interval_ns) {
                if (better) continue;
                last_interval_ns_ = trial.interval_ns;
                std::swap(met_, trial_met_);
                continue;
            }
            better = true;
            last_interval_ns_ = trial.interval_ns;
            std::swap(met_, trial_met_);
            best_ = std::move(trial);
        }
        return better;
    }

    std::span<const WovenCore> cores_;
    std::span<const WovenMessage> messages_;
    WeaveOptions options_;
    std::vector<RoundWork> work_;            // per core
    Player player_;
    std::vector<std::int64_t> met_;          // per message: when it met in the last attempt
    std::vector<std::int64_t> trial_met_;
    std::vector<std::int64_t> best_met_;     // and in the best variation
    std::int64_t busiest_ns_ = 0;
    std::int64_t last_interval_ns_ = 0;
    PlayedWeave best_;
};

}  // namespace

Weave weave_messages(std::span<const WovenCore> cores, std::span<const WovenMessage> messages,
                     std::span<const std::int64_t> start_ns, const WeaveOptions& options) {
    WEFT_CHECK(start_ns.size() == messages.size() && options.rounds >= 3);
    return Weaver(cores, messages, options).run(start_ns);
}

}  // namespace weft::lower_pim
