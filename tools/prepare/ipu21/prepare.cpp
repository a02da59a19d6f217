#include "prepare/ipu21/prepare.h"

#include <algorithm>

#include "prepare/ipu21/operators.h"

namespace weft::ipu21 {
namespace {

/// Sizes that a grid may want to divide: those of every matrix, and the graph's own axes.
std::set<std::uint32_t> extents_of(const Graph& graph, const TasksColumns& tasks) {
    std::set<std::uint32_t> extents(graph.dims.begin(), graph.dims.end());
    for (const TileValue& value : tasks.tile_values) {
        extents.insert(value.rows);
        extents.insert(value.columns);
    }
    return extents;
}

MatrixShape shape_of(const TasksColumns& tasks, std::uint32_t value) {
    return {tasks.tile_values[value].rows, tasks.tile_values[value].columns};
}

class Preparer {
public:
    Preparer(TasksColumns& tasks, CandidateContext& context, const PrepareOptions& options)
        : tasks_(tasks), context_(context), options_(options), reachable_(tasks.tile_values.size()), known_(tasks.tile_operators.size()) {}

    void run() {
        check_forced();
        // Products and attention have the same plans whatever their inputs' layouts are; what they want is known to what stands before them.
        for (std::uint32_t op = 0; op < tasks_.tile_operators.size(); ++op) {
            if (!follows_inputs(tasks_.tile_operators[op])) known_[op] = forced_or_all(op);
        }
        for (std::uint32_t op = 0; op < tasks_.tile_operators.size(); ++op) add_plans(op);
        tasks_.tile_layouts = layouts_.layouts();
    }

private:
    [[nodiscard]] static bool follows_inputs(const TileOperator& op) {
        const auto kind = static_cast<TileOperatorKind>(op.kind);
        return kind != TileOperatorKind::Gemm && kind != TileOperatorKind::Attention && kind != TileOperatorKind::Product;
    }

    void check_forced() const {
        for (const auto& forced : options_.forced) {
            const auto& name = forced.first;
            const bool known = std::ranges::any_of(tasks_.tile_operators, [&](const TileOperator& op) { return pool_text(tasks_.name_pool, op.name) == name; });
            if (!known) bad_input("there is no operator '{}' to force a plan on", name);
        }
    }

    /// Layouts that some plan of a producer gives the operator's inputs.
    [[nodiscard]] std::vector<TileLayout> input_layouts(const TileOperator& op) const {
        std::vector<TileLayout> result;
        for (std::uint32_t slot = 0; slot < op.input_count; ++slot) {
            for (const TileLayout& layout : reachable_[tasks_.tile_inputs[op.first_input + slot]]) {
                if (std::ranges::find(result, layout) == result.end()) result.push_back(layout);
            }
        }
        return result;
    }

    /// Layouts in which products and attention read a value.
    [[nodiscard]] std::vector<TileLayout> wanted_layouts(std::uint32_t value) const {
        std::vector<TileLayout> result;
        for (std::uint32_t reader = 0; reader < tasks_.tile_operators.size(); ++reader) {
            const TileOperator& op = tasks_.tile_operators[reader];
            for (std::uint32_t slot = 0; slot < op.input_count && !known_[reader].empty(); ++slot) {
                if (tasks_.tile_inputs[op.first_input + slot] != value) continue;
                for (const Candidate& candidate : known_[reader]) {
                    if (std::ranges::find(result, candidate.inputs[slot]) == result.end()) result.push_back(candidate.inputs[slot]);
                }
            }
        }
        return result;
    }

    [[nodiscard]] std::vector<Candidate> candidates_of(std::uint32_t op_id) {
        const TileOperator& op = tasks_.tile_operators[op_id];
        switch (static_cast<TileOperatorKind>(op.kind)) {
            case TileOperatorKind::Gemm: return gemm_candidates(context_, op);
            case TileOperatorKind::Attention: return attention_candidates(context_, op);
            case TileOperatorKind::Product: return product_candidates(context_, op);
            case TileOperatorKind::Rearrange:
                return rearrange_candidates(context_, rearrangement_of(view(tasks_), op_id), input_layouts(op), wanted_layouts(op.output), pool_text(tasks_.name_pool, op.name));
            default: return pointwise_candidates(context_, op, shape_of(tasks_, op.output), input_layouts(op));
        }
    }

    [[nodiscard]] std::vector<Candidate> forced_or_all(std::uint32_t op_id) {
        const TileOperator& op = tasks_.tile_operators[op_id];
        const std::string_view name = pool_text(tasks_.name_pool, op.name);
        const auto forced = std::ranges::find(options_.forced, name, [](const auto& entry) { return std::string_view(entry.first); });
        if (forced == options_.forced.end()) return candidates_of(op_id);
        if (static_cast<TileOperatorKind>(op.kind) == TileOperatorKind::Gemm) {
            std::vector<Candidate> one;
            one.push_back(gemm_candidate_of_key(context_, op, forced->second));
            return one;
        }
        std::vector<Candidate> all = candidates_of(op_id);
        // A layout that no listed plan produces can be forced all the same.
        const std::size_t open = forced->second.find('[');
        const std::size_t close = forced->second.find(']');
        TileLayout layout{};
        const bool local = follows_inputs(op) && static_cast<TileOperatorKind>(op.kind) != TileOperatorKind::Rearrange;
        if (local && open != std::string::npos && close > open && parse_layout(std::string_view(forced->second).substr(open + 1, close - open - 1), layout) &&
            layout_tiles(layout) <= context_.target.core_count) {
            all = pointwise_candidates(context_, op, shape_of(tasks_, op.output), {layout});
        }
        std::erase_if(all, [&](const Candidate& candidate) { return candidate.key != forced->second; });
        if (all.empty()) bad_input("operator '{}' has no plan '{}'", name, forced->second);
        return all;
    }

    void add_plans(std::uint32_t op_id) {
        std::vector<Candidate> candidates = follows_inputs(tasks_.tile_operators[op_id]) ? forced_or_all(op_id) : std::move(known_[op_id]);
        TileOperator& op = tasks_.tile_operators[op_id];
        if (candidates.empty()) {
            refuse("operator '{}' ({}[{}, {}] x [{}, {}]) has no plan that fits a tile of the target", pool_text(tasks_.name_pool, op.name),
                   op.batch > 1 ? fmt::format("{} times ", op.batch) : "", op.m, op.k, op.k, op.n);
        }
        op.first_plan = static_cast<std::uint32_t>(tasks_.tile_plans.size());
        op.plan_count = static_cast<std::uint32_t>(candidates.size());
        std::vector<TileLayout>& reachable = reachable_[op.output];
        for (Candidate& candidate : candidates) {
            candidate.plan.first_layout = static_cast<std::uint32_t>(tasks_.plan_layouts.size());
            for (const TileLayout& layout : candidate.inputs) tasks_.plan_layouts.push_back(layouts_.id(layout));
            candidate.plan.output_layout = layouts_.id(candidate.output);
            candidate.plan.key = pool_append(tasks_.name_pool, candidate.key);
            if (std::ranges::find(reachable, candidate.output) == reachable.end()) reachable.push_back(candidate.output);
            tasks_.tile_plans.push_back(candidate.plan);
        }
    }

    TasksColumns& tasks_;
    CandidateContext& context_;
    const PrepareOptions& options_;
    LayoutTable layouts_;
    std::vector<std::vector<TileLayout>> reachable_;   // per value
    std::vector<std::vector<Candidate>> known_;        // per operator whose plans do not follow its inputs, until they are listed
};

}  // namespace

TasksColumns prepare(const Graph& graph, const Target& target, const PrepareOptions& options, PrepareFigures* figures) {
    WEFT_CHECK(target.family == TargetFamily::Ipu21);
    TasksColumns tasks;
    tasks.graph_hash_high = options.graph_hash.high;
    tasks.graph_hash_low = options.graph_hash.low;
    import_operators(preparation::GraphIndex(graph), tasks);
    const Topology topology(target);
    const KernelCosts kernels(target, options.kernels);
    CandidateContext context{target, topology, kernels, options.candidates, active_tile_counts(target.core_count, extents_of(graph, tasks)), {}};
    Preparer(tasks, context, options).run();
    if (figures != nullptr) {
        figures->counts = context.counts;
        for (const TilePlan& plan : tasks.tile_plans) {
            const auto source = static_cast<CostSource>(plan.local_source);
            ++(source == CostSource::Measured ? figures->measured : source == CostSource::Interpolated ? figures->interpolated : figures->analytical);
        }
    }
    return tasks;
}

}  // namespace weft::ipu21
