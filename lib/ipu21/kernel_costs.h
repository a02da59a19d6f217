#pragma once

#include <cstdint>
#include <optional>

#include "artifact/tasks.h"
#include "artifact/target.h"
#include "kernels/kernel_table.h"

namespace weft::ipu21 {

/// A tile-local cost and where it comes from.
struct KernelCost {
    std::uint64_t cycles = 0;
    CostSource source = CostSource::Analytical;
    std::uint32_t error_ppm = 0;
};

/// One call of the matrix kernel on a tile: `rows` x `inner` times `inner` x `columns`.
struct GemmCall {
    std::uint32_t rows = 0;
    std::uint32_t inner = 0;
    std::uint32_t columns = 0;
    std::uint32_t elem_bytes = 2;
    bool interleaved = true;      ///< weights are loaded from interleaved memory
    bool accumulate = false;      ///< adds to what is there
    bool repacked = false;        ///< the loaded operand was staged in the tile first
    bool swapped = false;         ///< the transposed product: `rows` of weights stream, `columns` of activations are loaded
    bool mixed_rows = false;      ///< compiled for two row counts that differ by one, as tiles of one plan have
};

/// What the analytical model charges one call.
struct GemmCycles {
    std::uint64_t call = 0;   ///< entry and exit
    std::uint64_t feed = 0;   ///< rows pass the unit
    std::uint64_t load = 0;   ///< the loaded operand enters the unit, 16 columns of a K block at a time
    [[nodiscard]] std::uint64_t total() const { return call + feed + load; }
};

/// Costs of tile-local kernels: measured where the table has the point, interpolated inside its hulls, else analytical.
class KernelCosts {
public:
    /// `table` may be null: everything analytical. Both must outlive the object.
    KernelCosts(const Target& target, const KernelTable* table) : target_(target), machine_(target.ipu21), table_(table) {}

    [[nodiscard]] KernelCost gemm(const GemmCall& call) const;
    /// Population of an interleaved panel from standard memory.
    [[nodiscard]] KernelCost stage(std::uint64_t bytes) const;
    /// Adding a received partial of `bytes`.
    [[nodiscard]] KernelCost reduce(std::uint64_t bytes) const;
    [[nodiscard]] KernelCost gelu(std::uint64_t elems) const;
    [[nodiscard]] KernelCost pointwise(std::uint64_t elems, std::uint32_t elem_bytes) const;
    [[nodiscard]] KernelCost softmax(std::uint64_t elems) const;
    [[nodiscard]] KernelCost norm(std::uint64_t elems) const;
    /// Copying a tile's part in another order.
    [[nodiscard]] KernelCost rearrange(std::uint64_t elems) const;
    [[nodiscard]] KernelCost cast(std::uint64_t in_bytes, std::uint64_t out_bytes) const;

    /// The analytical model for a record's key; nothing where it knows no such kernel.
    [[nodiscard]] std::optional<std::uint64_t> analytical(const KernelKey& key) const;
    /// The analytical model alone, in its parts.
    [[nodiscard]] GemmCycles analytical_gemm(const GemmCall& call) const;

private:
    [[nodiscard]] KernelCost look_up(const KernelKey& key, std::uint64_t analytical) const;

    const Target& target_;
    const Ipu21& machine_;
    const KernelTable* table_;
};

/// The key under which a GEMM call is measured: with the alignment of its operands and the tail that is read past the streamed one.
[[nodiscard]] KernelKey gemm_key(const Ipu21& machine, const GemmCall& call);
/// The key of a kernel that depends on one amount only.
[[nodiscard]] KernelKey amount_key(std::string_view kind, std::string_view dimension, std::uint64_t amount);

}  // namespace weft::ipu21
