#include "artifact/selection.h"
#include "artifact/validate.h"

namespace weft {

/// One chosen candidate, whose verdict says so; equal columns; duplicates name an earlier candidate that is none itself.
template <>
void validate<Selection>(const Selection& selection, std::string_view file) {
    const Validator check(file);
    constexpr std::size_t most_candidates = 11;
    const std::size_t count = selection.verdicts.size();
    if (count == 0 || count > most_candidates) check.reject("verdicts", 0, "{} candidates; there must be 1 to {}", count, most_candidates);
    check.length(selection.interval_ns.size(), count, "interval_ns");
    check.length(selection.lower_ns.size(), count, "lower_ns");
    check.length(selection.upper_ns.size(), count, "upper_ns");
    check.length(selection.duplicate_of.size(), count, "duplicate_of");
    check.length(selection.program_hash_high.size(), count, "program_hash_high");
    check.length(selection.program_hash_low.size(), count, "program_hash_low");
    check.below(selection.chosen, count, "chosen", 0);
    check.below(static_cast<std::uint64_t>(selection.reason), static_cast<std::uint64_t>(SelectionReason::UnsupportedContract) + 1, "reason", 0);
    check.below(selection.margin_ppm, 1'000'000, "margin_ppm", 0);
    for (std::size_t row = 0; row < count; ++row) {
        const CandidateVerdict verdict = selection.verdicts[row];
        check.below(static_cast<std::uint64_t>(verdict), static_cast<std::uint64_t>(CandidateVerdict::Original) + 1, "verdicts", row);
        if ((verdict == CandidateVerdict::Selected) != (row == selection.chosen)) check.reject("verdicts", row, "the chosen candidate alone is selected");
        if (selection.duplicate_of[row] > row) check.reject("duplicate_of", row, "{} is no earlier candidate", selection.duplicate_of[row]);
        if (selection.duplicate_of[selection.duplicate_of[row]] != selection.duplicate_of[row]) {
            check.reject("duplicate_of", row, "{} is itself a duplicate", selection.duplicate_of[row]);
        }
        if (selection.lower_ns[row] > selection.upper_ns[row]) check.reject("lower_ns", row, "the range is empty");
    }
}

}  // namespace weft
