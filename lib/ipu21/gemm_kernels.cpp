#include "ipu21/gemm_kernels.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace weft::ipu21 {
namespace {

void add(std::vector<KernelUse>& uses, KernelUse use) {
    if (use.times != 0) uses.push_back(use);
}

/// The first K block initialises, later ones add to what is there.
void add_products(std::vector<KernelUse>& uses, GemmCall call, std::uint64_t panels, std::uint64_t blocks) {
    add(uses, {KernelUse::Kind::Product, call, 0, panels});
    call.accumulate = true;
    add(uses, {KernelUse::Kind::Product, call, 0, panels * (blocks - 1)});
}

GemmCall call_of(const GemmPlan& plan, std::uint32_t inner, std::uint32_t columns, bool interleaved) {
    GemmCall call;
    call.rows = rows_per_tile(plan);
    call.inner = inner;
    call.columns = columns;
    call.elem_bytes = plan.elem_bytes;
    call.interleaved = interleaved;
    call.mixed_rows = ceil_divide(plan.m, row_grain(plan)) % plan.rows != 0;
    return call;
}

void stationary_kernels(const GemmPlan& plan, bool staged, std::vector<KernelUse>& uses) {
    const std::uint64_t blocks = ceil_divide(plan.k, plan.inner_block);
    const std::uint32_t width = std::min(plan.output_block, columns_per_tile(plan));
    const std::uint64_t panels = ceil_divide(columns_per_tile(plan), width);
    // Streamed panels arrive in an interleaved buffer whatever class they were stored in.
    const bool streamed = plan.moves_weights();
    GemmCall call = call_of(plan, std::min(plan.inner_block, plan.k), width, plan.interleaved_weights || staged || streamed);
    call.repacked = staged;
    add_products(uses, call, panels, blocks);
    if (staged) add(uses, {KernelUse::Kind::Stage, {}, std::uint64_t{call.inner} * call.columns * plan.elem_bytes, panels * blocks});
}

void panel_kernels(const GemmPlan& plan, std::vector<KernelUse>& uses) {
    const std::uint64_t blocks = ceil_divide(inner_per_tile(plan), plan.inner_block);
    const std::uint64_t panels = ceil_divide(plan.n, plan.output_block);
    add_products(uses, call_of(plan, plan.inner_block, plan.output_block, true), panels, blocks);
    std::uint64_t additions = 0;
    for (std::uint64_t left = plan.inner; left > 1; left = ceil_divide<std::uint64_t>(left, plan.fan_in)) {
        additions += std::min<std::uint64_t>(left, plan.fan_in) - 1;
    }
    add(uses, {KernelUse::Kind::Reduce, {}, std::uint64_t{rows_per_tile(plan)} * plan.output_block * plan.elem_bytes, additions * panels});
}

void parallel_kernels(const GemmPlan& plan, bool staged, std::vector<KernelUse>& uses) {
    GemmCall call = call_of(plan, inner_per_tile(plan), columns_per_tile(plan), plan.interleaved_weights || staged);
    call.repacked = staged;
    call.swapped = plan.swapped;
    if (plan.swapped) std::swap(call.rows, call.columns);
    add_products(uses, call, 1, 1);
    // Every element of the result is the sum of `inner` partials, wherever they were computed.
    add(uses, {KernelUse::Kind::Reduce, {}, reduction_share(plan).part_elems * plan.elem_bytes, plan.inner - 1});
    if (staged) add(uses, {KernelUse::Kind::Stage, {}, std::uint64_t{call.inner} * call.columns * plan.elem_bytes, 1});
}

}  // namespace

std::uint32_t columns_per_tile(const GemmPlan& plan) {
    const std::uint32_t grain = column_grain(plan);
    return std::min(plan.n, ceil_divide(ceil_divide(plan.n, grain), plan.columns) * grain);
}

std::uint32_t rows_per_tile(const GemmPlan& plan) { return ceil_divide(ceil_divide(plan.m, row_grain(plan)), plan.rows) * row_grain(plan); }

std::uint32_t inner_per_tile(const GemmPlan& plan) {
    return std::min(plan.k, ceil_divide(ceil_divide(plan.k, plan.amp_columns), plan.inner) * plan.amp_columns);
}

std::vector<KernelUse> gemm_kernels(const GemmPlan& plan, bool staged_weights) {
    std::vector<KernelUse> uses;
    switch (plan.distribution) {
        case Distribution::OutputStationary: stationary_kernels(plan, staged_weights, uses); break;
        case Distribution::PanelReduction: panel_kernels(plan, uses); break;
        default: parallel_kernels(plan, staged_weights, uses); break;
    }
    return uses;
}

}  // namespace weft::ipu21
