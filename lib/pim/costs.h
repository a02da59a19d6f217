#pragma once

#include <cstdint>
#include <vector>

#include "artifact/program.h"
#include "artifact/target.h"

namespace weft {

/// Picoseconds: the resolution at which the simulator keeps time. Every single wait is rounded to it.
using Picoseconds = std::int64_t;

/// Times beyond this saturate; who adds them up must compare (53 days).
inline constexpr Picoseconds picoseconds_limit = Picoseconds{1} << 62U;

/// Bit widths that the last setbw of a core left behind; a core starts with none.
struct BitWidths {
    std::uint32_t input_bits = 0;
    std::uint32_t output_bits = 0;
    [[nodiscard]] std::uint64_t input_bytes() const { return (std::uint64_t{input_bits} + 7) / 8; }
    [[nodiscard]] std::uint64_t output_bytes() const { return (std::uint64_t{output_bits} + 7) / 8; }
    bool operator==(const BitWidths&) const = default;
};

/// What a unit does from its start to its end. The end is noticed at the first clock edge at or after it; where it falls on an
/// edge and `late` holds, at the next. The simulator sets the event of each edge one period ahead: a last step that was set
/// later than that (it lasts at most a period) comes after the edge.
struct Activity {
    Picoseconds duration = 0;
    bool late = false;
};

/// The steps of one vector or matrix instruction: `reads` accesses of `read` each, computation, one access of `write`.
struct UnitSteps {
    Picoseconds read = 0;
    std::uint32_t reads = 1;
    Picoseconds compute = 0;
    Picoseconds write = 0;
};

/// The parts from which instruction times are made on a `pim` chip: local and global memory, network, units. All results
/// are durations of the activity alone, without issue, retirement and waiting. Source: docs/pim-timing.md.
class PimCosts {
public:
    /// Refuses targets of another family and zero clock periods, widths, or bus.
    explicit PimCosts(const Target& target);

    [[nodiscard]] Picoseconds period() const { return period_; }
    [[nodiscard]] std::uint32_t core_count() const { return core_count_; }
    [[nodiscard]] std::uint32_t memory_switch() const { return core_count_; }
    [[nodiscard]] BitWidths native_widths() const { return {activation_bits_, activation_bits_}; }
    [[nodiscard]] std::uint32_t weight_bits() const { return weight_bits_; }

    [[nodiscard]] Picoseconds local_read(std::uint64_t bytes) const;
    [[nodiscard]] Picoseconds local_write(std::uint64_t bytes) const;
    [[nodiscard]] Picoseconds memory_read(std::uint64_t bytes) const;
    [[nodiscard]] Picoseconds memory_write(std::uint64_t bytes) const;
    /// True where a last step of this length, begun after its edge, is noticed late.
    [[nodiscard]] bool late_after(Picoseconds step) const { return step <= period_; }
    [[nodiscard]] Activity copy(std::uint64_t bytes) const;   // lmv
    [[nodiscard]] Activity fill(std::uint64_t bytes) const;   // lldi
    /// Reads, computation and write of one vector instruction.
    [[nodiscard]] Activity vector(Opcode op, std::uint64_t elements, BitWidths widths) const;
    /// Input read, conversion and result write, from the start of the array group. `weight_bits` > 0.
    [[nodiscard]] Activity mvmul(std::uint64_t crossbars, std::uint32_t weight_bits, BitWidths widths) const;
    [[nodiscard]] UnitSteps vector_steps(Opcode op, std::uint64_t elements, BitWidths widths) const;
    [[nodiscard]] UnitSteps mvmul_steps(std::uint64_t crossbars, std::uint32_t weight_bits, BitWidths widths) const;
    [[nodiscard]] std::uint32_t crossbar_rows() const { return core_.crossbar_rows; }
    /// Time in the source's outgoing FIFO; whole nanoseconds, every flit pays the full latency. Switch `core_count` is the memory.
    [[nodiscard]] Picoseconds network(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const;
    [[nodiscard]] std::uint64_t results_per_crossbar(std::uint32_t weight_bits) const;

    /// Start of a unit to the start of the next instruction's: until noticed, one clock to retire, one to start.
    [[nodiscard]] Picoseconds unit_time(Activity activity) const;

private:
    struct Port {
        std::uint64_t width_bytes = 1;
        std::uint64_t period_fs = 0;
        std::uint64_t read_cycles = 0;
        std::uint64_t write_cycles = 0;
    };
    [[nodiscard]] static Picoseconds access(const Port& port, std::uint64_t bytes, std::uint64_t cycles);
    [[nodiscard]] Activity with_write(Picoseconds computed, Picoseconds write) const;
    [[nodiscard]] std::int64_t matrix_cycles(std::uint32_t input_bits) const;

    Picoseconds period_ = 0;
    std::uint32_t core_count_ = 0;
    std::uint32_t activation_bits_ = 0;
    std::uint32_t weight_bits_ = 0;
    std::uint64_t bus_width_bytes_ = 1;
    PimCore core_;
    Port local_;
    Port memory_;
    std::vector<std::uint32_t> link_latency_ps_;
};

/// True for the opcodes of the vector unit.
[[nodiscard]] bool is_vector(Opcode op);
/// True for sldi, setbw and the others that never enter the reorder buffer.
[[nodiscard]] bool is_scalar(Opcode op);

}  // namespace weft
