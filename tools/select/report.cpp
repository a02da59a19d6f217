#include "report.h"

#include <filesystem>

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
        case SelectionReason::UnsupportedContract: return "the timing of this program on this chip has no model, so nothing is compared";
    }
    return "unknown";
}

/// Why candidate zero stays, the original's own reason included.
std::string fallback_text(SelectionReason reason, std::span<const Timing> timings) {
    std::string text = reason_text(reason);
    if (!timings[0].reason.empty()) text += ": " + std::string(timings[0].reason);
    return text;
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
    if (selection.reason != SelectionReason::SeparatesFromOriginal) json["fallback"] = {{"to", candidates.file_names[0]}, {"because", fallback_text(selection.reason, timings)}};
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

nlohmann::ordered_json stage_seconds(const Candidates& candidates, std::span<const std::string> reports) {
    const auto stem_of = [](const std::string& path) { return std::filesystem::path(path).stem().string(); };
    nlohmann::ordered_json shared = nlohmann::ordered_json::object();
    std::vector<nlohmann::ordered_json> rows(candidates.file_names.size(), nlohmann::ordered_json::object());
    for (const std::string& file : reports) {
        const auto json = nlohmann::ordered_json::parse(read_text(file), nullptr, false);
        const bool usable = json.is_object() && json.contains("tool") && json["tool"].is_string() && json.contains("run") && json["run"].is_object() &&
                            json["run"].contains("seconds") && json["run"]["seconds"].is_number();
        if (!usable) bad_input("{}: not a stage report (no tool or run.seconds); write it with --report", file);
        std::string stage = json["tool"];
        if (stage.starts_with("weft-")) stage.erase(0, 5);
        const bool names_output = json.contains("outputs") && json["outputs"].is_array() && !json["outputs"].empty() && json["outputs"][0].is_string();
        const std::string made = names_output ? stem_of(json["outputs"][0]) : "";
        nlohmann::ordered_json* place = &shared;
        for (std::size_t row = 0; row < rows.size(); ++row) {
            if (stem_of(std::string(candidates.file_names[row])) == made) place = &rows[row];
        }
        // The scheduler's first output may be candidate zero's schedule; generation is everybody's.
        (stage == "schedule" ? shared : *place)[stage] = json["run"]["seconds"];
    }
    nlohmann::ordered_json result = {{"shared", shared}, {"candidates", nlohmann::ordered_json::array()}};
    for (std::size_t row = 0; row < rows.size(); ++row) {
        nlohmann::ordered_json one = {{"file", candidates.file_names[row]}};
        one.update(rows[row]);
        result["candidates"].push_back(std::move(one));
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
