#pragma once

#include "artifact/tasks.h"
#include "ipu21/gemm_exchange.h"

namespace weft::ipu21 {

/// Roundings behind one element of an operator's result, by the precision they happen in.
struct Roundings {
    std::uint32_t wide = 0;     ///< in F32
    std::uint32_t narrow = 0;   ///< in F16
    bool operator==(const Roundings&) const = default;
};

/// The longest chain of a plan. Products are added one by one over the tile's share of K in the precision of the operands (F16 sums are
/// F16), then the partial sums are joined, then the bias is added. Attention, norms and softmax sum in F32 and round their result.
[[nodiscard]] Roundings roundings_of(const TileOperator& op, const TilePlan& row, const TileLayout& input, std::uint32_t amp_columns);

/// A-priori bound of the result's error in parts per million of the sum of the magnitudes that are added: n u / (1 - n u) per precision,
/// u = 2^-11 and 2^-24. Saturates at 2^32 - 1 where n u reaches one and nothing is promised.
[[nodiscard]] std::uint32_t rounding_bound_ppm(const Roundings& roundings);

}  // namespace weft::ipu21
