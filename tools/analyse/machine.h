#pragma once

#include <cstdint>
#include <vector>

#include "events.h"
#include "queue.h"

namespace weft {

/// Executes a QueueProgram. Cores run ahead on their own as far as they can (a rendezvous needs its partner, a wait its tokens); what
/// depends on a chip-wide order (requests at the memory, tokens of several producers, starts of rounds) is taken from a
/// heap in order of time. That order is safe: whatever an entry sets free happens later than the entry, except that a round may start
/// with a request at once, so starts of rounds come first.
class QueueMachine {
public:
    enum class Status : std::uint8_t { Running, Parked, Send, Recv, Wait, Memory, Idle };

    struct Core {
        Picoseconds ready = 0;        ///< earliest start of what follows
        Picoseconds start = 0;        ///< of the event in which the core stands
        Picoseconds switch_free = 0;
        Picoseconds arrival = 0;      ///< of its request at the memory
        std::uint32_t event = 0;
        std::uint32_t event_end = 0;
        std::uint32_t segment = 0;
        std::uint32_t trips_left = 0;
        std::uint32_t segment_end = 0;
        Status status = Status::Idle;
        std::uint32_t generation = 0;
        Picoseconds memory_wait = 0;
    };

    /// Tokens that have arrived and were not taken, oldest first from `head`.
    struct Slot {
        std::vector<Picoseconds> tokens;
        std::size_t head = 0;
        std::int64_t credit = 0;      ///< given by waits for less than nothing
        [[nodiscard]] std::size_t size() const { return tokens.size() - head; }
    };

    /// One event as it happened. The waits are what it took longer than alone, by cause.
    struct Record {
        std::uint32_t core = 0;
        std::uint32_t event = 0;
        std::uint32_t generation = 0;
        std::uint32_t peer = none;         ///< whom `partner` and `tokens` blame
        Picoseconds start = 0;
        Picoseconds end = 0;               ///< of the activity
        Picoseconds ready = 0;             ///< the next one can start
        Picoseconds own_queue = 0;         ///< behind own messages in the own switch
        Picoseconds partner = 0;           ///< for the other core to get there, its switch included
        Picoseconds tokens = 0;            ///< for the token that was missing
        Picoseconds memory = 0;            ///< in the global memory's queue
        Picoseconds message_begin = 0;     ///< send: data in the own switch; load, store: service at the memory
        Picoseconds message_end = 0;
    };

    struct Entry {
        Picoseconds time;
        std::uint32_t rank;           ///< kind, then order within the kind
    };

    QueueMachine(const QueueProgram& program, TieOrder ties);

    /// Take the earliest entry. Returns the core whose round starts, `none` for other entries, `exhausted` where nothing is left.
    static constexpr std::uint32_t none = 0xffffffffU;
    static constexpr std::uint32_t exhausted = 0xfffffffeU;
    std::uint32_t take_entry();
    /// Let `core` start its next round (after take_entry returned it) and run as far as possible.
    void start_round(std::uint32_t core);

    /// From now on every event is noted in `records`, which the caller empties as it likes.
    void record_to(std::vector<Record>* records) { records_ = records; }

    [[nodiscard]] const std::vector<Core>& cores() const { return cores_; }
    [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
    [[nodiscard]] const std::vector<Entry>& entries() const { return heap_; }
    /// The token slot of a heap entry, or none.
    [[nodiscard]] static std::uint32_t token_slot(const Entry& entry) { return (entry.rank & kind_mask) == kind_token ? entry.rank & ~kind_mask : none; }
    [[nodiscard]] Picoseconds now() const { return now_; }
    [[nodiscard]] Picoseconds memory_free() const { return memory_free_; }
    [[nodiscard]] Picoseconds maximum_request_wait() const { return maximum_request_wait_; }
    [[nodiscard]] std::uint64_t events() const { return events_; }
    [[nodiscard]] bool ties() const { return ties_seen_; }

private:
    static constexpr std::uint32_t kind_mask = 3U << 30U;
    static constexpr std::uint32_t kind_round = 0U << 30U;
    static constexpr std::uint32_t kind_token = 1U << 30U;
    static constexpr std::uint32_t kind_memory = 2U << 30U;

    void push(Picoseconds time, std::uint32_t rank);
    void enter_segment(Core& core, std::uint32_t segment);
    bool next_event(std::uint32_t id);
    void run_ready();
    bool execute(std::uint32_t id);
    void meet(Core& sender, Core& receiver);
    void request(std::uint32_t id, const QueueEvent& event);
    void serve(std::uint32_t id);
    void post(std::uint32_t id, const QueueEvent& event);
    void commit(std::uint32_t slot, Picoseconds time);
    bool take_tokens(Core& core, const QueueEvent& event);
    void complete(Core& core, Picoseconds end, bool late);
    Record& note(const Core& core, Picoseconds end);
    void note_rendezvous(const Core& sender, const Core& receiver, Picoseconds requested, Picoseconds permitted, Picoseconds read, Picoseconds delivered);

    const QueueProgram& program_;
    TieOrder tie_order_;
    Picoseconds period_;
    std::vector<Core> cores_;
    std::vector<Slot> slots_;
    std::vector<Entry> heap_;
    std::vector<std::uint32_t> ready_;
    Picoseconds now_ = 0;
    Picoseconds memory_free_ = 0;
    Picoseconds last_arrival_ = -1;
    Picoseconds maximum_request_wait_ = 0;
    std::uint64_t events_ = 0;
    bool ties_seen_ = false;
    std::vector<Record>* records_ = nullptr;
};

}  // namespace weft
