#pragma once

#include <cstdint>
#include <optional>

#include "artifact/program.h"
#include "artifact/target.h"
#include "base/id.h"
#include "kernels/kernel_table.h"
#include "pim/costs.h"

namespace weft {

/// Times of single instructions on a `pim` core with a reorder buffer of one: nanoseconds from the start of the instruction's
/// unit to the start of the next instruction's, nobody in the way (R - S + P in the terms of docs/pim-timing.md). Sizes are
/// bytes and elements of the simulator's projection (8-bit activations: one byte an element).
class PimTiming {
public:
    /// `measured` (may be null, must outlive the object): matrix and vector instructions and copies that it has, or can interpolate,
    /// take its nanoseconds; everything else the model's.
    explicit PimTiming(const Target& target, const KernelTable* measured = nullptr);

    /// sldi, setbw and the other instructions that never enter the reorder buffer: one period.
    [[nodiscard]] std::int64_t scalar_ns() const;
    [[nodiscard]] std::int64_t mvmul_ns(std::uint32_t crossbars) const;
    /// Any instruction of the vector unit on `length` elements.
    [[nodiscard]] std::int64_t vector_ns(Opcode op, std::uint32_t length) const;
    [[nodiscard]] std::int64_t copy_ns(std::uint32_t bytes) const;   // lmv
    [[nodiscard]] std::int64_t fill_ns(std::uint32_t bytes) const;   // lldi
    [[nodiscard]] std::int64_t load_ns(CoreId core, std::uint32_t bytes) const;   // ld, empty queues
    [[nodiscard]] std::int64_t store_ns(CoreId core, std::uint32_t bytes) const;  // st, empty queues
    /// Both ends arrive together and every queue is empty.
    [[nodiscard]] std::int64_t send_ns(CoreId from, CoreId to, std::uint32_t bytes) const;
    [[nodiscard]] std::int64_t recv_ns(CoreId from, CoreId to, std::uint32_t bytes) const;
    /// Time in the sender's outgoing FIFO.
    [[nodiscard]] std::int64_t network_ns(CoreId from, CoreId to, std::uint32_t bytes) const;
    /// Service time of one request at the global memory.
    /// One flit from a core to the global memory.
    [[nodiscard]] std::int64_t memory_request_ns(CoreId core) const;
    [[nodiscard]] std::int64_t memory_read_ns(std::uint32_t bytes) const;
    [[nodiscard]] std::int64_t memory_write_ns(std::uint32_t bytes) const;
    /// Columns of f32/int8 results that one crossbar gives: crossbar columns * cell bits / weight bits.
    [[nodiscard]] std::uint32_t results_per_crossbar() const;

    /// The parts in picoseconds, for who needs more than uncongested instructions.
    [[nodiscard]] const PimCosts& costs() const { return costs_; }

    /// The model's nanoseconds for a record's key; nothing where it knows no such kernel.
    [[nodiscard]] std::optional<std::int64_t> analytical_ns(const KernelKey& key) const;

private:
    [[nodiscard]] std::int64_t measured_or(const KernelKey& key, std::int64_t modelled) const;

    PimCosts costs_;
    const KernelTable* measured_;
};

/// Keys of measured instructions: "mvmul" by crossbars, "vector" [op=...] by elements, "copy" by bytes.
[[nodiscard]] KernelKey mvmul_key(std::uint64_t crossbars);
[[nodiscard]] KernelKey vector_key(Opcode op, std::uint64_t elements);
[[nodiscard]] KernelKey copy_key(std::uint64_t bytes);

}  // namespace weft
