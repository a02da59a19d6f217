#pragma once

#include <vector>

#include "ipu21/gemm_exchange.h"

namespace weft::ipu21 {

/// Buffers that a plan needs only while its operator runs, `count` of `bytes` each (with access tail) on every tile of the plan.
struct GemmBuffer {
    enum class Role : std::uint8_t {
        Panel,      ///< weights that another tile stores, or a panel copied to interleaved memory
        Partial,    ///< the tile's own partial sums
        Received    ///< partial sums of others
    };
    Role role = Role::Panel;
    TileMemory memory = TileMemory::Interleaved;
    std::uint64_t bytes = 0;
    std::uint32_t count = 1;
};
[[nodiscard]] std::vector<GemmBuffer> gemm_buffers(const Ipu21& machine, const GemmPlan& plan, bool staged_weights);

/// Memory class of a plan's stored weights: a swapped plan streams them from standard memory.
[[nodiscard]] TileMemory weights_memory(const GemmPlan& plan);

/// Bytes read past a tile's stored weights.
[[nodiscard]] std::uint32_t weights_tail_bytes(const Ipu21& machine, const GemmPlan& plan);

/// Bytes of the fullest tile, every buffer up to the next aligned address.
struct GemmMemory {
    std::uint64_t resident_standard = 0;
    std::uint64_t resident_interleaved = 0;
    std::uint64_t temporary_standard = 0;
    std::uint64_t temporary_interleaved = 0;
    std::uint64_t largest_standard = 0;
    std::uint64_t row_bytes = 0;
};
/// `bias`: the result gets one; it stands behind standard weights or alone.
[[nodiscard]] GemmMemory gemm_memory(const Target& target, const GemmPlan& plan, bool staged_weights, bool bias);

}  // namespace weft::ipu21
