#include "prepare/ipu21/candidates.h"

#include <algorithm>
#include <span>

#include "base/checked.h"
#include "frontier/retain.h"

namespace weft::ipu21 {
namespace {

std::vector<std::uint32_t> fields_of(const TileLayout& layout) {
    return {layout.order, layout.memory, layout.elem_bytes, layout.row_parts, layout.column_parts, layout.replicas, layout.row_stride,
            layout.column_stride, layout.replica_stride, layout.row_grain, layout.column_grain};
}

}  // namespace

std::uint32_t LayoutTable::id(const TileLayout& layout) {
    const auto [at, added] = ids_.try_emplace(fields_of(layout), static_cast<std::uint32_t>(layouts_.size()));
    if (added) layouts_.push_back(layout);
    return at->second;
}

std::vector<std::uint32_t> active_tile_counts(std::uint32_t tile_count, const std::set<std::uint32_t>& extents) {
    std::set<std::uint32_t, std::greater<>> counts{tile_count};
    for (std::uint32_t power = 1; power <= tile_count; power *= 2) {
        if (power * 4 >= tile_count) counts.insert(power);
    }
    for (const std::uint32_t extent : extents) {
        if (extent == 0 || extent > tile_count) continue;
        const std::uint32_t multiple = tile_count / extent * extent;
        if (multiple * 2 >= tile_count) counts.insert(multiple);
    }
    return {counts.begin(), counts.end()};
}

void set_cost(TilePlan& plan, const CostTerms& terms) {
    plan.local_cycles = terms.local;
    plan.exchange_cycles = terms.exchange;
    plan.staging_cycles = terms.staging;
    plan.launch_cycles = terms.launch;
    plan.phases = terms.phases;
    plan.calls = terms.calls;
    plan.local_source = static_cast<std::uint32_t>(terms.local_source);
    plan.staging_source = static_cast<std::uint32_t>(terms.staging_source);
    plan.error_ppm = terms.error_ppm;
}

namespace {

/// Candidates as rows of objectives; signature: the layouts, family: what the cap keeps one of.
struct CandidateRows {
    static constexpr std::size_t components = 6;
    std::vector<std::uint64_t> objectives;
    std::vector<std::uint32_t> signature;
    std::vector<std::uint32_t> family;
    std::vector<std::uint32_t> interleaved;   ///< memory class of the loaded operand

    [[nodiscard]] FrontierRows view() const { return {objectives, components, signature, family}; }
    [[nodiscard]] CandidateRows subset(std::span<const std::uint32_t> rows) const {
        CandidateRows result;
        for (const std::uint32_t row : rows) {
            const auto values = view().row(row);
            result.objectives.insert(result.objectives.end(), values.begin(), values.end());
            result.signature.push_back(signature[row]);
            result.family.push_back(family[row]);
            result.interleaved.push_back(interleaved[row]);
        }
        return result;
    }
};

CandidateRows rows_of(const std::vector<Candidate>& candidates) {
    CandidateRows rows;
    std::map<std::vector<std::uint32_t>, std::uint32_t> signatures;
    std::map<std::vector<std::uint32_t>, std::uint32_t> families;
    for (const Candidate& candidate : candidates) {
        const TilePlan& plan = candidate.plan;
        for (const std::uint64_t value :
             {plan.local_cycles + plan.exchange_cycles + plan.staging_cycles + plan.launch_cycles, std::uint64_t{plan.resident_standard},
              std::uint64_t{plan.resident_interleaved}, std::uint64_t{plan.temporary_standard}, std::uint64_t{plan.temporary_interleaved},
              std::uint64_t{plan.row_bytes}}) {
            rows.objectives.push_back(value);
        }
        std::vector<std::uint32_t> layouts = fields_of(candidate.output);
        for (const TileLayout& input : candidate.inputs) {
            const auto fields = fields_of(input);
            layouts.insert(layouts.end(), fields.begin(), fields.end());
        }
        rows.signature.push_back(signatures.try_emplace(std::move(layouts), static_cast<std::uint32_t>(signatures.size())).first->second);
        rows.interleaved.push_back(plan.interleaved_weights);
        // What the plan and its operands take of the fullest tile, in coarse steps: where memory is tight, lean plans must be there.
        constexpr std::uint64_t step_bytes = 32768;
        std::uint64_t together = std::uint64_t{plan.resident_standard} + plan.resident_interleaved + plan.temporary_standard + plan.temporary_interleaved +
                                 candidate.output_bytes;
        for (const std::uint64_t bytes : candidate.input_bytes) together += bytes;
        const std::vector<std::uint32_t> kind{plan.distribution, candidate.inputs.front().order, candidate.inputs.front().elem_bytes, plan.order,
                                              plan.interleaved_weights, plan.weight_copies < plan.rows ? 1U : 0U, static_cast<std::uint32_t>(together / step_bytes)};
        rows.family.push_back(families.try_emplace(kind, static_cast<std::uint32_t>(families.size())).first->second);
    }
    return rows;
}

/// Of the rows with the same layouts and weights in the same memory the fastest, the one that needs least memory, the one that leaves most to other operators, and the one that
/// saves most memory per cycle lost: the ways to store weights and to stage sums are many, and would take the places of other layouts
/// under the cap.
std::vector<std::uint32_t> extremes(const CandidateRows& rows) {
    const std::vector<std::uint32_t> all = retain(rows.view(), rows.signature.size());   // by cycles
    const auto bytes = [&](std::uint32_t row, std::size_t last) {
        std::uint64_t sum = 0;
        for (std::size_t c = 1; c < last; ++c) sum += rows.view().row(row)[c];
        return sum;
    };
    const auto all_bytes = [&](std::uint32_t row) { return bytes(row, CandidateRows::components); };
    const auto resident_bytes = [&](std::uint32_t row) { return bytes(row, 3); };
    struct Best {
        std::uint32_t fastest;
        std::uint32_t leanest;
        std::uint32_t least_resident;
        std::uint32_t thriftiest;
    };
    // Bytes saved per cycle lost against the fastest, compared as fractions.
    const auto thriftier = [&](std::uint32_t a, std::uint32_t b, std::uint32_t fastest) {
        const auto saved = [&](std::uint32_t row) { return all_bytes(fastest) - std::min(all_bytes(fastest), all_bytes(row)); };
        const auto lost = [&](std::uint32_t row) { return rows.view().row(row)[0] - rows.view().row(fastest)[0] + 1; };
        return multiply_divide(static_cast<std::int64_t>(saved(a)), static_cast<std::int64_t>(lost(b)), 1) >
               multiply_divide(static_cast<std::int64_t>(saved(b)), static_cast<std::int64_t>(lost(a)), 1);
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, Best> best;
    for (const std::uint32_t row : all) {
        Best& b = best.try_emplace({rows.signature[row], rows.interleaved[row]}, Best{row, row, row, row}).first->second;
        if (all_bytes(row) < all_bytes(b.leanest)) b.leanest = row;
        if (resident_bytes(row) < resident_bytes(b.least_resident)) b.least_resident = row;
        if (thriftier(row, b.thriftiest, b.fastest)) b.thriftiest = row;
    }
    std::vector<std::uint32_t> result;
    for (const auto& [group, b] : best) result.insert(result.end(), {b.fastest, b.leanest, b.least_resident, b.thriftiest});
    std::ranges::sort(result);
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

}  // namespace

std::vector<Candidate> filter_candidates(CandidateContext& context, std::vector<Candidate> candidates, std::uint32_t cap) {
    // Ties go to the lower key, in whatever order the candidates were found.
    std::ranges::sort(candidates, {}, &Candidate::key);
    const CandidateRows rows = rows_of(candidates);
    const std::vector<std::uint32_t> chosen = extremes(rows);
    const std::vector<std::uint32_t> kept = retain(rows.subset(chosen).view(), cap);
    context.counts.filtered += candidates.size() - kept.size();
    std::vector<Candidate> result;
    result.reserve(kept.size());
    for (const std::uint32_t row : kept) result.push_back(std::move(candidates[chosen[row]]));
    return result;
}

}  // namespace weft::ipu21
