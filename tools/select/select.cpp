#include "select.h"

#include <algorithm>

#include "artifact/hash.h"
#include "base/failure.h"

namespace weft {
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
using Wide = unsigned __int128;
#pragma GCC diagnostic pop

constexpr std::uint64_t million = 1'000'000;

Hash128 program_hash(const Timing& timing) { return {timing.program_hash_high, timing.program_hash_low}; }

/// Tie estimates of one candidate; both are of `inferences` inferences.
struct Estimate {
    bool available = false;
    std::uint64_t smaller = 0;
    std::uint64_t larger = 0;
    std::uint64_t inferences = 1;
};

Estimate estimate_of(const Timing& timing) {
    Estimate result;
    result.available = timing.availability == Availability::Available;
    if (!result.available) return result;
    result.smaller = std::min(timing.interval_ns, timing.alternative_interval_ns);
    result.larger = std::max(timing.interval_ns, timing.alternative_interval_ns);
    result.inferences = std::max(1U, timing.inferences_per_round);
    return result;
}

/// The whole range of `a` lies below that of `b`; exact.
bool separates_below(const Estimate& a, const Estimate& b, std::uint64_t margin_ppm) {
    return Wide{a.larger} * b.inferences * (million + margin_ppm) < Wide{b.smaller} * a.inferences * (million - margin_ppm);
}

bool lower_estimate(const Estimate& a, const Estimate& b) { return Wide{a.larger} * b.inferences < Wide{b.larger} * a.inferences; }

std::uint64_t per_inference(std::uint64_t time, std::uint64_t inferences) { return (time + inferences / 2) / inferences; }

std::vector<std::uint32_t> duplicates(std::span<const Timing> timings) {
    std::vector<std::uint32_t> result(timings.size());
    for (std::uint32_t row = 0; row < timings.size(); ++row) {
        result[row] = row;
        if (program_hash(timings[row]) == Hash128{}) continue;   // not lowered: no program
        for (std::uint32_t earlier = 0; earlier < row; ++earlier) {
            if (program_hash(timings[earlier]) == program_hash(timings[row])) {
                result[row] = earlier;
                break;
            }
        }
    }
    return result;
}

struct Choice {
    std::uint32_t chosen = 0;
    SelectionReason reason = SelectionReason::OnlyCandidate;
};

/// The original's time has no model at all, as opposed to a model that gave no answer.
bool is_unsupported(Availability availability) {
    return availability == Availability::UnsupportedReorderBuffer || availability == Availability::UnsupportedInstruction;
}

Choice choose(std::span<const Estimate> estimates, std::span<const std::uint32_t> duplicate_of, Availability original, std::uint32_t margin_ppm) {
    if (std::all_of(duplicate_of.begin(), duplicate_of.end(), [](std::uint32_t row) { return row == 0; })) return {};
    if (is_unsupported(original)) return {0, SelectionReason::UnsupportedContract};
    if (std::none_of(estimates.begin(), estimates.end(), [](const Estimate& one) { return one.available; })) return {0, SelectionReason::AllUnavailable};
    if (!estimates[0].available) return {0, SelectionReason::OriginalUnavailable};
    std::uint32_t best = 0;
    for (std::uint32_t row = 1; row < estimates.size(); ++row) {
        if (duplicate_of[row] == row && estimates[row].available && lower_estimate(estimates[row], estimates[best])) best = row;
    }
    if (best != 0 && separates_below(estimates[best], estimates[0], margin_ppm)) return {best, SelectionReason::SeparatesFromOriginal};
    return {0, SelectionReason::NoneSeparates};
}

CandidateVerdict verdict_of(std::uint32_t row, const Choice& choice, std::span<const Estimate> estimates, std::uint32_t duplicate_of, std::uint32_t margin_ppm) {
    if (row == choice.chosen) return CandidateVerdict::Selected;
    if (row == 0) return CandidateVerdict::Original;
    if (duplicate_of != row) return CandidateVerdict::DuplicateProgram;
    if (!estimates[row].available) return CandidateVerdict::Unavailable;
    const bool apart = !estimates[0].available || separates_below(estimates[row], estimates[0], margin_ppm) ||
                       separates_below(estimates[0], estimates[row], margin_ppm);
    return apart ? CandidateVerdict::Slower : CandidateVerdict::Overlaps;
}

}  // namespace

SelectionColumns select_candidate(std::span<const Timing> timings, std::uint32_t margin_ppm) {
    WEFT_CHECK(!timings.empty() && margin_ppm < million);
    std::vector<Estimate> estimates;
    for (const Timing& timing : timings) estimates.push_back(estimate_of(timing));
    SelectionColumns selection;
    selection.duplicate_of = duplicates(timings);
    const Choice choice = choose(estimates, selection.duplicate_of, timings[0].availability, margin_ppm);
    selection.chosen = choice.chosen;
    selection.reason = choice.reason;
    selection.margin_ppm = margin_ppm;
    for (std::uint32_t row = 0; row < timings.size(); ++row) {
        const Estimate& one = estimates[row];
        selection.verdicts.push_back(verdict_of(row, choice, estimates, selection.duplicate_of[row], margin_ppm));
        selection.interval_ns.push_back(per_inference(one.larger, one.inferences));
        selection.lower_ns.push_back(static_cast<std::uint64_t>(Wide{one.smaller} * million / (Wide{one.inferences} * (million + margin_ppm))));
        const Wide above = Wide{one.inferences} * (million - margin_ppm);
        selection.upper_ns.push_back(static_cast<std::uint64_t>((Wide{one.larger} * million + above - 1) / above));
        selection.program_hash_high.push_back(timings[row].program_hash_high);
        selection.program_hash_low.push_back(timings[row].program_hash_low);
    }
    return selection;
}

}  // namespace weft
