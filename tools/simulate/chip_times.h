#pragma once

#include <cstdint>

#include "artifact/program.h"
#include "artifact/target.h"

namespace weft {

/// Simulated time: picoseconds, the simulator's resolution.
using Picoseconds = std::int64_t;

/// Durations of a `pim` chip's parts, straight from docs/pim-timing.md §4 to §6. weft-simulate has its own, so that it and
/// weft-analyse stay two independent answers.
class ChipTimes {
public:
    explicit ChipTimes(const Target& target);

    [[nodiscard]] Picoseconds period() const { return period_; }
    /// First clock edge at or after `time`.
    [[nodiscard]] Picoseconds edge_at_or_after(Picoseconds time) const { return (time + period_ - 1) / period_ * period_; }
    [[nodiscard]] bool on_edge(Picoseconds time) const { return time % period_ == 0; }

    [[nodiscard]] Picoseconds local_read(std::int64_t bytes) const;
    [[nodiscard]] Picoseconds local_write(std::int64_t bytes) const;
    [[nodiscard]] Picoseconds memory_read(std::int64_t bytes) const;
    [[nodiscard]] Picoseconds memory_write(std::int64_t bytes) const;
    /// Arithmetic of one vector instruction on `length` elements.
    [[nodiscard]] Picoseconds vector_compute(std::int64_t length) const;
    /// Crossbar work of one mvmul with inputs of `input_bits`.
    [[nodiscard]] Picoseconds matrix_compute(std::int64_t input_bits) const;
    /// Bytes that an mvmul reads and writes.
    [[nodiscard]] std::int64_t matrix_read_bytes(std::int64_t input_bytes) const;
    [[nodiscard]] std::int64_t matrix_write_bytes(std::int64_t weight_bits, std::int64_t output_bytes, std::int64_t crossbars) const;
    /// Results of one crossbar: columns * cell bits / weight bits, rounded down.
    [[nodiscard]] std::int64_t results_per_crossbar(std::int64_t weight_bits) const;
    /// Time of one message in its sender's outgoing queue; `destination` may be memory_switch().
    [[nodiscard]] Picoseconds network(std::uint32_t source, std::uint32_t destination, std::int64_t bytes) const;
    [[nodiscard]] std::uint32_t memory_switch() const { return core_count_; }

private:
    PimCore core_;
    PimMemory memory_;
    std::int64_t bus_width_;
    std::uint32_t core_count_;
    std::span<const std::uint32_t> link_ps_;
    Picoseconds period_;
};

}  // namespace weft
