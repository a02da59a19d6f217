#include "ipu21/gemm_cost.h"

#include <algorithm>

#include "base/checked.h"
#include "ipu21/gemm_kernels.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint32_t word_bytes = 4;
// Cycles of a slot beyond its words, from the scheduled phases of the calibration workload: groups of 81 receivers of one
// column partition, groups that mix partitions, and pairs (receive tail plus the last array row).
constexpr std::uint64_t group_overhead = 128;
constexpr std::uint64_t mixed_overhead = 176;
constexpr std::uint64_t pair_overhead = 103;
constexpr std::uint64_t dedicated_overhead = 215;

std::uint64_t words_of(std::uint64_t elems, const GemmPlan& plan) { return ceil_divide<std::uint64_t>(elems * plan.elem_bytes, word_bytes); }

bool exclusive(const Target& target) { return target.ipu21.discipline == ExchangeDiscipline::Exclusive; }

/// Owners that sit in other groups make their groups wait: every panel takes two slots instead of one.
std::uint64_t output_stationary_exchange(const Target& target, const GemmPlan& plan) {
    if (!plan.moves_weights()) return 0;
    const std::uint64_t blocks = ceil_divide(plan.k, plan.inner_block);
    const std::uint64_t panels = ceil_divide(columns_per_tile(plan), plan.output_block);
    const std::uint64_t words = words_of(std::uint64_t{plan.inner_block} * std::min(plan.output_block, columns_per_tile(plan)), plan);
    const std::uint64_t slots = exclusive(target) && plan.owner_order != plan.order ? 2 * panels : panels;
    const std::uint64_t pieces = ceil_divide<std::uint64_t>(words, target.ipu21.max_transfer_words);
    if (!exclusive(target)) return blocks * (slots * words + group_overhead);
    return blocks * slots * (words + pieces * group_overhead);
}

/// Incoming panels of a group, plus the panels that senders inside a group owe to others.
std::uint64_t panel_reduction_exchange(const Target& target, const GemmPlan& plan) {
    const std::uint64_t slabs = ceil_divide(inner_per_tile(plan), plan.inner_block);
    const std::uint64_t words = words_of(std::uint64_t{plan.inner_block} * plan.output_block, plan);
    const std::uint64_t partial = words_of(std::uint64_t{rows_per_tile(plan)} * plan.output_block, plan);
    const std::uint64_t panels = ceil_divide(plan.n, plan.output_block);
    // Panels of one staged group that are stored by members of one inner group.
    const std::uint64_t same_home = std::min<std::uint64_t>(plan.staged_panels, ceil_divide<std::uint64_t>(panels, plan.inner));
    const auto group = [&](std::uint64_t staged) {
        const std::uint64_t incoming = staged * slabs;
        const std::uint64_t owed = plan.owner_order == plan.order ? std::min(staged, same_home) * slabs : incoming;
        std::uint64_t cycles = exclusive(target) ? (incoming + owed) * (words + mixed_overhead) : incoming * words + mixed_overhead;
        for (std::uint64_t left = plan.inner; left > 1; left = ceil_divide<std::uint64_t>(left, plan.fan_in)) {
            const std::uint64_t joined = std::min<std::uint64_t>(left, plan.fan_in) - 1;
            const bool last = left <= plan.fan_in;
            const std::uint64_t overhead = exclusive(target) ? (last ? dedicated_overhead : pair_overhead) : 1;
            cycles += staged * joined * (partial + overhead) + (exclusive(target) ? 0 : pair_overhead);
        }
        return cycles;
    };
    const std::uint64_t whole = panels / plan.staged_panels;
    const std::uint64_t rest = panels % plan.staged_panels;
    return whole * group(std::min<std::uint64_t>(plan.staged_panels, panels)) + (rest != 0 ? group(rest) : 0);
}

/// Partners exchange pieces in rounds of disjoint pairs; a root that keeps everything receives one partial after another.
std::uint64_t parallel_reduction_exchange(const Target& target, const GemmPlan& plan) {
    std::uint64_t cycles = 0;
    const auto with_pieces = [&](std::uint64_t words, std::uint64_t overhead) {
        return words + ceil_divide<std::uint64_t>(words, target.ipu21.max_transfer_words) * overhead;
    };
    if (plan.moves_weights()) {
        // All tiles of a row group take part in each of its owners' multicasts.
        const std::uint64_t words = words_of(ceil_divide<std::uint64_t>(std::uint64_t{inner_per_tile(plan)} * columns_per_tile(plan), plan.weight_slabs), plan);
        cycles += plan.weight_slabs * (exclusive(target) ? with_pieces(words, group_overhead) : words + 1) + (exclusive(target) ? 0 : group_overhead);
    }
    if (plan.inner == 1) return cycles;
    const ReductionShare share = reduction_share(plan);
    const std::uint64_t words = words_of(share.part_elems, plan);
    const std::uint64_t partners = plan.inner - 1;
    const std::uint64_t epochs = reduction_epochs(plan);
    if (!exclusive(target)) return cycles + partners * (words + 1) + epochs * pair_overhead;
    // Partners come in disjoint pairs, or in odd rings that need a round more.
    const std::uint64_t rounds = epochs == 1 ? 2 * partners + (plan.inner % 2) * 2 : partners * (2 + plan.inner % 2);
    return cycles + rounds * with_pieces(words, epochs == 1 ? pair_overhead : dedicated_overhead);
}

}  // namespace

std::uint64_t estimated_exchange_cycles(const Target& target, const GemmPlan& plan) {
    switch (plan.distribution) {
        case Distribution::OutputStationary: return output_stationary_exchange(target, plan);
        case Distribution::PanelReduction: return panel_reduction_exchange(target, plan);
        case Distribution::ParallelReduction: return parallel_reduction_exchange(target, plan);
        default: return 0;
    }
}

std::uint64_t scheduled_exchange_cycles(const Target& target, const Topology& topology, const GemmPlan& plan) {
    std::uint64_t cycles = 0;
    for (const RepeatedPhase& repeated : representative_phases(plan, target.ipu21.max_transfer_words)) {
        cycles += schedule_phase(target, topology, repeated.planned.phase).cycles * repeated.count;
    }
    return cycles;
}

CostTerms gemm_cost(const Target& target, const GemmPlan& plan, bool staged_weights, const KernelCosts& kernels) {
    CostTerms terms;
    terms.phases = gemm_phase_count(plan);
    terms.exchange = estimated_exchange_cycles(target, plan);
    bool first_local = true;
    for (const KernelUse& use : gemm_kernels(plan, staged_weights)) {
        terms.calls += narrow<std::uint32_t>(use.times);
        if (use.kind == KernelUse::Kind::Stage) {
            const KernelCost cost = kernels.stage(use.bytes);
            terms.staging += cost.cycles * use.times;
            terms.staging_source = cost.source;
            continue;
        }
        const KernelCost cost = use.kind == KernelUse::Kind::Product ? kernels.gemm(use.call) : kernels.reduce(use.bytes);
        terms.local += cost.cycles * use.times;
        // A term is as well founded as its weakest part.
        terms.local_source = first_local ? cost.source : std::min(terms.local_source, cost.source);
        terms.error_ppm = std::max(terms.error_ppm, cost.error_ppm);
        first_local = false;
    }
    terms.launch += std::uint64_t{target.ipu21.launch_cycles} * terms.calls + std::uint64_t{target.ipu21.measured_boundary_cycles} * terms.phases;
    return terms;
}

}  // namespace weft::ipu21
