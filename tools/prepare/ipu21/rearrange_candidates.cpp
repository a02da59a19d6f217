// Plans of rearrangements. None of them exchanges anything: every tile makes its part of the output of its part of the input, and the
// conversions around it, which the graph's planner costs and schedules, bring elements from and to where others want them.
#include <algorithm>

#include "ipu21/operand.h"
#include "ipu21/rearrange.h"
#include "prepare/ipu21/candidates.h"

namespace weft::ipu21 {
namespace {

class RearrangeEnumerator {
public:
    RearrangeEnumerator(CandidateContext& context, const Rearrangement& rearrangement)
        : context_(context), there_(rearrangement), back_(inverse(rearrangement)) {}

    std::vector<Candidate> run(const std::vector<TileLayout>& reachable, const std::vector<TileLayout>& wanted) {
        for (const TileLayout& layout : reachable) from(layout);
        for (const TileLayout& layout : wanted) into(layout);
        constexpr std::size_t own_pairs = 16;
        for (const CarriedPair& pair : carried_pairs(there_, context_.active_tiles.front(), own_pairs)) between(pair);
        return std::move(candidates_);
    }

private:
    [[nodiscard]] std::uint32_t micro() const { return context_.target.ipu21.amp_columns; }

    /// As the matrix unit streams it, or row by row where a part ends inside a micro-block.
    [[nodiscard]] std::optional<TileLayout> plain(const TileLayout& layout, MatrixShape shape) const {
        const auto streamed = in_order(layout, shape, TileOrder::AmpLeft, micro());
        return streamed ? streamed : in_order(layout, shape, TileOrder::RowMajor, micro());
    }

    /// What a producer leaves.
    void from(const TileLayout& input) {
        LocalOrder local{};
        const auto carried = carried_layout(there_, input, &local);
        if (!carried) return;
        if (const auto view = viewed_layout(there_, input, *carried, local)) add_view(input, *view);
        if (const auto output = plain(*carried, there_.output)) add_copy(input, *output);
    }

    /// What a consumer wants.
    void into(const TileLayout& output) {
        LocalOrder local{};
        const auto carried = carried_layout(back_, output, &local);
        if (!carried) return;
        if (const auto view = viewed_layout(back_, output, *carried, local)) add_view(*view, output);
        if (auto input = plain(*carried, there_.input)) {
            input->memory = static_cast<std::uint32_t>(TileMemory::Standard);
            add_copy(*input, output);
        }
    }

    void between(const CarriedPair& pair) {
        for (const TileOrder order : {TileOrder::AmpLeft, TileOrder::AmpTransposedLeft, TileOrder::AmpTransposedRight, TileOrder::RowMajor}) {
            TileLayout like = pair.input;
            like.elem_bytes = context_.options.elem_bytes();
            const auto input = in_order(like, there_.input, order, micro());
            if (!input) continue;
            TileLayout carried = pair.output;
            carried.order = input->order;
            carried.elem_bytes = input->elem_bytes;
            if (const auto view = viewed_layout(there_, *input, carried, pair.local)) add_view(*input, *view);
            const auto output = plain(carried, there_.output);
            if (order == TileOrder::AmpLeft && output) add_copy(*input, *output);
        }
    }

    /// A view is worth what its reader makes of it: only the layouts that the planner knows as operands and results are.
    void add_view(const TileLayout& input, const TileLayout& output) {
        add(input, output, TileDistribution::View, CostTerms{}, fmt::format("view [{}] as [{}]", to_text(input), to_text(output)));
    }

    void add_copy(const TileLayout& input, TileLayout output) {
        const KernelCost kernel = context_.kernels.rearrange(shard_bytes(output, there_.output) / output.elem_bytes);
        CostTerms terms;
        terms.local = kernel.cycles;
        terms.local_source = kernel.source;
        terms.error_ppm = kernel.error_ppm;
        terms.calls = 1;
        terms.launch = context_.target.ipu21.launch_cycles;
        for (const TileMemory memory : {TileMemory::Standard, TileMemory::Interleaved}) {
            output.memory = static_cast<std::uint32_t>(memory);
            add(input, output, TileDistribution::Local, terms, fmt::format("copy [{}] to [{}]", to_text(input), to_text(output)));
        }
    }

    void add(const TileLayout& input, const TileLayout& output, TileDistribution distribution, const CostTerms& terms, std::string key) {
        if (std::ranges::find(candidates_, key, &Candidate::key) != candidates_.end()) return;
        ++context_.counts.enumerated;
        const Ipu21& machine = context_.target.ipu21;
        Candidate candidate;
        candidate.inputs.push_back(input);
        candidate.output = output;
        candidate.input_bytes.push_back(operand_bytes(machine, input, there_.input));
        candidate.output_bytes = operand_bytes(machine, output, there_.output);
        if (candidate.input_bytes[0] + candidate.output_bytes > whole_room(machine)) {
            ++context_.counts.infeasible;
            return;
        }
        TilePlan& plan = candidate.plan;
        plan.distribution = static_cast<std::uint32_t>(distribution);
        plan.rows = input.row_parts;
        plan.columns = input.column_parts;
        plan.inner = 1;
        plan.tiles = layout_tiles(input);
        const auto standard = [](const TileLayout& layout, std::uint64_t bytes) { return layout.memory == static_cast<std::uint32_t>(TileMemory::Standard) ? bytes : 0; };
        plan.largest_standard = static_cast<std::uint32_t>(std::max(standard(input, candidate.input_bytes[0]), standard(output, candidate.output_bytes)));
        set_cost(plan, terms);
        candidate.key = std::move(key);
        candidates_.push_back(std::move(candidate));
    }

    CandidateContext& context_;
    Rearrangement there_;
    Rearrangement back_;
    std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<Candidate> rearrange_candidates(CandidateContext& context, const Rearrangement& rearrangement, const std::vector<TileLayout>& reachable,
                                            const std::vector<TileLayout>& wanted, std::string_view name) {
    std::vector<Candidate> candidates = RearrangeEnumerator(context, rearrangement).run(reachable, wanted);
    if (candidates.empty()) {
        refuse("operator '{}' rearranges [{}, {}] to [{}, {}], which cannot be cut finely enough: no tile holds a part of both. Shapes whose rows are "
               "multiples of one another can be cut",
               name, rearrangement.input.rows, rearrangement.input.columns, rearrangement.output.rows, rearrangement.output.columns);
    }
    return filter_candidates(context, std::move(candidates), context.options.plans_per_operator);
}

}  // namespace weft::ipu21
