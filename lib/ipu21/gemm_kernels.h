#pragma once

#include <vector>

#include "ipu21/gemm_exchange.h"
#include "ipu21/kernel_costs.h"

namespace weft::ipu21 {

/// What a tile runs under a plan: equal calls together. The fullest tile's.
struct KernelUse {
    enum class Kind : std::uint8_t {
        Product,    ///< `call`
        Stage,      ///< a panel of `bytes` from standard to interleaved memory
        Reduce      ///< a received partial of `bytes` is added
    };
    Kind kind = Kind::Product;
    GemmCall call;
    std::uint64_t bytes = 0;
    std::uint64_t times = 0;
};

/// All uses of a plan, products first; none with `times` zero.
[[nodiscard]] std::vector<KernelUse> gemm_kernels(const GemmPlan& plan, bool staged_weights);

/// Rows, columns and K of the fullest tile's share, padded to whole grains.
[[nodiscard]] std::uint32_t rows_per_tile(const GemmPlan& plan);
[[nodiscard]] std::uint32_t columns_per_tile(const GemmPlan& plan);
[[nodiscard]] std::uint32_t inner_per_tile(const GemmPlan& plan);

}  // namespace weft::ipu21
