#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "base/checked.h"
#include "ipu21/gemm_memory.h"
#include "ipu21/operand.h"
#include "prepare/ipu21/candidates.h"

namespace weft::ipu21 {
namespace {

/// Largest memory that one class offers a tile.
struct ClassLimits {
    std::uint64_t standard;
    std::uint64_t interleaved;

    explicit ClassLimits(const Target& target) : standard(whole_room(target.ipu21)), interleaved(interleaved_room(target.ipu21)) {}
};

/// Weight transfers are told apart by which tiles receive together; with one row or one column partition both orders are the same.
bool order_matters(const GemmPlan& plan) { return plan.rows > 1 && plan.columns * plan.inner > 1; }

class GemmEnumerator {
public:
    GemmEnumerator(CandidateContext& context, const TileOperator& op) : context_(context), op_(op), limits_(context.target) {}

    std::vector<Candidate> run() {
        for (const std::uint32_t elem_bytes : context_.options.precisions) {
            for (const std::uint32_t tiles : context_.active_tiles) {
                output_stationary(tiles, elem_bytes);
                panel_reduction(tiles, elem_bytes);
            }
            // The grids of fewer tiles are among those that the largest number leaves.
            parallel_reduction(context_.active_tiles.front(), elem_bytes, false);
            parallel_reduction(context_.active_tiles.front(), elem_bytes, true);
        }
        // A matrix too small for so many tiles gets fewer.
        for (std::uint32_t tiles = std::bit_floor(context_.active_tiles.back()); candidates_.empty() && tiles > 0; tiles /= 2) {
            output_stationary(tiles, context_.options.precisions.front());
            parallel_reduction(tiles, context_.options.precisions.front(), false);
        }
        return std::move(candidates_);
    }

    void consider(const GemmPlan& plan, bool staged, bool filter = true) {
        ++context_.counts.enumerated;
        const Ipu21& machine = context_.target.ipu21;
        const bool bias = op_.constant_elems != 0;
        const GemmMemory memory = gemm_memory(context_.target, plan, staged, bias);
        Candidate candidate;
        candidate.inputs.push_back(left_layout(plan));
        candidate.output = output_layout(plan, TileMemory::Interleaved);
        const std::uint64_t left = operand_bytes(machine, candidate.inputs[0], {plan.m, plan.k});
        const std::uint64_t output = operand_bytes(machine, candidate.output, {plan.m, plan.n});
        candidate.input_bytes = {left};
        candidate.output_bytes = output;
        const bool left_interleaved = candidate.inputs[0].memory == static_cast<std::uint32_t>(TileMemory::Interleaved);
        const std::uint64_t left_standard = left_interleaved ? 0 : left;
        const std::uint64_t standard = memory.resident_standard + memory.temporary_standard + left_standard + memory.row_bytes;
        const std::uint64_t interleaved = memory.resident_interleaved + memory.temporary_interleaved + output + left - left_standard;
        if (filter && (standard > limits_.standard || interleaved > limits_.interleaved || standard + interleaved > limits_.standard)) {
            ++context_.counts.infeasible;
            return;
        }
        TilePlan& row = candidate.plan;
        set_grid(row, plan, staged);
        row.resident_standard = saturated(memory.resident_standard);
        row.resident_interleaved = saturated(memory.resident_interleaved);
        row.temporary_standard = saturated(memory.temporary_standard);
        row.temporary_interleaved = saturated(memory.temporary_interleaved);
        row.largest_standard = saturated(std::max(memory.largest_standard, left_standard));
        row.row_bytes = saturated(memory.row_bytes);
        CostTerms terms = gemm_cost(context_.target, plan, staged, context_.kernels);
        if (bias) {
            const std::uint64_t elems = shard_bytes(candidate.output, {plan.m, plan.n}) / plan.elem_bytes;
            terms.local += context_.kernels.pointwise(elems, plan.elem_bytes).cycles;
            terms.launch += machine.launch_cycles;
            ++terms.calls;
        }
        set_cost(row, terms);
        candidate.key = gemm_key(plan, staged);
        candidates_.push_back(std::move(candidate));
    }

    [[nodiscard]] GemmPlan blank(std::uint32_t elem_bytes) const {
        GemmPlan plan;
        plan.m = op_.m;
        plan.n = op_.n;
        plan.k = op_.k;
        plan.elem_bytes = elem_bytes;
        plan.inner_block = std::min(context_.target.ipu21.inner_block, op_.k);
        plan.amp_columns = context_.target.ipu21.amp_columns;
        return plan;
    }

    [[nodiscard]] std::vector<Candidate>& candidates() { return candidates_; }

private:
    static std::uint32_t saturated(std::uint64_t bytes) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, 0xffffffffU)); }

    static void set_grid(TilePlan& row, const GemmPlan& plan, bool staged) {
        row.distribution = static_cast<std::uint32_t>(plan.distribution);
        row.order = static_cast<std::uint32_t>(plan.order);
        row.owner_order = static_cast<std::uint32_t>(plan.owner_order);
        row.rows = plan.rows;
        row.columns = plan.columns;
        row.inner = plan.inner;
        row.inner_block = plan.inner_block;
        row.output_block = plan.output_block;
        row.weight_slabs = plan.weight_slabs;
        row.weight_columns = plan.weight_columns;
        row.weight_copies = plan.weight_copies;
        row.staged_panels = plan.staged_panels;
        row.fan_in = plan.fan_in;
        row.split_rows = plan.split_rows;
        row.split_columns = plan.split_columns;
        row.interleaved_weights = plan.interleaved_weights ? 1 : 0;
        row.staged_weights = staged ? 1 : 0;
        row.tiles = plan.tiles();
    }

    void output_stationary(std::uint32_t tiles, std::uint32_t elem_bytes) {
        for (std::uint32_t columns = 1; columns <= tiles; ++columns) {
            if (tiles % columns != 0 || tiles / columns > op_.m) continue;
            GemmPlan plan = blank(elem_bytes);
            plan.rows = tiles / columns;
            plan.columns = columns;
            for (const std::uint32_t block : {32U, 64U, 128U}) {
                if (std::uint64_t{block} * columns > op_.n + std::uint64_t{block} * columns / 4) continue;
                if (plan.elem_bytes == 4 && block != 64) continue;
                plan.output_block = block;
                for (const GemmPlan& stored : storages(plan)) {
                    if (!stored.moves_weights() && block == 128) continue;   // wide blocks exist for streamed panels only
                    memories(stored);
                }
            }
        }
    }

    /// The plan with each way to store its weights: on every tile; cut along K over the rows of the grid; cut in two, so that pairs of rows
    /// share them; and cut along the columns too where the rows of the grid leave tiles that store nothing.
    [[nodiscard]] std::vector<GemmPlan> storages(const GemmPlan& plan) const {
        const std::uint32_t shards = plan.distribution == Distribution::ParallelReduction
                                         ? ceil_divide(ceil_divide(op_.k, plan.inner), plan.amp_columns)
                                         : ceil_divide(op_.k, plan.inner_block);
        std::vector<GemmPlan> result(1, plan);
        result[0].weight_copies = plan.rows;
        if (plan.rows == 1 || shards == 1) return result;
        GemmPlan stored = plan;
        stored.weight_slabs = std::min(plan.rows, shards);
        stored.weight_copies = 1;
        result.push_back(stored);
        if (plan.distribution == Distribution::OutputStationary) {
            stored.weight_columns = column_shards(plan, stored.weight_slabs, ceil_divide(ceil_divide(op_.n, plan.output_block), plan.columns));
            if (stored.weight_columns > 1) result.push_back(stored);
        }
        if (plan.elem_bytes == 2 && plan.rows > 2 && plan.rows % 2 == 0) {
            stored.weight_columns = 1;
            stored.weight_slabs = 2;
            stored.weight_copies = plan.rows / 2;
            result.push_back(stored);
        }
        return result;
    }

    /// Column shards of each slab such that the fullest tile stores the fewest panels, and then that the fewest tiles store none.
    [[nodiscard]] static std::uint32_t column_shards(const GemmPlan& plan, std::uint32_t slabs, std::uint32_t panels) {
        std::uint32_t best = 1;
        const auto stored = [&](std::uint32_t shards) { return std::uint64_t{ceil_divide(slabs * shards, plan.rows)} * ceil_divide(panels, shards); };
        for (std::uint32_t shards = 2; shards <= panels; ++shards) {
            if (stored(shards) < stored(best)) best = shards;
        }
        return best;
    }

    void memories(GemmPlan plan) {
        const bool pairs = plan.moves_weights() && plan.weight_copies > 1;
        for (const bool interleaved : {true, false}) {
            if (interleaved && plan.elem_bytes == 4) continue;
            if (!interleaved && (plan.output_block == 32 || pairs)) continue;
            plan.interleaved_weights = interleaved;
            orders(plan, false);
            if (!interleaved && plan.elem_bytes == 2 && !plan.moves_weights()) orders(plan, true);
        }
    }

    /// Rows-fast is compared where weights are streamed (their bytes then exceed the activations', which do not move) and the
    /// grouping differs; by default only when it is predicted to win, which with owners that follow the order it never does
    /// by more than the model's error.
    void orders(const GemmPlan& plan, bool staged) {
        consider(plan, staged);
        if (!plan.moves_weights() || plan.split_rows > 1) return;   // parts of rows are numbered without holes in columns-fast grids only
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

    /// Partners of a reduction are neighbours in columns-fast grids already, so inner-fast is the same grid.
    void panel_reduction(std::uint32_t tiles, std::uint32_t elem_bytes) {
        const std::uint32_t block = context_.target.ipu21.inner_block;
        if (op_.k % block != 0 || elem_bytes != 2) return;
        const std::uint32_t blocks = op_.k / block;
        for (std::uint32_t inner = 2; inner <= std::min(blocks, 64U); ++inner) {
            if (blocks % inner != 0 || tiles % inner != 0 || tiles / inner > op_.m) continue;
            GemmPlan plan = blank(elem_bytes);
            plan.distribution = Distribution::PanelReduction;
            plan.rows = tiles / inner;
            plan.inner = inner;
            plan.weight_slabs = blocks;
            for (const std::uint32_t output : {64U, 128U}) {
                if (op_.n % output == 0) panel_variants(plan, output);
            }
        }
    }

    void panel_variants(GemmPlan plan, std::uint32_t output_block) {
        plan.output_block = output_block;
        const std::uint32_t panels = op_.n / output_block;
        for (const std::uint32_t shards : std::set<std::uint32_t>{1, column_shards(plan, plan.weight_slabs, ceil_divide(panels, plan.inner))}) {
            plan.weight_columns = shards;
            for (const std::uint32_t staged : {1U, 2U, 4U, 8U}) {
                if (staged > panels) continue;
                plan.staged_panels = staged;
                for (const std::uint32_t fan_in : {2U, 3U, 4U}) {
                    if (fan_in > plan.inner) continue;
                    plan.fan_in = fan_in;
                    ++context_.counts.same_grouping;   // inner-fast
                    orders(plan, false);
                }
            }
        }
    }

    /// Swapped: micro-blocks of rows are dealt instead of rows.
    void parallel_reduction(std::uint32_t tiles, std::uint32_t elem_bytes, bool swapped) {
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
                GemmPlan plan = blank(elem_bytes);
                plan.distribution = Distribution::ParallelReduction;
                plan.rows = rows;
                plan.columns = columns;
                plan.inner = inner;
                plan.swapped = swapped;
                parallel_variants(plan, row_limit);
            }
        }
    }

    /// Both ways to split the result over the partners, all storages, and partial sums that come all at once or one by one.
    void parallel_variants(const GemmPlan& plan, std::uint32_t row_limit) {
        const std::uint32_t column_limit = ceil_divide(op_.n, plan.amp_columns);
        for (GemmPlan stored : storages(plan)) {
            const bool pairs = stored.moves_weights() && stored.weight_copies > 1;
            for (const bool interleaved : {true, false}) {
                if (interleaved && plan.elem_bytes == 4) continue;
                if (!interleaved && pairs) continue;
                stored.interleaved_weights = interleaved;
                for (const std::uint32_t fan_in : std::set<std::uint32_t>{2U, std::max(2U, plan.inner)}) {
                    stored.fan_in = fan_in;
                    GemmPlan by_rows = stored;
                    by_rows.split_rows = plan.inner;
                    if (std::uint64_t{plan.rows} * plan.inner <= row_limit) staged_or_direct(by_rows);
                    if (plan.inner == 1) continue;
                    GemmPlan by_columns = stored;
                    by_columns.split_columns = plan.inner;
                    by_columns.order = GridOrder::InnerFast;
                    by_columns.owner_order = GridOrder::InnerFast;
                    if (std::uint64_t{plan.columns} * plan.inner <= column_limit) staged_or_direct(by_columns);
                }
            }
        }
    }

    /// Activations of a swapped plan that lie in standard memory are loaded from there, or from an interleaved copy.
    void staged_or_direct(const GemmPlan& plan) {
        orders(plan, false);
        if (plan.swapped && !plan.interleaved_weights && plan.elem_bytes == 2) orders(plan, true);
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
    return fmt::format("{} {}x{}x{} {} owners={} k{} n{} {} weights={}x{}x{} panels={} fan-in={} split={}x{} {} {} f{}", to_text(plan.distribution), plan.rows,
                       plan.columns, plan.inner, to_text(plan.order), to_text(plan.owner_order), plan.inner_block, plan.output_block,
                       plan.interleaved_weights ? "interleaved" : "standard", plan.weight_slabs, plan.weight_columns, plan.weight_copies, plan.staged_panels, plan.fan_in,
                       plan.split_rows, plan.split_columns, staged_weights ? "staged" : "direct", plan.swapped ? "swapped" : "normal", 8 * plan.elem_bytes);
}

std::vector<Candidate> gemm_candidates(CandidateContext& context, const TileOperator& op) {
    std::vector<Candidate> candidates = filter_candidates(context, GemmEnumerator(context, op).run(), context.options.plans_per_operator);
    schedule_cheapest(context, op, candidates);
    return candidates;
}

Candidate gemm_candidate_of_key(CandidateContext& context, const TileOperator& op, const std::string& key) {
    GemmEnumerator enumerator(context, op);
    GemmPlan plan = enumerator.blank(2);
    std::array<char, 40> distribution{};
    std::array<char, 40> order{};
    std::array<char, 40> owners{};
    std::array<char, 40> memory{};
    std::array<char, 40> staged{};
    std::array<char, 40> orientation{};
    unsigned bits = 0;
    const int fields = std::sscanf(key.c_str(), "%39s %ux%ux%u %39s owners=%39s k%u n%u %39s weights=%ux%ux%u panels=%u fan-in=%u split=%ux%u %39s %39s f%u",
                                   distribution.data(), &plan.rows, &plan.columns, &plan.inner, order.data(), owners.data(), &plan.inner_block,
                                   &plan.output_block, memory.data(), &plan.weight_slabs, &plan.weight_columns, &plan.weight_copies, &plan.staged_panels,
                                   &plan.fan_in, &plan.split_rows, &plan.split_columns, staged.data(), orientation.data(), &bits);
    if (fields != 19) bad_input("'{}' is no plan of a GEMM; `weft-inspect dump` of the .tasks shows them", key);
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
    bool known = false;
    for (const Distribution d : {Distribution::OutputStationary, Distribution::PanelReduction, Distribution::ParallelReduction}) {
        if (to_text(d) != distribution.data()) continue;
        plan.distribution = d;
        known = true;
    }
    const std::uint64_t tiles = std::uint64_t{plan.rows} * plan.columns * plan.inner;
    const bool fits = known && tiles <= context.target.core_count && plan.inner_block <= op.k && is_legal(plan);
    if (!fits || gemm_key(plan, std::string_view(staged.data()) == "staged") != key) {
        bad_input("plan '{}' is not legal for a [{}, {}] x [{}, {}] product on {} tiles", key, op.m, op.k, op.k, op.n, context.target.core_count);
    }
    enumerator.consider(plan, std::string_view(staged.data()) == "staged", false);
    schedule_cheapest(context, op, enumerator.candidates());
    return std::move(enumerator.candidates().front());
}

}  // namespace weft::ipu21
