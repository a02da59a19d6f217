#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "artifact/candidates.h"
#include "base/tool.h"
#include "report.h"
#include "select.h"

namespace {

constexpr const char* examples = R"(Examples:
  weft-select net.cands net-0.timing net-1.timing net-2.timing -o net.selection
  weft-select net.cands net-*.timing --report pipeline_selection.json --stage-report net-0-lower.json -o net.selection
  weft-select net.cands net-*.timing --margin 1.0 -o net.selection

  weft-select net.cands net-0.timing net-2.timing --refused net-1.refused -o net.selection

Timings whose names match those of the candidates' schedules (net-1.sched, net-1.timing) may come in any order; others must
come in candidate order. A candidate that could not be lowered has a text file with the reason instead of a timing; the original must have
been lowered.)";

struct Options {
    std::string candidates;
    std::vector<std::string> timings;
    std::vector<std::string> refused;
    std::string output;
    double margin_percent = 2.1;
    std::vector<std::string> stage_reports;
    bool quiet = false;
};

/// The files in candidate order; empty where a candidate has none.
std::vector<std::string> in_candidate_order(const weft::Candidates& candidates, const std::vector<std::string>& files) {
    std::vector<std::string> result;
    for (const std::string& schedule : candidates.file_names) {
        const auto stem = std::filesystem::path(schedule).stem();
        const auto found = std::find_if(files.begin(), files.end(), [&](const std::string& file) { return std::filesystem::path(file).stem() == stem; });
        result.push_back(found == files.end() ? "" : *found);
    }
    return result;
}

/// One file per candidate: its timing, or the reason why it has none.
struct Sources {
    std::vector<std::string> timings;
    std::vector<std::string> refusals;
};

Sources find_sources(const weft::Candidates& candidates, const Options& options) {
    if (options.timings.size() + options.refused.size() != candidates.file_names.size()) {
        weft::bad_input("{}: {} candidates, but {} timings and {} refusals were given; analyse every candidate", options.candidates,
                        candidates.file_names.size(), options.timings.size(), options.refused.size());
    }
    Sources sources{in_candidate_order(candidates, options.timings), in_candidate_order(candidates, options.refused)};
    for (std::size_t row = 0; row < sources.timings.size(); ++row) {
        if (sources.timings[row].empty() != sources.refusals[row].empty()) continue;
        if (options.refused.empty()) return {options.timings, std::vector<std::string>(options.timings.size())};
        weft::bad_input("{}: no timing and no refusal, or both, are named like {}", options.candidates, candidates.file_names[row]);
    }
    if (!sources.refusals[0].empty()) weft::refuse("{}: the original candidate could not be lowered: {}", sources.refusals[0], weft::read_text(sources.refusals[0]));
    return sources;
}

/// Stands for a candidate that was refused.
weft::TimingColumns refused_timing(const std::string& file) {
    weft::TimingColumns timing;
    timing.availability = weft::Availability::EmptyProgram;
    timing.reason = weft::read_text(file);
    while (!timing.reason.empty() && timing.reason.back() == '\n') timing.reason.pop_back();
    timing.inferences_per_round = 1;
    return timing;
}

void run(weft::Tool& tool, const Options& options) {
    const weft::Artifact<weft::Candidates> candidates(options.candidates);
    tool.note_input(options.candidates);
    const Sources sources = find_sources(*candidates, options);
    std::vector<std::unique_ptr<weft::Artifact<weft::Timing>>> artifacts;
    std::vector<weft::TimingColumns> refused;
    refused.reserve(sources.timings.size());   // views point into it
    std::vector<weft::Timing> timings;
    std::vector<std::string> files;
    for (std::size_t row = 0; row < sources.timings.size(); ++row) {
        if (!sources.timings[row].empty()) {
            artifacts.push_back(std::make_unique<weft::Artifact<weft::Timing>>(sources.timings[row]));
            timings.push_back(**artifacts.back());
            files.push_back(sources.timings[row]);
        } else {
            refused.push_back(refused_timing(sources.refusals[row]));
            timings.push_back(weft::view(refused.back()));
            files.push_back(sources.refusals[row]);
        }
        tool.note_input(files.back());
    }
    const auto margin_ppm = static_cast<std::uint32_t>(std::lround(options.margin_percent * 10'000.0));
    const weft::SelectionColumns selection = weft::select_candidate(timings, margin_ppm);
    weft::write_artifact(options.output, weft::view(selection));
    tool.note_output(options.output);
    tool.report() = weft::selection_report(*candidates, files, timings, weft::view(selection));
    if (!options.stage_reports.empty()) tool.report()["run"]["stage_seconds"] = weft::stage_seconds(*candidates, options.stage_reports);
    if (!options.quiet) fmt::print("{}", weft::selection_table(*candidates, timings, weft::view(selection)));
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("select", "Chooses among candidate programs by their predicted intervals", examples);
    Options options;
    tool.app().add_option("CANDIDATES", options.candidates, "The .cands of weft-schedule")->required();
    tool.app().add_option("TIMING", options.timings, "One .timing per candidate")->required();
    tool.app()
        .add_option("--refused", options.refused, "Why a candidate was not lowered (text), instead of its timing")
        ->type_name("FILE")
        ->expected(1)
        ->take_all();
    tool.add_output(options.output, "The .selection to write");
    tool.app().add_option("--margin", options.margin_percent, "Uncertainty of an estimate in percent")->check(CLI::Range(0.0, 50.0))->capture_default_str();
    tool.app()
        .add_option("--stage-report", options.stage_reports, "Reports of earlier stages, whose times the report then lists")
        ->type_name("FILE");
    tool.app().add_flag("-q,--quiet", options.quiet, "Print nothing");
    return tool.run(argc, argv, [&] { run(tool, options); });
}
