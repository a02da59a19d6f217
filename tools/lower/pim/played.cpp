#include "lower/pim/played.h"

#include <algorithm>

namespace weft::lower_pim {

std::int64_t Player::play(const PlayedWeave& weave, std::span<std::int64_t> met_ns) {
    std::fill(clock_.begin(), clock_.end(), 0);
    std::fill(queue_.begin(), queue_.end(), 0);
    memory_ns_ = 0;
    std::int64_t early_finish_ns = 0;
    const unsigned warm_up = rounds_ / 3;
    for (unsigned round = 0; round < rounds_; ++round) {
        for (std::size_t c = 0; c < cores_.size(); ++c) clock_[c] += cores_[c].fixed_ns;
        for (const std::uint32_t m : weave.order) {
            const std::int64_t* lead_ns = &weave.lead_ns[sending_end(m)];
            met_ns[m] = messages_[m].is_load() ? play_load(messages_[m], *lead_ns) : play_message(messages_[m], lead_ns);
        }
        for (std::size_t c = 0; c < cores_.size(); ++c) clock_[c] += weave.tail_ns[c];
        if (round + 1 == warm_up) early_finish_ns = *std::max_element(clock_.begin(), clock_.end());
    }
    return (*std::max_element(clock_.begin(), clock_.end()) - early_finish_ns) / (rounds_ - warm_up);
}

std::int64_t Player::play_message(const WovenMessage& message, const std::int64_t* lead_ns) {
    std::int64_t& sender = clock_[message.from.index()];
    std::int64_t& receiver = clock_[message.to.index()];
    std::int64_t& sender_queue = queue_[message.from.index()];
    std::int64_t& receiver_queue = queue_[message.to.index()];
    sender += lead_ns[0];
    receiver += lead_ns[1];
    const std::int64_t rendezvous = std::max(sender, receiver);
    const std::int64_t requested = std::max(sender, sender_queue) + message.request_ns;
    receiver_queue = std::max({requested, receiver, receiver_queue}) + message.permission_ns;
    sender = receiver_queue + message.read_ns;
    sender_queue = sender + message.data_ns;
    receiver = sender_queue + message.write_ns;
    return rendezvous;
}

std::int64_t Player::play_load(const WovenMessage& load, std::int64_t lead_ns) {
    std::int64_t& core = clock_[load.from.index()];
    core += lead_ns;
    const std::int64_t start = core;
    memory_ns_ = std::max(memory_ns_, core + load.request_ns) + load.read_ns;
    core = memory_ns_ + load.write_ns;
    return start;
}

}  // namespace weft::lower_pim
