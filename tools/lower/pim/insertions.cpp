#include <algorithm>

#include "base/checked.h"
#include "lower/pim/core_work.h"
#include "lower/pim/exchange.h"
#include "lower/pim/touch.h"
#include "pim/kernel.h"

namespace weft::lower_pim {
namespace {

std::int64_t compute_ns(const SlotWork& slot) {
    std::int64_t ns = 0;
    for (std::size_t i = 0; i < slot.trip_ns.size(); ++i) ns += slot.trip_ns[i] * slot.operations.loops()[i].trips;
    return ns;
}

/// The loop boundary or repetition nearest to `span_ns` of computation, not beyond the start of loop `last_loop`.
WeavePoint point_after(const SlotWork& slot, std::int64_t span_ns, std::uint32_t last_loop) {
    const auto loops = slot.operations.loops();
    for (std::uint32_t l = 0; l < std::min<std::size_t>(loops.size(), last_loop); ++l) {
        const std::int64_t whole = slot.trip_ns[l] * loops[l].trips;
        if (span_ns < whole) return {l, static_cast<std::uint32_t>(span_ns / slot.trip_ns[l])};
        span_ns -= whole;
    }
    return {static_cast<std::uint32_t>(std::min<std::size_t>(loops.size(), last_loop)), 0};
}

class Placer {
public:
    Placer(const Tasks& tasks, const ActorPlan& plan, const Target& target, const PimTiming& timing, const MemoryPlan& memory,
           ChipWork& work)
        : tasks_(tasks), plan_(plan), target_(target), timing_(timing), memory_(memory), work_(work) {}

    void run() {
        std::vector<std::vector<std::uint32_t>> by_slot(plan_.slots_per_round);
        for (std::uint32_t t = 0; t < plan_.transfers.size(); ++t) {
            if (is_message(plan_.transfers[t])) by_slot[plan_.transfers[t].slot].push_back(t);
        }
        if (plan_.exchange == ExchangePolicy::Burst) {
            burst(by_slot);
            place_loads();
        } else {
            weave(by_slot[0]);
        }
    }

private:
    [[nodiscard]] CoreId from(const Transfer& transfer) const { return plan_.outputs[transfer.source].core; }
    [[nodiscard]] CoreId to(const Transfer& transfer) const { return plan_.inputs[transfer.target].core; }
    [[nodiscard]] bool is_message(const Transfer& transfer) const {
        return transfer.source != no_id && from(transfer) != to(transfer);
    }

    [[nodiscard]] std::int64_t loads_ns(CoreId core, const SlotWork& slot) const {
        std::int64_t ns = 0;
        for (const std::uint32_t t : slot.loads) ns += timing_.load_ns(core, transfer_elems(tasks_, plan_, plan_.transfers[t]));
        return ns;
    }

    /// Delay buffers and copies within the core: what stands at the start of a slot.
    [[nodiscard]] std::int64_t fixed_ns(const SlotWork& slot) const {
        std::int64_t ns = 0;
        for (const std::uint32_t input : slot.delayed) {
            const RowBuffer& buffer = plan_.inputs[input];
            for (const PositionSpan& span : std::span(plan_.spans).subspan(buffer.first_span, buffer.span_count)) {
                ns += memory_.stages[input] * timing_.copy_ns(span_elems(tasks_.tensors[buffer.tensor.index()], span));
            }
        }
        for (const std::uint32_t t : slot.local) ns += timing_.copy_ns(transfer_elems(tasks_, plan_, plan_.transfers[t]));
        return ns;
    }

    [[nodiscard]] std::vector<Message> messages_of(std::span<const std::uint32_t> transfers) const {
        std::vector<Message> messages;
        for (const std::uint32_t t : transfers) {
            const Transfer& transfer = plan_.transfers[t];
            const std::uint32_t bytes = transfer_elems(tasks_, plan_, transfer);
            messages.push_back({from(transfer), to(transfer), timing_.send_ns(from(transfer), to(transfer), bytes),
                                timing_.recv_ns(from(transfer), to(transfer), bytes)});
        }
        return messages;
    }

    /// Every slot's messages at its start, in the order of a chip-wide list schedule that knows when each core gets there.
    void burst(std::span<const std::vector<std::uint32_t>> by_slot) {
        std::vector<std::int64_t> ready(target_.core_count, 0);
        for (std::uint32_t slot = 0; slot < plan_.slots_per_round; ++slot) {
            // With one slot per round a core comes to the exchange after its computation of the round before.
            const std::uint32_t before = (slot + plan_.slots_per_round - 1) % plan_.slots_per_round;
            for (std::uint32_t c = 0; c < target_.core_count; ++c) {
                ready[c] += compute_ns(work_.at(CoreId(c), before)) + fixed_ns(work_.at(CoreId(c), slot)) +
                            loads_ns(CoreId(c), work_.at(CoreId(c), slot));
            }
            for (const OrderedMessage& message : order_exchange(messages_of(by_slot[slot]), ready)) {
                const std::uint32_t t = by_slot[slot][message.index];
                work_.at(from(plan_.transfers[t]), slot).insertions.push_back({{0, 0}, t, no_id});
                work_.at(to(plan_.transfers[t]), slot).insertions.push_back({{0, 0}, t, no_id});
            }
        }
    }

    [[nodiscard]] WovenMessage woven_message(const Transfer& transfer) const {
        const CoreId a = from(transfer);
        const CoreId b = to(transfer);
        const std::uint32_t bytes = transfer_elems(tasks_, plan_, transfer);
        WovenMessage message;
        message.from = a;
        message.to = b;
        message.request_ns = timing_.network_ns(a, b, 1);
        message.permission_ns = timing_.network_ns(b, a, 1);
        message.data_ns = timing_.network_ns(a, b, bytes);
        message.read_ns = timing_.send_ns(a, b, bytes) - message.request_ns - message.permission_ns;
        message.write_ns = timing_.recv_ns(a, b, bytes) - timing_.send_ns(a, b, bytes) - message.data_ns;
        return message;
    }

    [[nodiscard]] WovenMessage woven_load(const Transfer& transfer) const {
        const std::uint32_t bytes = transfer_elems(tasks_, plan_, transfer);
        WovenMessage load;
        load.from = to(transfer);
        load.read_ns = timing_.memory_read_ns(bytes);
        load.request_ns = timing_.memory_request_ns(load.from);
        load.write_ns = timing_.load_ns(load.from, bytes) - load.request_ns - load.read_ns;
        return load;
    }

    [[nodiscard]] WovenMessage woven_store(CoreId core, const StoreSpan& store) const {
        const RowBuffer& buffer = plan_.outputs[store.output];
        const std::uint32_t bytes = span_elems(tasks_.tensors[buffer.tensor.index()], store.span);
        WovenMessage message;
        message.from = core;
        message.read_ns = timing_.memory_write_ns(bytes);
        message.request_ns = timing_.store_ns(core, bytes) - message.read_ns;
        return message;
    }

    /// Buffers that exist once: when computation touches what a message moves. What passes a delay buffer arrives there between two rounds'
    /// handing on, whatever the computation does, but has to leave early: late, it would be a round too new. So would a load.
    void set_touches(std::span<const std::uint32_t> transfers, std::span<WovenMessage> messages) const {
        std::vector<TouchIndex> cores;
        for (std::uint32_t c = 0; c < target_.core_count; ++c) cores.emplace_back(work_.at(CoreId(c), 0).operations, work_.groups[c]);
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            const Transfer& transfer = plan_.transfers[transfers[i]];
            const TaskTensor& tensor = tasks_.tensors[plan_.inputs[transfer.target].tensor.index()];
            const auto elems = static_cast<std::int32_t>(transfer_elems(tasks_, plan_, transfer));
            const auto touch = [&](CoreId core, RowAddress rows) {
                return cores[core.index()].of(position_address(rows, tensor, transfer.span.first), elems);
            };
            const bool delayed = transfer.delays != 0;
            const Touch arrival = delayed ? Touch{{no_id, 0}, {0, 0}} : touch(to(transfer), memory_.inputs[transfer.target]);
            WovenMessage& message = messages[i];
            if (message.is_load()) {
                message.send_first = arrival.first;
                continue;
            }
            const Touch departure = touch(from(transfer), memory_.outputs[transfer.source]);
            message.recv_first = arrival.first;
            message.recv_last = arrival.last;
            message.send_first = departure.first;
            message.send_last = departure.last;
            message.may_be_late = !delayed;
        }
    }

    void weave(std::span<const std::uint32_t> transfers) {
        std::vector<WovenCore> cores(target_.core_count);
        for (std::uint32_t c = 0; c < target_.core_count; ++c) {
            const SlotWork& slot = work_.at(CoreId(c), 0);
            cores[c].fixed_ns = fixed_ns(slot);
            for (std::size_t l = 0; l < slot.trip_ns.size(); ++l) {
                const OperationList::Loop& loop = slot.operations.loops()[l];
                cores[c].loops.push_back({loop.trips, slot.trip_ns[l], loop.first, loop.count});
            }
            cores[c].op_ns = slot.op_ns;
        }
        std::vector<WovenMessage> messages;
        std::vector<std::uint32_t> all(transfers.begin(), transfers.end());
        for (const std::uint32_t t : transfers) messages.push_back(woven_message(plan_.transfers[t]));
        // First wish: where a burst exchange would start each message, and loads and stores one after another all through it.
        std::vector<std::int64_t> ready(target_.core_count, 0);
        for (std::uint32_t c = 0; c < target_.core_count; ++c) ready[c] = cores[c].fixed_ns + compute_ns(work_.at(CoreId(c), 0));
        std::vector<std::int64_t> wish(messages.size(), 0);
        for (const OrderedMessage& message : order_exchange(messages_of(transfers), ready)) wish[message.index] = message.start_ns;
        const std::int64_t end = *std::max_element(ready.begin(), ready.end());
        for (std::uint32_t c = 0; c < target_.core_count; ++c) {
            const auto& loads = work_.at(CoreId(c), 0).loads;
            all.insert(all.end(), loads.begin(), loads.end());
        }
        for (std::size_t i = transfers.size(); i < all.size(); ++i) messages.push_back(woven_load(plan_.transfers[all[i]]));
        std::vector<std::pair<CoreId, std::uint32_t>> stores;
        for (std::uint32_t c = 0; c < target_.core_count; ++c) {
            const auto& own = work_.at(CoreId(c), 0).stores;
            for (std::uint32_t s = 0; s < own.size(); ++s) {
                stores.emplace_back(c, s);
                messages.push_back(woven_store(CoreId(c), own[s]));
            }
        }
        const auto requests = static_cast<std::int64_t>(messages.size() - transfers.size());
        for (std::int64_t i = 0; i < requests; ++i) wish.push_back(multiply_divide(end, i, requests));
        if (plan_.exchange == ExchangePolicy::Sided) set_touches(all, messages);
        const Weave woven = weave_messages(cores, messages, wish, {});
        for (const std::uint32_t index : woven.order) {
            if (index >= all.size()) {
                const auto [core, store] = stores[index - all.size()];
                work_.at(core, 0).insertions.push_back({woven.send_point[index], no_id, store});
                continue;
            }
            const Transfer& transfer = plan_.transfers[all[index]];
            if (messages[index].is_load()) {
                work_.at(to(transfer), 0).insertions.push_back({woven.send_point[index], all[index], no_id});
                continue;
            }
            work_.at(from(transfer), 0).insertions.push_back({woven.send_point[index], all[index], no_id});
            work_.at(to(transfer), 0).insertions.push_back({woven.recv_point[index], all[index], no_id});
        }
    }

    /// The k-th of n loading cores loads after k/n of the time it has before the data are needed.
    void place_loads() {
        for (std::uint32_t s = 0; s < plan_.slots_per_round; ++s) {
            std::uint32_t loading = 0;
            for (std::uint32_t c = 0; c < target_.core_count; ++c) loading += work_.at(CoreId(c), s).loads.empty() ? 0U : 1U;
            std::uint32_t turn = 0;
            for (std::uint32_t c = 0; c < target_.core_count; ++c) {
                SlotWork& slot = work_.at(CoreId(c), s);
                if (slot.loads.empty()) continue;
                // Data that a delay buffer keeps for the next round may come at any time of this one.
                const bool needed_now = std::any_of(slot.loads.begin(), slot.loads.end(),
                                                    [&](std::uint32_t t) { return plan_.transfers[t].delays == 0; });
                const std::uint32_t last = needed_now ? slot.first_loading_loop : no_id;
                std::int64_t before = 0;
                for (std::uint32_t l = 0; l < std::min<std::size_t>(slot.trip_ns.size(), last); ++l) {
                    before += slot.trip_ns[l] * slot.operations.loops()[l].trips;
                }
                const WeavePoint point = point_after(slot, multiply_divide(before, turn++, loading), last);
                const auto at = std::upper_bound(slot.insertions.begin(), slot.insertions.end(), point,
                                                 [](const WeavePoint& p, const Insertion& insertion) { return p < insertion.point; });
                std::vector<Insertion> loads;
                for (const std::uint32_t t : slot.loads) loads.push_back({point, t, no_id});
                slot.insertions.insert(at, loads.begin(), loads.end());
            }
        }
    }

    const Tasks& tasks_;
    const ActorPlan& plan_;
    const Target& target_;
    const PimTiming& timing_;
    const MemoryPlan& memory_;
    ChipWork& work_;
};

}  // namespace

void place_insertions(const Tasks& tasks, const ActorPlan& plan, const Target& target, const PimTiming& timing,
                      const MemoryPlan& memory, ChipWork& work) {
    Placer(tasks, plan, target, timing, memory, work).run();
}

}  // namespace weft::lower_pim
