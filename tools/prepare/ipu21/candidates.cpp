#include "prepare/ipu21/candidates.h"

#include <algorithm>

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

std::vector<Candidate> filter_candidates(CandidateContext& context, std::vector<Candidate> candidates, std::uint32_t cap) {
    constexpr std::size_t components = 6;
    // Ties go to the lower key, in whatever order the candidates were found.
    std::ranges::sort(candidates, {}, &Candidate::key);
    std::vector<std::uint64_t> objectives;
    std::vector<std::uint32_t> signature;
    std::vector<std::uint32_t> family;
    std::map<std::vector<std::uint32_t>, std::uint32_t> signatures;
    std::map<std::vector<std::uint32_t>, std::uint32_t> families;
    for (const Candidate& candidate : candidates) {
        const TilePlan& plan = candidate.plan;
        for (const std::uint64_t value :
             {plan.local_cycles + plan.exchange_cycles + plan.staging_cycles + plan.launch_cycles, std::uint64_t{plan.resident_standard},
              std::uint64_t{plan.resident_interleaved}, std::uint64_t{plan.temporary_standard}, std::uint64_t{plan.temporary_interleaved},
              std::uint64_t{plan.row_bytes}}) {
            objectives.push_back(value);
        }
        std::vector<std::uint32_t> layouts = fields_of(candidate.output);
        for (const TileLayout& input : candidate.inputs) {
            const auto fields = fields_of(input);
            layouts.insert(layouts.end(), fields.begin(), fields.end());
        }
        signature.push_back(signatures.try_emplace(std::move(layouts), static_cast<std::uint32_t>(signatures.size())).first->second);
        // What the plan and its operands take of the fullest tile, in coarse steps: where memory is tight, lean plans must be there.
        constexpr std::uint64_t step_bytes = 32768;
        std::uint64_t together = std::uint64_t{plan.resident_standard} + plan.resident_interleaved + plan.temporary_standard + plan.temporary_interleaved +
                                 candidate.output_bytes;
        for (const std::uint64_t bytes : candidate.input_bytes) together += bytes;
        const std::vector<std::uint32_t> kind{plan.distribution, candidate.inputs.front().order, candidate.inputs.front().elem_bytes, plan.order,
                                              plan.interleaved_weights, plan.weight_slabs > 1 ? 1U : 0U, static_cast<std::uint32_t>(together / step_bytes)};
        family.push_back(families.try_emplace(kind, static_cast<std::uint32_t>(families.size())).first->second);
    }
    const std::vector<std::uint32_t> kept = retain({objectives, components, signature, family}, cap);
    context.counts.filtered += candidates.size() - kept.size();
    std::vector<Candidate> result;
    result.reserve(kept.size());
    for (const std::uint32_t row : kept) result.push_back(std::move(candidates[row]));
    return result;
}

}  // namespace weft::ipu21
