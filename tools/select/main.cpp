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
  weft-select net.cands net-*.timing --margin 1.0 --report pipeline_selection.json -o net.selection

Timings whose names match those of the candidates' schedules (net-1.sched, net-1.timing) may come in any order; others must
come in candidate order.)";

struct Options {
    std::string candidates;
    std::vector<std::string> timings;
    std::string output;
    double margin_percent = 2.1;
    std::vector<std::string> stage_reports;
    bool quiet = false;
};

/// The timing files in candidate order.
std::vector<std::string> in_candidate_order(const weft::Candidates& candidates, const Options& options) {
    if (options.timings.size() != candidates.file_names.size()) {
        weft::bad_input("{}: {} candidates, but {} timings were given; analyse every candidate", options.candidates, candidates.file_names.size(),
                        options.timings.size());
    }
    std::vector<std::string> result;
    for (const std::string& schedule : candidates.file_names) {
        const auto stem = std::filesystem::path(schedule).stem();
        const auto found = std::find_if(options.timings.begin(), options.timings.end(),
                                        [&](const std::string& file) { return std::filesystem::path(file).stem() == stem; });
        if (found == options.timings.end()) return options.timings;
        result.push_back(*found);
    }
    return result;
}

void run(weft::Tool& tool, const Options& options) {
    const weft::Artifact<weft::Candidates> candidates(options.candidates);
    tool.note_input(options.candidates);
    const std::vector<std::string> files = in_candidate_order(*candidates, options);
    std::vector<std::unique_ptr<weft::Artifact<weft::Timing>>> artifacts;
    std::vector<weft::Timing> timings;
    for (const std::string& file : files) {
        artifacts.push_back(std::make_unique<weft::Artifact<weft::Timing>>(file));
        timings.push_back(**artifacts.back());
        tool.note_input(file);
    }
    const auto margin_ppm = static_cast<std::uint32_t>(std::lround(options.margin_percent * 10'000.0));
    const weft::SelectionColumns selection = weft::select_candidate(timings, margin_ppm);
    weft::write_artifact(options.output, weft::view(selection));
    tool.note_output(options.output);
    tool.report() = weft::selection_report(*candidates, files, timings, weft::view(selection));
    if (!options.stage_reports.empty()) tool.report()["stage_seconds"] = weft::stage_seconds(options.stage_reports);
    if (!options.quiet) fmt::print("{}", weft::selection_table(*candidates, timings, weft::view(selection)));
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("select", "Chooses among candidate programs by their predicted intervals", examples);
    Options options;
    tool.app().add_option("CANDIDATES", options.candidates, "The .cands of weft-schedule")->required();
    tool.app().add_option("TIMING", options.timings, "One .timing per candidate")->required();
    tool.add_output(options.output, "The .selection to write");
    tool.app().add_option("--margin", options.margin_percent, "Uncertainty of an estimate in percent")->check(CLI::Range(0.0, 50.0))->capture_default_str();
    tool.app()
        .add_option("--stage-report", options.stage_reports, "Reports of earlier stages, whose times the report then lists")
        ->type_name("FILE");
    tool.app().add_flag("-q,--quiet", options.quiet, "Print nothing");
    return tool.run(argc, argv, [&] { run(tool, options); });
}
