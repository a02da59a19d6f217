#include "ipu21/gemm_memory.h"

#include <algorithm>

#include "base/checked.h"
#include "ipu21/gemm_kernels.h"
#include "ipu21/operand.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint32_t word_bytes = 4;

std::uint32_t panels_per_tile(const GemmPlan& plan) { return ceil_divide(columns_per_tile(plan), plan.output_block); }

std::uint64_t panel_bytes(const GemmPlan& plan) { return std::uint64_t{plan.inner_block} * plan.output_block * plan.elem_bytes; }

/// Panels of one K block that the tiles of one home keep (PanelReduction).
std::uint32_t panels_per_home(const GemmPlan& plan) { return ceil_divide(ceil_divide(plan.n, plan.output_block), plan.inner); }

std::uint32_t slabs_per_part(const GemmPlan& plan) { return ceil_divide(inner_per_tile(plan), plan.inner_block); }

/// Weights that the fullest tile stores.
std::uint64_t stored_bytes(const GemmPlan& plan) {
    if (plan.distribution == Distribution::ParallelReduction) {
        const std::uint32_t grains = ceil_divide(ceil_divide(inner_per_tile(plan), plan.amp_columns), plan.weight_slabs);
        const std::uint32_t slabs = ceil_divide(plan.weight_slabs, plan.rows / plan.weight_copies);   // of one tile of the smallest group
        const std::uint64_t depth = std::min<std::uint64_t>(inner_per_tile(plan), std::uint64_t{slabs} * grains * plan.amp_columns);
        return depth * columns_per_tile(plan) * plan.elem_bytes;
    }
    const bool panels = plan.distribution == Distribution::PanelReduction;
    const std::uint32_t slabs = panels ? slabs_per_part(plan) * plan.inner : plan.weight_slabs;
    const std::uint32_t blocks = panels ? 1 : ceil_divide(ceil_divide(plan.k, plan.inner_block), plan.weight_slabs);   // of one slab
    const std::uint32_t of_shard = ceil_divide(panels ? panels_per_home(plan) : panels_per_tile(plan), plan.weight_columns);
    const std::uint32_t rows = panels ? plan.rows : plan.rows / plan.weight_copies;   // of the smallest group
    const std::uint64_t shards = ceil_divide<std::uint64_t>(std::uint64_t{slabs} * plan.weight_columns, rows);
    return shards * of_shard * blocks * panel_bytes(plan);
}

/// Transfers of the busiest tile in one phase, pieces counted.
std::uint64_t roles_of(const Target& target, const GemmPlan& plan) {
    const auto pieces = [&](std::uint64_t bytes) { return ceil_divide<std::uint64_t>(bytes, std::uint64_t{target.ipu21.max_transfer_words} * word_bytes); };
    if (plan.distribution == Distribution::OutputStationary) return 2 * panels_per_tile(plan) * pieces(panel_bytes(plan));
    if (plan.distribution == Distribution::PanelReduction) {
        const std::uint64_t partial = std::uint64_t{rows_per_tile(plan)} * plan.output_block * plan.elem_bytes;
        const std::uint64_t incoming = std::uint64_t{plan.staged_panels} * slabs_per_part(plan);
        const std::uint64_t owned = ceil_divide<std::uint64_t>(incoming * plan.inner, plan.rows);   // shards of one group that one tile sends
        return std::max((incoming + owned) * pieces(panel_bytes(plan)), std::uint64_t{plan.staged_panels} * plan.fan_in * pieces(partial));
    }
    std::uint64_t roles = 0;
    if (plan.moves_weights()) {
        const std::uint64_t block = std::uint64_t{inner_per_tile(plan)} * columns_per_tile(plan) * plan.elem_bytes;
        roles = plan.weight_slabs * pieces(ceil_divide<std::uint64_t>(block, plan.weight_slabs));
    }
    const ReductionShare share = reduction_share(plan);
    // A part that straddles two blocks gets two transfers from a partner, and a block gives to one part more than it has.
    const std::uint64_t straddling = share.partials > plan.inner - 1 ? 2 : 1;
    return std::max(roles, 2 * straddling * share.at_a_time * pieces(share.part_elems * plan.elem_bytes));
}

void add_parallel_buffers(const Ipu21& machine, const GemmPlan& plan, bool staged, std::vector<GemmBuffer>& buffers) {
    using Role = GemmBuffer::Role;
    const std::uint64_t weights = std::uint64_t{inner_per_tile(plan)} * columns_per_tile(plan) * plan.elem_bytes;
    if (plan.moves_weights()) buffers.push_back({Role::Panel, weights_memory(plan), weights + weights_tail_bytes(machine, plan), 1});
    if (staged) {
        const std::uint64_t loaded = plan.swapped ? std::uint64_t{rows_per_tile(plan)} * inner_per_tile(plan) * plan.elem_bytes : weights;
        buffers.push_back({Role::Panel, TileMemory::Interleaved, loaded, 1});
    }
    if (plan.inner == 1) return;
    const ReductionShare share = reduction_share(plan);
    buffers.push_back({Role::Partial, TileMemory::Interleaved, std::uint64_t{rows_per_tile(plan)} * columns_per_tile(plan) * plan.elem_bytes, 1});
    buffers.push_back({Role::Received, TileMemory::Standard, share.part_elems * plan.elem_bytes, share.at_a_time});
}

}  // namespace

std::vector<GemmBuffer> gemm_buffers(const Ipu21& machine, const GemmPlan& plan, bool staged_weights) {
    using Role = GemmBuffer::Role;
    std::vector<GemmBuffer> buffers;
    switch (plan.distribution) {
        case Distribution::OutputStationary:
            // One panel per output block where they are streamed; one in all where they are copied.
            if (plan.moves_weights()) buffers.push_back({Role::Panel, TileMemory::Interleaved, panel_bytes(plan), panels_per_tile(plan)});
            else if (staged_weights) buffers.push_back({Role::Panel, TileMemory::Interleaved, panel_bytes(plan), 1});
            break;
        case Distribution::PanelReduction: {
            const std::uint64_t partial = std::uint64_t{rows_per_tile(plan)} * plan.output_block * plan.elem_bytes;
            buffers.push_back({Role::Panel, TileMemory::Interleaved, panel_bytes(plan), plan.staged_panels * slabs_per_part(plan)});
            buffers.push_back({Role::Partial, TileMemory::Interleaved, partial, plan.staged_panels});
            buffers.push_back({Role::Received, TileMemory::Standard, partial, plan.staged_panels * (plan.fan_in - 1)});
            break;
        }
        default: add_parallel_buffers(machine, plan, staged_weights, buffers); break;
    }
    return buffers;
}

TileMemory weights_memory(const GemmPlan& plan) {
    return plan.interleaved_weights && !plan.swapped ? TileMemory::Interleaved : TileMemory::Standard;
}

std::uint32_t weights_tail_bytes(const Ipu21& machine, const GemmPlan& plan) { return plan.swapped ? stream_tail_bytes(machine, plan.elem_bytes) : 0; }

GemmMemory gemm_memory(const Target& target, const GemmPlan& plan, bool staged_weights, bool bias) {
    const Ipu21& machine = target.ipu21;
    GemmMemory memory;
    for (const GemmBuffer& buffer : gemm_buffers(machine, plan, staged_weights)) {
        const std::uint64_t bytes = padded_bytes(machine, buffer.bytes);
        if (buffer.memory == TileMemory::Interleaved) {
            memory.temporary_interleaved += bytes * buffer.count;
        } else {
            memory.temporary_standard += bytes * buffer.count;
            memory.largest_standard = std::max(memory.largest_standard, bytes);
        }
    }
    const bool interleaved = weights_memory(plan) == TileMemory::Interleaved;
    const std::uint64_t weights = stored_bytes(plan) + weights_tail_bytes(machine, plan);
    const std::uint64_t bias_bytes = bias ? std::uint64_t{result_columns(plan)} * plan.elem_bytes : 0;
    if (interleaved) memory.resident_interleaved = padded_bytes(machine, weights);
    memory.resident_standard = padded_bytes(machine, bias_bytes + (interleaved ? 0 : weights));
    memory.largest_standard = std::max(memory.largest_standard, memory.resident_standard);
    memory.row_bytes = std::uint64_t{gemm_phase_count(plan)} * word_bytes * (1 + machine.exchange_row_words * roles_of(target, plan));
    return memory;
}

}  // namespace weft::ipu21
