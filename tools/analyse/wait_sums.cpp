#include "wait_sums.h"

#include <algorithm>

namespace weft {

void WaitSums::add(std::uint32_t core_id, std::uint32_t generation, const EventWaits& waits) {
    if (generation < skipped_ || generation >= last_) return;
    CoreWaits& core = cores_[core_id];
    core.own_queue += static_cast<double>(waits.own_queue);
    core.partner += static_cast<double>(waits.partner);
    core.tokens += static_cast<double>(waits.tokens);
    core.memory += static_cast<double>(waits.memory);
    const Picoseconds blamed = waits.partner + waits.tokens;
    if (blamed > 0 && waits.peer != EventWaits{}.peer) blame(core_id, waits.peer, blamed);
}

void WaitSums::add_request(Picoseconds begin, Picoseconds end, Picoseconds waited) {
    ++memory_.requests;
    busy_ += end - begin;
    waited_ += static_cast<double>(waited);
    memory_.longest_wait = std::max(memory_.longest_wait, waited);
    end_ = std::max(end_, end);
}

void WaitSums::end_round(std::uint32_t core, std::uint32_t finished, Picoseconds now) {
    if (finished == skipped_) begin_[core] = now;
    if (finished <= skipped_ || finished > last_) return;
    cores_[core].rounds = finished - skipped_;
    cores_[core].round = static_cast<double>(now - begin_[core]);
}

Accounting WaitSums::finish() {
    for (std::size_t id = 0; id < cores_.size(); ++id) {
        CoreWaits& core = cores_[id];
        const double rounds = static_cast<double>(std::max<std::uint64_t>(core.rounds, 1));
        for (double* sum : {&core.round, &core.own_queue, &core.partner, &core.tokens, &core.memory}) *sum /= rounds;
        core.peers = std::move(peers_[id]);
        std::stable_sort(core.peers.begin(), core.peers.end(), [](const PeerWait& a, const PeerWait& b) { return a.wait != b.wait ? a.wait > b.wait : a.core < b.core; });
        if (core.peers.size() > peer_limit) core.peers.resize(peer_limit);
        for (PeerWait& peer : core.peers) peer.wait /= rounds;
    }
    if (memory_.requests > 0) memory_.mean_wait = waited_ / static_cast<double>(memory_.requests);
    if (end_ > 0) memory_.busy_share = static_cast<double>(busy_) / static_cast<double>(end_);
    return {std::move(cores_), memory_};
}

void WaitSums::blame(std::uint32_t core, std::uint32_t peer, Picoseconds wait) {
    auto& list = peers_[core];   // a core talks to few others
    const auto found = std::find_if(list.begin(), list.end(), [&](const PeerWait& one) { return one.core == peer; });
    if (found == list.end()) {
        list.push_back({peer, static_cast<double>(wait)});
    } else {
        found->wait += static_cast<double>(wait);
    }
}

}  // namespace weft
