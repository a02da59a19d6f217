#pragma once

#include "ipu21/gemm_exchange.h"
#include "ipu21/kernel_costs.h"

namespace weft::ipu21 {

/// Cycles of an operator in the four terms that stay apart to the end, and what they rest on.
struct CostTerms {
    std::uint64_t local = 0;      ///< kernels of the slowest tile
    std::uint64_t exchange = 0;   ///< phases, without synchronisation
    std::uint64_t staging = 0;    ///< copies, packing, panel population in the tile
    std::uint64_t launch = 0;     ///< kernel launches, synchronisation of the phases
    CostSource local_source = CostSource::Analytical;
    CostSource staging_source = CostSource::Analytical;
    std::uint32_t error_ppm = 0;
    std::uint32_t phases = 0;
    std::uint32_t calls = 0;
    [[nodiscard]] std::uint64_t total() const { return local + exchange + staging + launch; }
};

/// Exchange cycles of a plan from closed forms: slots of the endpoint colouring times (words + overhead). Within a few per
/// cent of the schedules of gemm_phases(); see docs/ipu21.md.
[[nodiscard]] std::uint64_t estimated_exchange_cycles(const Target& target, const GemmPlan& plan);

/// Exchange cycles of a plan by scheduling its distinct phases (the first, and the last where shorter, of those that repeat).
[[nodiscard]] std::uint64_t scheduled_exchange_cycles(const Target& target, const Topology& topology, const GemmPlan& plan);

/// All four terms; exchange by the closed forms.
[[nodiscard]] CostTerms gemm_cost(const Target& target, const GemmPlan& plan, bool staged_weights, const KernelCosts& kernels);

}  // namespace weft::ipu21
