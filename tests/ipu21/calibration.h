#pragma once

#include "ipu21/gemm_exchange.h"

namespace weft::test {

/// The calibration workload: SigLIP MLP 1152 -> 4608 -> 1152, 729 tokens, F16, on 1,458 tiles.
inline ipu21::GemmPlan up_projection(ipu21::GridOrder order, ipu21::GridOrder owners, std::uint32_t batch = 4) {
    ipu21::GemmPlan plan;
    plan.m = 729 * batch;
    plan.k = 1152;
    plan.n = 4608;
    plan.rows = 81;
    plan.columns = 18;
    plan.order = order;
    plan.owner_order = owners;
    plan.inner_block = 64;
    plan.output_block = 128;
    plan.weight_slabs = 18;
    return plan;
}

inline ipu21::GemmPlan down_projection(ipu21::GridOrder order, ipu21::GridOrder owners, std::uint32_t batch = 4) {
    ipu21::GemmPlan plan;
    plan.m = 729 * batch;
    plan.k = 4608;
    plan.n = 1152;
    plan.distribution = ipu21::Distribution::PanelReduction;
    plan.rows = 81;
    plan.inner = 18;
    plan.order = order;
    plan.owner_order = owners;
    plan.inner_block = 64;
    plan.output_block = 64;
    plan.weight_slabs = 72;
    plan.staged_panels = 4;
    plan.fan_in = 3;
    return plan;
}

}  // namespace weft::test
