#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "machine.h"

namespace weft {

/// Cores that messages, tokens, or the memory couple, directly or through others.
struct CoupledGroup {
    std::vector<std::uint32_t> cores;     ///< ascending; the first is the reference
    std::vector<std::uint32_t> slots;     ///< counters of these cores
    bool uses_memory = false;
};

/// Groups of the cores that communicate at all, by smallest core.
[[nodiscard]] std::vector<CoupledGroup> coupled_groups(const QueueProgram& program);

/// Watches one group at every start of its reference core's round. The machine is deterministic, so once everything that can
/// influence the group stands as it stood before, relative to the time, the future repeats what lay between.
class RecurrenceWatch {
public:
    RecurrenceWatch(const QueueProgram& program, const CoupledGroup& group) : program_(program), group_(group) {}

    /// True where the state has recurred. Call when all cores have run as far as they can and the reference's round starts.
    bool observe(const QueueMachine& machine);

    [[nodiscard]] Picoseconds span() const { return span_; }
    /// Rounds of the group's i-th core within `span`, and its waiting at the memory.
    [[nodiscard]] std::uint64_t rounds(std::size_t i) const { return last_generation(i) - earlier_generation(i); }
    [[nodiscard]] Picoseconds memory_wait(std::size_t i) const;

private:
    struct Snapshot {
        Picoseconds time = 0;
        std::size_t cores = 0;   ///< into generations_ and waits_
    };

    void describe(const QueueMachine& machine, std::vector<std::int64_t>& state) const;
    [[nodiscard]] std::uint64_t last_generation(std::size_t i) const { return generations_[snapshots_.back().cores + i]; }
    [[nodiscard]] std::uint64_t earlier_generation(std::size_t i) const { return generations_[snapshots_[earlier_].cores + i]; }

    const QueueProgram& program_;
    const CoupledGroup& group_;
    std::unordered_map<std::uint64_t, std::size_t> seen_;   // hash of a state to snapshot; only looked up
    std::vector<Snapshot> snapshots_;
    std::vector<std::uint32_t> generations_;
    std::vector<Picoseconds> waits_;
    std::vector<std::int64_t> state_;
    std::size_t earlier_ = 0;
    Picoseconds span_ = 0;
};

}  // namespace weft
