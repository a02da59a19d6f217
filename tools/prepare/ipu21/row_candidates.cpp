// Plans of element-wise and row-wise operators and of attention.
#include <algorithm>

#include "base/checked.h"
#include "ipu21/operand.h"
#include "prepare/ipu21/candidates.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint32_t word_bytes = 4;
constexpr std::uint32_t most_row_partners = 64;   // a row cut into more parts costs more to reduce than to gather

bool needs_rows(TileOperatorKind kind) { return kind == TileOperatorKind::LayerNorm || kind == TileOperatorKind::Softmax; }

/// The matrix cut into runs of rows over as many tiles as there are.
TileLayout linear_layout(const CandidateContext& context, MatrixShape shape) {
    const std::uint32_t parts = std::min(context.active_tiles.front(), shape.rows);
    return {static_cast<std::uint32_t>(TileOrder::AmpLeft), static_cast<std::uint32_t>(TileMemory::Standard), context.options.elem_bytes(), parts, 1, 1, 1,
            parts, parts, 1, context.target.ipu21.amp_columns};
}

KernelCost kernel_of(const CandidateContext& context, TileOperatorKind kind, std::uint64_t elems, std::uint32_t elem_bytes) {
    switch (kind) {
        case TileOperatorKind::Gelu: return context.kernels.gelu(elems);
        case TileOperatorKind::LayerNorm: return context.kernels.norm(elems);
        case TileOperatorKind::Softmax: return context.kernels.softmax(elems);
        case TileOperatorKind::Cast: return context.kernels.cast(elems * elem_bytes, elems * elem_bytes);
        case TileOperatorKind::Add: return context.kernels.pointwise(2 * elems, elem_bytes);
        default: return context.kernels.pointwise(elems, elem_bytes);
    }
}

/// Partial row sums (two words a row) go from every column part to all others: all of a row's tiles take part in each multicast,
/// so there are as many slots as parts.
void add_row_exchange(const CandidateContext& context, TileOperatorKind kind, const TileLayout& layout, MatrixShape shape, CostTerms& terms,
                      TilePlan& plan) {
    const Ipu21& machine = context.target.ipu21;
    const std::uint64_t rows = ceil_divide(shape.rows, layout.row_parts);
    const std::uint64_t words = 2 * rows;
    constexpr std::uint64_t overhead = 103;
    const std::uint64_t phases = kind == TileOperatorKind::Softmax ? 2 : 1;
    const bool exclusive = machine.discipline == ExchangeDiscipline::Exclusive;
    terms.exchange += phases * (exclusive ? layout.column_parts * (words + overhead) : (layout.column_parts - 1) * (words + 1) + overhead);
    terms.phases = static_cast<std::uint32_t>(phases);
    terms.launch += phases * machine.measured_boundary_cycles;
    plan.temporary_standard += static_cast<std::uint32_t>(padded_bytes(machine, words * word_bytes * layout.column_parts));
    plan.row_bytes = static_cast<std::uint32_t>(phases * word_bytes * (1 + std::uint64_t{machine.exchange_row_words} * (layout.column_parts + 1)));
}

Candidate local_candidate(CandidateContext& context, const TileOperator& op, MatrixShape shape, const TileLayout& input, TileMemory memory) {
    const auto kind = static_cast<TileOperatorKind>(op.kind);
    Candidate candidate;
    candidate.inputs.assign(op.input_count, input);
    candidate.output = input;
    candidate.output.memory = static_cast<std::uint32_t>(memory);
    TilePlan& plan = candidate.plan;
    const bool exchanges = needs_rows(kind) && input.column_parts > 1;
    plan.distribution = static_cast<std::uint32_t>(exchanges ? TileDistribution::RowExchange : TileDistribution::Local);
    plan.rows = input.row_parts;
    plan.columns = input.column_parts;
    plan.inner = 1;
    plan.tiles = layout_tiles(input);
    const Ipu21& machine = context.target.ipu21;
    const std::uint64_t bytes = operand_bytes(machine, input, shape);
    candidate.input_bytes.assign(op.input_count, bytes);
    candidate.output_bytes = bytes;
    CostTerms terms;
    const KernelCost kernel = kernel_of(context, kind, shard_bytes(input, shape) / input.elem_bytes, input.elem_bytes);
    terms.local = kernel.cycles;
    terms.local_source = kernel.source;
    terms.error_ppm = kernel.error_ppm;
    terms.calls = 1;
    terms.launch = machine.launch_cycles;
    const std::uint32_t columns = ceil_divide(ceil_divide(shape.columns, input.column_grain), input.column_parts) * input.column_grain;
    const std::uint32_t per_column = ceil_divide(op.constant_elems, shape.columns);
    const std::uint64_t constants = op.constant_elems == 0 ? 0 : std::min<std::uint64_t>(std::uint64_t{columns} * per_column, op.constant_elems);
    plan.resident_standard = static_cast<std::uint32_t>(padded_bytes(machine, constants * input.elem_bytes));
    plan.largest_standard = input.memory == 0 ? static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, 0xffffffffU)) : 0;
    if (exchanges) add_row_exchange(context, kind, input, shape, terms, plan);
    set_cost(plan, terms);
    candidate.key = fmt::format("local [{}] to {}", to_text(input), memory == TileMemory::Standard ? "standard" : "interleaved");
    return candidate;
}

}  // namespace

std::vector<Candidate> pointwise_candidates(CandidateContext& context, const TileOperator& op, MatrixShape shape,
                                            const std::vector<TileLayout>& reachable) {
    const auto kind = static_cast<TileOperatorKind>(op.kind);
    std::vector<Candidate> candidates;
    const auto add = [&](const TileLayout& layout) {
        for (const TileMemory memory : {TileMemory::Standard, TileMemory::Interleaved}) {
            ++context.counts.enumerated;
            candidates.push_back(local_candidate(context, op, shape, layout, memory));
        }
    };
    const TileLayout linear = linear_layout(context, shape);
    add(linear);
    for (const TileLayout& layout : reachable) {
        if (needs_rows(kind) && (layout.column_parts > most_row_partners || layout.replicas > 1)) continue;
        if (layout == linear) continue;
        add(layout);
    }
    return filter_candidates(context, std::move(candidates), context.options.plans_per_operator);
}

namespace {

/// Keys and values stay cut over the tiles of their head, as the queries are, and pass by in rounds: in each some of the tiles
/// send their keys and values to all others of the head.
Candidate streamed_attention(CandidateContext& context, const TileOperator& op, std::uint32_t parts) {
    ++context.counts.enumerated;
    const Ipu21& machine = context.target.ipu21;
    const std::uint32_t elem_bytes = context.options.elem_bytes();
    const std::uint32_t rows = ceil_divide(op.m, parts);
    const std::uint32_t tiles = op.batch * op.heads * parts;
    const TileLayout layout{static_cast<std::uint32_t>(TileOrder::AmpLeft), 0, elem_bytes, op.batch * parts, op.heads, 1, op.heads, 1, tiles, 1, op.n};
    constexpr std::uint64_t round_bytes = 32768;   // keys and values of one round
    const std::uint64_t shard = std::uint64_t{rows} * op.n * elem_bytes;
    const auto senders = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(round_bytes / (2 * shard), 1, parts));
    Candidate candidate;
    candidate.inputs = {layout, layout, layout};
    candidate.output = layout;
    TilePlan& plan = candidate.plan;
    plan.distribution = static_cast<std::uint32_t>(TileDistribution::AttentionGrid);
    plan.rows = op.batch * parts;
    plan.columns = op.heads;
    plan.inner = 1;
    plan.tiles = tiles;
    plan.staged_panels = senders;
    const std::uint32_t rounds = ceil_divide(parts, senders);
    CostTerms terms;
    terms.local = ceil_divide<std::uint64_t>(4 * std::uint64_t{rows} * op.k * op.n, elem_bytes == 2 ? machine.flops_f16 : machine.flops_f32);
    terms.local += context.kernels.softmax(std::uint64_t{rows} * op.k).cycles;
    terms.phases = rounds;
    terms.calls = 4 * rounds;
    // Every multicast of a head takes all of its tiles, so keys and values of all parts follow one another.
    const std::uint64_t words = ceil_divide<std::uint64_t>(shard, word_bytes);
    constexpr std::uint64_t overhead = 150;
    const bool exclusive = machine.discipline == ExchangeDiscipline::Exclusive;
    terms.exchange = 2 * std::uint64_t{parts} * (words + (exclusive ? overhead : 1)) + (exclusive ? 0 : rounds * overhead);
    terms.launch = std::uint64_t{terms.calls} * machine.launch_cycles + std::uint64_t{rounds} * machine.measured_boundary_cycles;
    plan.temporary_standard =
        static_cast<std::uint32_t>(padded_bytes(machine, 2 * senders * shard + std::uint64_t{rows} * (std::uint64_t{senders} * rows + 2 + op.n) * word_bytes));
    plan.largest_standard = static_cast<std::uint32_t>(std::max<std::uint64_t>(operand_bytes(machine, layout, {op.m, op.n}), plan.temporary_standard));
    const auto pieces = static_cast<std::uint32_t>(ceil_divide<std::uint64_t>(words, machine.max_transfer_words));
    plan.row_bytes = word_bytes * rounds * (1 + machine.exchange_row_words * 2 * senders * pieces);
    set_cost(plan, terms);
    candidate.key = fmt::format("attention {} query parts x {} heads x {} batch, keys streamed {} parts a round", parts, op.heads, op.batch, senders);
    return candidate;
}

}  // namespace

std::vector<Candidate> attention_candidates(CandidateContext& context, const TileOperator& op) {
    const Ipu21& machine = context.target.ipu21;
    const std::uint32_t elem_bytes = context.options.elem_bytes();
    const std::uint32_t groups = op.batch * op.heads;
    std::vector<Candidate> candidates;
    std::set<std::uint32_t> query_parts;
    for (const std::uint32_t tiles : context.active_tiles) {
        const std::uint32_t most = std::min(op.m, tiles / groups);
        if (most > 0) query_parts.insert(most);
        // Every batch entry is cut the same way, so the cut must fall between entries.
        for (std::uint32_t parts = most; parts > 0 && op.batch > 1; --parts) {
            if (op.m % parts == 0) {
                query_parts.insert(parts);
                break;
            }
        }
    }
    for (const std::uint32_t parts : query_parts) {
        if (op.batch > 1 && op.m % parts != 0) continue;
        if (parts > 1 && op.k == op.m) candidates.push_back(streamed_attention(context, op, parts));
        ++context.counts.enumerated;
        const std::uint32_t rows = ceil_divide(op.m, parts);
        Candidate candidate;
        const auto order = static_cast<std::uint32_t>(TileOrder::AmpLeft);
        const std::uint32_t tiles = groups * parts;
        const TileLayout queries{order, 0, elem_bytes, op.batch * parts, op.heads, 1, op.heads, 1, tiles, 1, op.n};
        const TileLayout keys{order, 0, elem_bytes, op.batch, op.heads, parts, parts * op.heads, 1, op.heads, 1, op.n};
        candidate.inputs = {queries, keys, keys};
        candidate.output = queries;
        TilePlan& plan = candidate.plan;
        plan.distribution = static_cast<std::uint32_t>(TileDistribution::AttentionGrid);
        plan.rows = op.batch * parts;
        plan.columns = op.heads;
        plan.inner = 1;
        plan.tiles = tiles;
        CostTerms terms;
        // Both products at the F16 rate, and the softmax of the scores between them.
        terms.local = ceil_divide<std::uint64_t>(4 * std::uint64_t{rows} * op.k * op.n, elem_bytes == 2 ? machine.flops_f16 : machine.flops_f32);
        const KernelCost softmax = context.kernels.softmax(std::uint64_t{rows} * op.k);
        terms.local += softmax.cycles;
        terms.local_source = CostSource::Analytical;
        constexpr std::uint32_t key_block = 64;
        terms.calls = 4 * ceil_divide(op.k, key_block);
        terms.launch = std::uint64_t{terms.calls} * machine.launch_cycles;
        // Scores of one key block in F32, running maximum and sum, and the F32 accumulator.
        plan.temporary_standard =
            static_cast<std::uint32_t>(padded_bytes(machine, std::uint64_t{rows} * (std::min(op.k, key_block) + 2 + op.n) * word_bytes));
        plan.largest_standard = static_cast<std::uint32_t>(std::max<std::uint64_t>(operand_bytes(machine, keys, {op.batch * op.k, op.heads * op.n}), plan.temporary_standard));
        set_cost(plan, terms);
        candidate.key = fmt::format("attention {} query parts x {} heads x {} batch", parts, op.heads, op.batch);
        candidates.push_back(std::move(candidate));
    }
    if (candidates.empty()) {
        refuse("attention of {} batch entries and {} heads needs at least {} tiles, the target has {}", op.batch, op.heads, groups, context.target.core_count);
    }
    return candidates;
}

}  // namespace weft::ipu21
