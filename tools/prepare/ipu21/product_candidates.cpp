// Plans of products of two activations.
#include <algorithm>

#include "base/checked.h"
#include "ipu21/batched_product.h"
#include "ipu21/operand.h"
#include "prepare/ipu21/candidates.h"

namespace weft::ipu21 {
namespace {

class ProductEnumerator {
public:
    ProductEnumerator(CandidateContext& context, const TileOperator& op) : context_(context), op_(op) {}

    std::vector<Candidate> run() {
        const std::uint32_t tiles = context_.active_tiles.front();
        for (const std::uint32_t elem_bytes : context_.options.precisions) {
            for (std::uint32_t groups = 1; groups <= std::min(op_.batch, tiles); ++groups) {
                if (op_.batch % groups == 0) grids(groups, tiles / groups, elem_bytes);
            }
        }
        return std::move(candidates_);
    }

private:
    /// Grids of a group: with as many columns as leave less work to every tile, and as many rows as there is room for.
    void grids(std::uint32_t groups, std::uint32_t tiles, std::uint32_t elem_bytes) {
        const std::uint32_t micro = context_.target.ipu21.amp_columns;
        const std::uint32_t blocks = ceil_divide(op_.n, micro);
        for (std::uint32_t columns = 1; columns <= std::min(blocks, tiles); ++columns) {
            if (columns > 1 && ceil_divide(blocks, columns) == ceil_divide(blocks, columns - 1)) continue;
            BatchedProduct product{op_.batch, op_.m, op_.n, op_.k, groups, std::min(tiles / columns, op_.m), columns, elem_bytes, micro, TileMemory::Interleaved};
            while (product.rows > 1 && !is_legal(product)) --product.rows;
            memories(product);
            // Half the rows need half the copies of b.
            product.rows = ceil_divide(product.rows, 2U);
            while (product.rows > 1 && !is_legal(product)) --product.rows;
            memories(product);
        }
    }

    void memories(BatchedProduct product) {
        for (const TileMemory memory : {TileMemory::Interleaved, TileMemory::Standard}) {
            if (memory == TileMemory::Interleaved && product.elem_bytes == 4) continue;   // as for products with weights
            product.loaded_memory = memory;
            add(product);
        }
    }

    void add(const BatchedProduct& product) {
        Candidate candidate;
        candidate.key = fmt::format("batched-product {} groups of {}x{} {} f{}", product.groups, product.rows, product.columns,
                                    product.loaded_memory == TileMemory::Interleaved ? "interleaved" : "standard", 8 * product.elem_bytes);
        if (std::ranges::find(candidates_, candidate.key, &Candidate::key) != candidates_.end()) return;
        ++context_.counts.enumerated;
        const Ipu21& machine = context_.target.ipu21;
        candidate.inputs = {streamed_layout(product), loaded_layout(product)};
        candidate.output = result_layout(product, TileMemory::Interleaved);
        const MatrixShape a{op_.batch * op_.m, op_.k};
        const MatrixShape b{op_.batch * op_.k, op_.n};
        const MatrixShape result{op_.batch * op_.m, op_.n};
        candidate.input_bytes = {operand_bytes(machine, candidate.inputs[0], a), operand_bytes(machine, candidate.inputs[1], b)};
        candidate.output_bytes = operand_bytes(machine, candidate.output, result);
        const bool loaded_standard = product.loaded_memory == TileMemory::Standard;
        const std::uint64_t standard = candidate.input_bytes[0] + (loaded_standard ? candidate.input_bytes[1] : 0);
        const std::uint64_t interleaved = candidate.output_bytes + (loaded_standard ? 0 : candidate.input_bytes[1]);
        if (interleaved > interleaved_room(machine) || standard + interleaved > whole_room(machine)) {
            ++context_.counts.infeasible;
            return;
        }
        TilePlan& plan = candidate.plan;
        plan.distribution = static_cast<std::uint32_t>(TileDistribution::BatchedProduct);
        plan.rows = product.rows;
        plan.columns = product.columns;
        plan.inner = product.groups;
        plan.tiles = product.tiles();
        plan.interleaved_weights = loaded_standard ? 0 : 1;
        plan.largest_standard = static_cast<std::uint32_t>(loaded_standard ? std::max(candidate.input_bytes[0], candidate.input_bytes[1]) : candidate.input_bytes[0]);
        set_cost(plan, cost(product));
        candidates_.push_back(std::move(candidate));
    }

    /// One kernel call per matrix.
    [[nodiscard]] CostTerms cost(const BatchedProduct& product) const {
        GemmCall call;
        call.rows = ceil_divide(product.m, product.rows);
        call.inner = product.k;
        call.columns = ceil_divide(ceil_divide(product.n, product.amp_columns), product.columns) * product.amp_columns;
        call.elem_bytes = product.elem_bytes;
        call.interleaved = product.loaded_memory == TileMemory::Interleaved;
        call.mixed_rows = product.m % product.rows != 0;
        const KernelCost kernel = context_.kernels.gemm(call);
        CostTerms terms;
        terms.local = kernel.cycles * product.matrices();
        terms.local_source = kernel.source;
        terms.error_ppm = kernel.error_ppm;
        terms.calls = product.matrices();
        terms.launch = std::uint64_t{context_.target.ipu21.launch_cycles} * terms.calls;
        return terms;
    }

    CandidateContext& context_;
    const TileOperator& op_;
    std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<Candidate> product_candidates(CandidateContext& context, const TileOperator& op) {
    return filter_candidates(context, ProductEnumerator(context, op).run(), context.options.plans_per_operator);
}

}  // namespace weft::ipu21
