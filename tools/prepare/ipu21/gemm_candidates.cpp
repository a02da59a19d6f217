#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "base/checked.h"
#include "prepare/ipu21/candidates.h"

namespace weft::ipu21 {
namespace {

/// Largest memory that one class offers a tile.
struct ClassLimits {
    std::uint64_t standard;
    std::uint64_t interleaved;

    explicit ClassLimits(const Target& target)
        : standard(target.ipu21.placeable_end - target.ipu21.standard_begin - target.ipu21.support_bytes),
          interleaved(target.ipu21.placeable_end - target.ipu21.interleaved_begin) {}
};

/// Weight transfers are told apart by which tiles receive together; with one row or one column partition both orders are the same.
bool order_matters(const GemmPlan& plan) { return plan.rows > 1 && plan.columns * plan.inner > 1; }

class GemmEnumerator {
public:
    GemmEnumerator(CandidateContext& context, const TileOperator& op) : context_(context), op_(op), limits_(context.target) {}

    std::vector<Candidate> run() {
        for (const std::uint32_t tiles : context_.active_tiles) {
            output_stationary(tiles);
            panel_reduction(tiles);
        }
        parallel_reduction(context_.active_tiles.front(), false);
        parallel_reduction(context_.active_tiles.front(), true);
        // A matrix too small for so many tiles gets fewer.
        for (std::uint32_t tiles = std::bit_floor(context_.active_tiles.back()); candidates_.empty() && tiles > 0; tiles /= 2) {
            output_stationary(tiles);
            parallel_reduction(tiles, false);
        }
        return std::move(candidates_);
    }

    void consider(const GemmPlan& plan, bool staged, bool filter = true) {
        ++context_.counts.enumerated;
        const GemmMemory memory = gemm_memory(context_.target, plan, staged);
        Candidate candidate;
        candidate.inputs.push_back(left_layout(plan));
        candidate.output = output_layout(plan, TileMemory::Interleaved);
        const std::uint64_t left = shard_bytes(candidate.inputs[0], {plan.m, plan.k});
        const std::uint64_t output = shard_bytes(candidate.output, {plan.m, plan.n});
        candidate.input_bytes = {left};
        candidate.output_bytes = output;
        const bool left_interleaved = candidate.inputs[0].memory == static_cast<std::uint32_t>(TileMemory::Interleaved);
        const std::uint64_t left_standard = left_interleaved ? 0 : left;
        const std::uint64_t standard = memory.resident_standard + memory.temporary_standard + left_standard + memory.row_bytes;
        const std::uint64_t interleaved = memory.resident_interleaved + memory.temporary_interleaved + output + left - left_standard;
        const std::uint64_t together = context_.target.ipu21.placeable_end - context_.target.ipu21.standard_begin - context_.target.ipu21.support_bytes;
        if (filter && (standard > limits_.standard || interleaved > limits_.interleaved || standard + interleaved > together)) {
            ++context_.counts.infeasible;
            return;
        }
        TilePlan& row = candidate.plan;
        row.distribution = static_cast<std::uint32_t>(plan.distribution);
        row.order = static_cast<std::uint32_t>(plan.order);
        row.owner_order = static_cast<std::uint32_t>(plan.owner_order);
        row.rows = plan.rows;
        row.columns = plan.columns;
        row.inner = plan.inner;
        row.inner_block = plan.inner_block;
        row.output_block = plan.output_block;
        row.weight_slabs = plan.weight_slabs;
        row.staged_panels = plan.staged_panels;
        row.fan_in = plan.fan_in;
        row.split_rows = plan.split_rows;
        row.split_columns = plan.split_columns;
        row.interleaved_weights = plan.interleaved_weights ? 1 : 0;
        row.staged_weights = staged ? 1 : 0;
        row.tiles = plan.tiles();
        row.resident_standard = saturated(memory.resident_standard + std::uint64_t{op_.constant_elems != 0 ? ceil_divide(plan.n, plan.columns) : 0} * plan.elem_bytes);
        row.resident_interleaved = saturated(memory.resident_interleaved);
        row.temporary_standard = saturated(memory.temporary_standard);
        row.temporary_interleaved = saturated(memory.temporary_interleaved);
        row.largest_standard = saturated(std::max(memory.largest_standard, left_standard));
        row.row_bytes = saturated(memory.row_bytes);
        CostTerms terms = gemm_cost(context_.target, plan, staged, context_.kernels);
        if (op_.constant_elems != 0) {
            const KernelCost bias = context_.kernels.pointwise(output / plan.elem_bytes, plan.elem_bytes);
            terms.local += bias.cycles;
            terms.launch += context_.target.ipu21.launch_cycles;
            ++terms.calls;
        }
        set_cost(row, terms);
        candidate.key = gemm_key(plan, staged);
        candidates_.push_back(std::move(candidate));
    }

    [[nodiscard]] GemmPlan blank() const {
        GemmPlan plan;
        plan.m = op_.m;
        plan.n = op_.n;
        plan.k = op_.k;
        plan.elem_bytes = context_.options.elem_bytes;
        plan.inner_block = std::min(context_.target.ipu21.inner_block, op_.k);
        plan.amp_columns = context_.target.ipu21.amp_columns;
        return plan;
    }

    [[nodiscard]] std::vector<Candidate>& candidates() { return candidates_; }

private:
    static std::uint32_t saturated(std::uint64_t bytes) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, 0xffffffffU)); }

    void output_stationary(std::uint32_t tiles) {
        const std::uint32_t blocks = ceil_divide(op_.k, context_.target.ipu21.inner_block);
        for (std::uint32_t columns = 1; columns <= tiles; ++columns) {
            if (tiles % columns != 0 || tiles / columns > op_.m) continue;
            GemmPlan plan = blank();
            plan.rows = tiles / columns;
            plan.columns = columns;
            for (const std::uint32_t block : {32U, 64U, 128U}) {
                if (std::uint64_t{block} * columns > op_.n + std::uint64_t{block} * columns / 4) continue;
                if (plan.elem_bytes == 4 && block != 64) continue;
                plan.output_block = block;
                std::set<std::uint32_t> slabs{1, std::min(plan.rows, blocks)};
                for (const std::uint32_t slab : slabs) {
                    plan.weight_slabs = slab;
                    if (slab == 1 && block == 128) continue;   // wide blocks exist for streamed panels only
                    memories(plan);
                }
            }
        }
    }

    void memories(GemmPlan plan) {
        const bool resident = plan.weight_slabs == 1;
        for (const bool interleaved : {true, false}) {
            if (interleaved && plan.elem_bytes == 4) continue;
            if (!interleaved && plan.output_block == 32) continue;
            plan.interleaved_weights = interleaved;
            orders(plan, false);
            if (!interleaved && plan.elem_bytes == 2 && resident) orders(plan, true);
        }
    }

    /// Rows-fast is compared where weights are streamed (their bytes then exceed the activations', which do not move) and the
    /// grouping differs; by default only when it is predicted to win, which with owners that follow the order it never does
    /// by more than the model's error.
    void orders(GemmPlan plan, bool staged) {
        consider(plan, staged);
        if (plan.weight_slabs == 1) return;
        if (!order_matters(plan)) {
            ++context_.counts.same_grouping;
            return;
        }
        GemmPlan other = plan;
        other.order = GridOrder::RowsFast;
        other.owner_order = GridOrder::RowsFast;
        const std::uint64_t present = estimated_exchange_cycles(context_.target, plan);
        const std::uint64_t predicted = estimated_exchange_cycles(context_.target, other);
        if (context_.options.all_grid_orders || predicted + predicted / 50 < present) consider(other, staged);
    }

    void panel_reduction(std::uint32_t tiles) {
        const std::uint32_t block = context_.target.ipu21.inner_block;
        if (op_.k % block != 0 || context_.options.elem_bytes != 2) return;
        const std::uint32_t blocks = op_.k / block;
        for (std::uint32_t inner = 2; inner <= std::min(blocks, 64U); ++inner) {
            if (blocks % inner != 0 || tiles % inner != 0 || tiles / inner > op_.m) continue;
            GemmPlan plan = blank();
            plan.distribution = Distribution::PanelReduction;
            plan.rows = tiles / inner;
            plan.inner = inner;
            plan.weight_slabs = blocks;
            for (const std::uint32_t output : {64U, 128U}) {
                if (op_.n % output != 0) continue;
                plan.output_block = output;
                for (const std::uint32_t staged : {1U, 2U, 4U, 8U}) {
                    if (staged > op_.n / output) continue;
                    plan.staged_panels = staged;
                    for (const std::uint32_t fan_in : {2U, 3U, 4U}) {
                        if (fan_in > inner) continue;
                        plan.fan_in = fan_in;
                        consider(plan, false);
                    }
                }
            }
        }
    }

    /// Swapped: micro-blocks of rows are dealt instead of rows.
    void parallel_reduction(std::uint32_t tiles, bool swapped) {
        const std::uint32_t micro = context_.target.ipu21.amp_columns;
        const std::uint32_t inner_limit = ceil_divide(op_.k, micro);
        const std::uint32_t column_limit = ceil_divide(op_.n, micro);
        const std::uint32_t row_limit = swapped ? ceil_divide(op_.m, micro) : op_.m;
        for (std::uint32_t inner = 1; inner <= std::min(inner_limit, 64U); ++inner) {
            // The last part must not be empty.
            if (dealt_interval(op_.k, micro, inner, inner - 1).length() == 0) continue;
            for (std::uint32_t columns = 1; columns <= column_limit && inner * columns <= tiles; ++columns) {
                const std::uint32_t rows = std::min(tiles / (inner * columns), row_limit);
                if (std::uint64_t{rows} * columns * inner * 2 < tiles) continue;
                // Of neighbouring column counts with the same work per tile the smallest is enough.
                if (columns > 1 && ceil_divide(column_limit, columns) == ceil_divide(column_limit, columns - 1) &&
                    std::min(tiles / (inner * (columns - 1)), row_limit) >= rows) {
                    continue;
                }
                GemmPlan plan = blank();
                plan.distribution = Distribution::ParallelReduction;
                plan.rows = rows;
                plan.columns = columns;
                plan.inner = inner;
                plan.swapped = swapped;
                parallel_variants(plan, row_limit);
            }
        }
    }

    void parallel_variants(GemmPlan plan, std::uint32_t row_limit) {
        const std::uint32_t column_limit = ceil_divide(op_.n, plan.amp_columns);
        for (const bool interleaved : {true, false}) {
            if (interleaved && plan.elem_bytes == 4) continue;
            plan.interleaved_weights = interleaved;
            for (const std::uint32_t slabs : {1U, 2U}) {
                if (slabs == 2 && plan.rows == 1) continue;
                plan.weight_slabs = slabs;
                GemmPlan by_rows = plan;
                by_rows.split_rows = plan.inner;
                if (std::uint64_t{plan.rows} * plan.inner <= row_limit) staged_or_direct(by_rows);
                if (plan.inner == 1) continue;
                GemmPlan by_columns = plan;
                by_columns.split_columns = plan.inner;
                by_columns.order = GridOrder::InnerFast;
                by_columns.owner_order = GridOrder::InnerFast;
                if (std::uint64_t{plan.columns} * plan.inner <= column_limit) staged_or_direct(by_columns);
            }
        }
    }

    /// Activations of a swapped plan that lie in standard memory are loaded from there, or from an interleaved copy.
    void staged_or_direct(const GemmPlan& plan) {
        consider(plan, false);
        if (plan.swapped && !plan.interleaved_weights && plan.elem_bytes == 2) consider(plan, true);
    }

    CandidateContext& context_;
    const TileOperator& op_;
    ClassLimits limits_;
    std::vector<Candidate> candidates_;
};

GemmPlan plan_of(const TileOperator& op, const Candidate& candidate, const CandidateContext& context) {
    return gemm_plan(op, candidate.plan, candidate.inputs[0], context.target.ipu21.amp_columns);
}

/// Replaces the estimated exchange of the cheapest candidates by that of their scheduled phases.
void schedule_cheapest(CandidateContext& context, const TileOperator& op, std::vector<Candidate>& candidates) {
    const std::size_t count = std::min<std::size_t>(candidates.size(), context.options.scheduled_plans);
    for (std::size_t i = 0; i < count; ++i) {
        TilePlan& row = candidates[i].plan;
        if (row.phases == 0) continue;
        row.exchange_cycles = scheduled_exchange_cycles(context.target, context.topology, plan_of(op, candidates[i], context));
    }
}

}  // namespace

std::string gemm_key(const GemmPlan& plan, bool staged_weights) {
    return fmt::format("{} {}x{}x{} {} owners={} k{} n{} {} slabs={} panels={} fan-in={} split={}x{} {} {} f{}", to_text(plan.distribution), plan.rows,
                       plan.columns, plan.inner, to_text(plan.order), to_text(plan.owner_order), plan.inner_block, plan.output_block,
                       plan.interleaved_weights ? "interleaved" : "standard", plan.weight_slabs, plan.staged_panels, plan.fan_in,
                       plan.split_rows, plan.split_columns, staged_weights ? "staged" : "direct", plan.swapped ? "swapped" : "normal", 8 * plan.elem_bytes);
}

std::vector<Candidate> gemm_candidates(CandidateContext& context, const TileOperator& op) {
    std::vector<Candidate> candidates = filter_candidates(context, GemmEnumerator(context, op).run(), context.options.plans_per_operator);
    schedule_cheapest(context, op, candidates);
    return candidates;
}

Candidate gemm_candidate_of_key(CandidateContext& context, const TileOperator& op, const std::string& key) {
    GemmEnumerator enumerator(context, op);
    GemmPlan plan = enumerator.blank();
    std::array<char, 40> distribution{};
    std::array<char, 40> order{};
    std::array<char, 40> owners{};
    std::array<char, 40> memory{};
    std::array<char, 40> staged{};
    std::array<char, 40> orientation{};
    unsigned bits = 0;
    const int fields = std::sscanf(key.c_str(), "%39s %ux%ux%u %39s owners=%39s k%u n%u %39s slabs=%u panels=%u fan-in=%u split=%ux%u %39s %39s f%u",
                                   distribution.data(), &plan.rows, &plan.columns, &plan.inner, order.data(), owners.data(), &plan.inner_block,
                                   &plan.output_block, memory.data(), &plan.weight_slabs, &plan.staged_panels, &plan.fan_in, &plan.split_rows,
                                   &plan.split_columns, staged.data(), orientation.data(), &bits);
    if (fields != 17) bad_input("'{}' is no plan of a GEMM; `weft-inspect dump` of the .tasks shows them", key);
    const auto order_of = [](const char* text) {
        for (const GridOrder known : {GridOrder::ColumnsFast, GridOrder::RowsFast, GridOrder::InnerFast}) {
            if (to_text(known) == text) return known;
        }
        bad_input("'{}' is no grid order", text);
    };
    plan.order = order_of(order.data());
    plan.owner_order = order_of(owners.data());
    plan.interleaved_weights = std::string_view(memory.data()) == "interleaved";
    plan.swapped = std::string_view(orientation.data()) == "swapped";
    plan.elem_bytes = bits / 8;
    const bool precise = (plan.elem_bytes == 2 || plan.elem_bytes == 4) && !(plan.elem_bytes == 4 && plan.interleaved_weights);
    bool known = false;
    for (const Distribution d : {Distribution::OutputStationary, Distribution::PanelReduction, Distribution::ParallelReduction}) {
        if (to_text(d) != distribution.data()) continue;
        plan.distribution = d;
        known = true;
    }
    const std::uint64_t tiles = std::uint64_t{plan.rows} * plan.columns * plan.inner;
    const bool sane = known && precise && plan.rows > 0 && plan.columns > 0 && plan.inner > 0 && tiles <= context.target.core_count && plan.rows <= ceil_divide(op.m, row_grain(plan)) && (!plan.swapped || plan.distribution == Distribution::ParallelReduction) &&
                      plan.inner_block > 0 && plan.output_block > 0 && plan.weight_slabs > 0 && plan.staged_panels > 0 && plan.fan_in > 1 &&
                      plan.split_rows > 0 && plan.split_columns > 0 && plan.columns <= op.n && plan.inner <= op.k && plan.inner_block <= op.k;
    const bool splits = plan.distribution != Distribution::ParallelReduction || plan.split_rows * plan.split_columns == plan.inner;
    const bool panels = plan.distribution != Distribution::PanelReduction ||
                        (plan.columns == 1 && op.k % (plan.inner * plan.inner_block) == 0 && op.n % plan.output_block == 0);
    const bool slabs = plan.distribution != Distribution::OutputStationary || (plan.inner == 1 && plan.weight_slabs <= plan.rows);
    if (!sane || !splits || !panels || !slabs || gemm_key(plan, std::string_view(staged.data()) == "staged") != key) {
        bad_input("plan '{}' is not legal for a [{}, {}] x [{}, {}] product on {} tiles", key, op.m, op.k, op.k, op.n, context.target.core_count);
    }
    enumerator.consider(plan, std::string_view(staged.data()) == "staged", false);
    schedule_cheapest(context, op, enumerator.candidates());
    return std::move(enumerator.candidates().front());
}

}  // namespace weft::ipu21
