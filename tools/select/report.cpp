#include "report.h"

#include "artifact/file.h"
#include "artifact/hash.h"

namespace weft {
namespace {

const char* reason_text(SelectionReason reason) {
    switch (reason) {
        case SelectionReason::OnlyCandidate: return "there is only one program";
        case SelectionReason::SeparatesFromOriginal: return "its range lies below the original's";
        case SelectionReason::NoneSeparates: return "no candidate's range lies below the original's";
        case SelectionReason::OriginalUnavailable: return "the original has no estimate, so nothing can be shown to be better";
        case SelectionReason::AllUnavailable: return "no candidate has an estimate";
    }
    return "unknown";
}

const char* verdict_text(CandidateVerdict verdict) {
    switch (verdict) {
        case CandidateVerdict::Selected: return "selected";
        case CandidateVerdict::Slower: return "slower";
        case CandidateVerdict::Overlaps: return "overlaps the original";
        case CandidateVerdict::Unavailable: return "no estimate";
        case CandidateVerdict::DuplicateProgram: return "same program as an earlier one";
        case CandidateVerdict::Original: return "original";
    }
    return "unknown";
}

}  // namespace

nlohmann::ordered_json selection_report(const Candidates& candidates, std::span<const std::string> timing_files, std::span<const Timing> timings,
                                        const Selection& selection) {
    nlohmann::ordered_json json;
    json["chosen"] = selection.chosen;
    json["chosen_file"] = candidates.file_names[selection.chosen];
    json["reason"] = reason_text(selection.reason);
    json["margin_percent"] = selection.margin_ppm / 10'000.0;
    auto& rows = json["candidates"] = nlohmann::ordered_json::array();
    for (std::size_t row = 0; row < timings.size(); ++row) {
        const Timing& timing = timings[row];
        nlohmann::ordered_json one = {{"file", candidates.file_names[row]},
                                      {"strategy", candidates.strategies[row]},
                                      {"timing", timing_files[row]},
                                      {"program_hash", to_hex({timing.program_hash_high, timing.program_hash_low})},
                                      {"verdict", verdict_text(selection.verdicts[row])},
                                      {"duplicate_of", selection.duplicate_of[row]},
                                      {"available", timing.availability == Availability::Available},
                                      {"interval_ns", timing.interval_ns},
                                      {"alternative_tie_interval_ns", timing.alternative_interval_ns},
                                      {"inferences_per_round", timing.inferences_per_round},
                                      {"interval_per_inference_ns", selection.interval_ns[row]},
                                      {"range_ns", {selection.lower_ns[row], selection.upper_ns[row]}},
                                      {"latency_ns", timing.latency_ns},
                                      {"depth", timing.depth},
                                      {"stages", candidates.stage_count[row]},
                                      {"cores_used", candidates.cores_used[row]},
                                      {"crossbars_used", candidates.crossbars_used[row]}};
        if (timing.availability != Availability::Available) one["why_unavailable"] = timing.reason;
        rows.push_back(std::move(one));
    }
    return json;
}

nlohmann::ordered_json stage_seconds(std::span<const std::string> reports) {
    auto result = nlohmann::ordered_json::array();
    for (const std::string& file : reports) {
        const auto json = nlohmann::ordered_json::parse(read_text(file), nullptr, false);
        const bool usable = json.is_object() && json.contains("tool") && json.contains("run") && json["run"].is_object() && json["run"].contains("seconds");
        if (!usable) bad_input("{}: not a stage report (no tool or run.seconds); write it with --report", file);
        result.push_back({{"tool", json["tool"]}, {"report", file}, {"seconds", json["run"]["seconds"]}});
    }
    return result;
}

std::string selection_table(const Candidates& candidates, std::span<const Timing> timings, const Selection& selection) {
    std::string text = fmt::format("{:>2} {:<28} {:<20} {:>14} {:>14} {:>14} {:>6}  {}\n", "", "candidate", "strategy", "interval ns", "range from", "to", "depth", "verdict");
    for (std::size_t row = 0; row < timings.size(); ++row) {
        text += fmt::format("{:>2} {:<28} {:<20} {:>14} {:>14} {:>14} {:>6}  {}\n", row, candidates.file_names[row], candidates.strategies[row],
                            selection.interval_ns[row], selection.lower_ns[row], selection.upper_ns[row], timings[row].depth, verdict_text(selection.verdicts[row]));
    }
    text += fmt::format("chosen: {} ({})\n", candidates.file_names[selection.chosen], reason_text(selection.reason));
    return text;
}

}  // namespace weft
