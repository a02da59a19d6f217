#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ipu21/gemm_cost.h"
#include "ipu21/rearrange.h"

namespace weft::ipu21 {

struct CandidateOptions {
    std::uint32_t plans_per_operator = 400;   ///< kept after the Pareto filter
    std::uint32_t scheduled_plans = 48;       ///< of which this many of the cheapest have their phases scheduled instead of estimated
    bool all_grid_orders = false;             ///< also rows-fast where the model predicts no gain
    std::vector<std::uint32_t> precisions{2};   ///< bytes of an element that products may compute with; the first is that of everything else
    [[nodiscard]] std::uint32_t elem_bytes() const { return precisions.front(); }
};

struct CandidateCounts {
    std::uint64_t enumerated = 0;
    std::uint64_t infeasible = 0;             ///< do not fit a tile whatever else is there
    std::uint64_t same_grouping = 0;          ///< grid orders dropped as identical after mapping
    std::uint64_t filtered = 0;
};

/// A plan with its layouts still by value.
struct Candidate {
    TilePlan plan{};
    std::vector<TileLayout> inputs;
    TileLayout output{};
    std::vector<std::uint64_t> input_bytes;   ///< on the fullest tile
    std::uint64_t output_bytes = 0;
    std::string key;
};

/// Interns layouts; ids in order of first use.
class LayoutTable {
public:
    std::uint32_t id(const TileLayout& layout);
    [[nodiscard]] const std::vector<TileLayout>& layouts() const { return layouts_; }

private:
    std::map<std::vector<std::uint32_t>, std::uint32_t> ids_;
    std::vector<TileLayout> layouts_;
};

/// What all operators' candidates share.
struct CandidateContext {
    const Target& target;
    const Topology& topology;
    const KernelCosts& kernels;
    const CandidateOptions& options;
    std::vector<std::uint32_t> active_tiles;   ///< how many tiles a plan may use, descending
    CandidateCounts counts;
};

/// Active tile counts: all, powers of two from a quarter on, and the largest multiple of every extent of the graph that uses at
/// least half of the tiles.
[[nodiscard]] std::vector<std::uint32_t> active_tile_counts(std::uint32_t tile_count, const std::set<std::uint32_t>& extents);

/// Legal plans of a GEMM, filtered.
[[nodiscard]] std::vector<Candidate> gemm_candidates(CandidateContext& context, const TileOperator& op);

/// The plan that `key` names, without filtering and without regard to memory. Failure(bad_input) where it is no key or not legal for
/// the operator's sizes.
[[nodiscard]] Candidate gemm_candidate_of_key(CandidateContext& context, const TileOperator& op, const std::string& key);

[[nodiscard]] std::string gemm_key(const GemmPlan& plan, bool staged_weights);

/// Plans of operators that work row by row or element by element, one per layout that their inputs can have, and one over all
/// tiles by rows.
[[nodiscard]] std::vector<Candidate> pointwise_candidates(CandidateContext& context, const TileOperator& op, MatrixShape shape,
                                                          const std::vector<TileLayout>& reachable);

[[nodiscard]] std::vector<Candidate> attention_candidates(CandidateContext& context, const TileOperator& op);

/// Per-matrix products of two activations.
[[nodiscard]] std::vector<Candidate> product_candidates(CandidateContext& context, const TileOperator& op);

/// Views and copies, between layouts that keep every element on its tile: those that `reachable` layouts of the input lead to, those that lead to
/// `wanted` layouts of the output, and some that use most tiles. Failure(refused) where no tile can hold a part of both.
[[nodiscard]] std::vector<Candidate> rearrange_candidates(CandidateContext& context, const Rearrangement& rearrangement, const std::vector<TileLayout>& reachable,
                                                          const std::vector<TileLayout>& wanted, std::string_view name);

/// Drop what another plan of the same layouts beats, of each layouts' rest keep the fastest and the leanest, and of all those the best
/// of every objective, of every family of plans, and the fastest.
[[nodiscard]] std::vector<Candidate> filter_candidates(CandidateContext& context, std::vector<Candidate> candidates, std::uint32_t cap);

/// Plan columns from cost terms.
void set_cost(TilePlan& plan, const CostTerms& terms);

}  // namespace weft::ipu21
