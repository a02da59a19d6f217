#include "ipu21/rounding.h"

#include <algorithm>

#include "base/checked.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint64_t million = 1'000'000;
constexpr std::uint32_t no_bound = 0xffffffffU;

/// n / (unit - n) in ppm, rounded up; `unit` is 1 / u.
std::uint64_t bound_ppm(std::uint64_t n, std::uint64_t unit) { return n >= unit ? no_bound : ceil_divide(n * million, unit - n); }

std::uint32_t gemm_chain(const GemmPlan& plan) {
    // The first product needs no addition, but is rounded itself.
    const std::uint32_t share = std::min(plan.k, ceil_divide(ceil_divide(plan.k, plan.amp_columns), plan.inner) * plan.amp_columns);
    std::uint32_t joins = plan.inner - 1;
    if (plan.distribution == Distribution::PanelReduction) {
        joins = 0;
        for (std::uint32_t left = plan.inner; left > 1; left = ceil_divide(left, plan.fan_in)) joins += std::min(left, plan.fan_in) - 1;
    }
    return share + joins;
}

}  // namespace

Roundings roundings_of(const TileOperator& op, const TilePlan& row, const TileLayout& input, std::uint32_t amp_columns) {
    const bool narrow = input.elem_bytes == 2;
    std::uint32_t chain = 1;
    std::uint32_t wide = 0;
    switch (static_cast<TileOperatorKind>(op.kind)) {
        case TileOperatorKind::Gemm:
            chain = gemm_chain(gemm_plan(op, row, input, amp_columns)) + (op.constant_elems != 0 ? 1 : 0);
            break;
        case TileOperatorKind::Attention: wide = op.n + op.k + 2; break;      // both products, the exponential and the division
        case TileOperatorKind::LayerNorm: wide = op.n + 4; break;
        case TileOperatorKind::Softmax: wide = op.n + 2; break;
        case TileOperatorKind::Product: chain = op.k; break;
        case TileOperatorKind::Rearrange: return {0, 0};   // nothing is computed
        default: break;
    }
    return narrow ? Roundings{wide, chain} : Roundings{wide + chain, 0};
}

std::uint32_t rounding_bound_ppm(const Roundings& roundings) {
    constexpr std::uint64_t narrow_unit = 1U << 11U;
    constexpr std::uint64_t wide_unit = 1U << 24U;
    const std::uint64_t sum = bound_ppm(roundings.wide, wide_unit) + bound_ppm(roundings.narrow, narrow_unit);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, no_bound));
}

}  // namespace weft::ipu21
