#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include "artifact/file.h"
#include "select/report.h"
#include "select/select.h"

using namespace weft;

namespace {

struct Candidate {
    std::uint64_t interval = 0;   // 0: unavailable
    std::uint64_t alternative = 0;
    std::uint64_t program = 0;
    std::uint32_t inferences = 1;
};

SelectionColumns select_among(const std::vector<Candidate>& candidates, std::uint32_t margin_ppm = default_margin_ppm) {
    std::vector<Timing> timings;
    for (std::size_t row = 0; row < candidates.size(); ++row) {
        const Candidate& one = candidates[row];
        Timing timing;
        timing.availability = one.interval == 0 ? Availability::GenerationLimit : Availability::Available;
        timing.interval_ns = one.interval;
        timing.alternative_interval_ns = one.alternative == 0 ? one.interval : one.alternative;
        timing.inferences_per_round = one.inferences;
        timing.program_hash_low = one.program == 0 ? row + 1 : one.program;
        timings.push_back(timing);
    }
    const SelectionColumns selection = select_candidate(timings, margin_ppm);
    validate(view(selection), "test");
    return selection;
}

}  // namespace

TEST_CASE("one program needs no comparison") {
    CHECK(select_among({{100}}).reason == SelectionReason::OnlyCandidate);
    CHECK(select_among({{0}}).reason == SelectionReason::OnlyCandidate);
    const SelectionColumns same = select_among({{100, 0, 7}, {100, 0, 7}});
    CHECK(same.reason == SelectionReason::OnlyCandidate);
    CHECK(same.verdicts[1] == CandidateVerdict::DuplicateProgram);
    CHECK(same.duplicate_of[1] == 0);
}

TEST_CASE("a candidate must separate from the original") {
    // 1,000,000 * 0.979 / 1.021 = 958,863.9.
    CHECK(select_among({{1'000'000}, {958'863}}).chosen == 1);
    CHECK(select_among({{1'000'000}, {958'864}}).chosen == 0);
    const SelectionColumns close = select_among({{1'000'000}, {958'864}});
    CHECK(close.reason == SelectionReason::NoneSeparates);
    CHECK(close.verdicts[1] == CandidateVerdict::Overlaps);
    CHECK(close.verdicts[0] == CandidateVerdict::Selected);
    CHECK(select_among({{1'000'000}, {999'999}}, 0).chosen == 1);
    CHECK(select_among({{1'000'000}, {1'000'000}}, 0).chosen == 0);
}

TEST_CASE("close alternatives do not cancel a gain") {
    const SelectionColumns selection = select_among({{1000}, {901}, {900}, {902}, {1200}});
    CHECK(selection.chosen == 2);
    CHECK(selection.reason == SelectionReason::SeparatesFromOriginal);
    CHECK(selection.verdicts == std::vector{CandidateVerdict::Original, CandidateVerdict::Slower, CandidateVerdict::Selected,
                                            CandidateVerdict::Slower, CandidateVerdict::Slower});
}

TEST_CASE("the larger tie estimate ranks, the smaller one of the original guards") {
    CHECK(select_among({{1000}, {800, 950}, {900, 900}}).chosen == 2);
    CHECK(select_among({{1000, 930}, {900}}).chosen == 0);   // the original may be as fast as 930
    CHECK(select_among({{1000, 970}, {900}}).chosen == 1);
}

TEST_CASE("missing estimates") {
    SelectionColumns selection = select_among({{0}, {10}});
    CHECK(selection.chosen == 0);
    CHECK(selection.reason == SelectionReason::OriginalUnavailable);
    selection = select_among({{0}, {0}});
    CHECK(selection.reason == SelectionReason::AllUnavailable);
    selection = select_among({{1000}, {0}, {500}});
    CHECK(selection.chosen == 2);
    CHECK(selection.verdicts[1] == CandidateVerdict::Unavailable);
}

TEST_CASE("an original without a timing model stays, whatever the others say") {
    std::vector<Timing> timings(2);
    for (std::size_t row = 0; row < 2; ++row) timings[row].program_hash_low = row + 1;
    timings[0].availability = Availability::UnsupportedReorderBuffer;
    timings[0].reason = "a reorder buffer of 8 entries";
    timings[1].availability = Availability::Available;
    timings[1].interval_ns = timings[1].alternative_interval_ns = 5;
    const SelectionColumns selection = select_candidate(timings);
    validate(view(selection), "test");
    CHECK(selection.chosen == 0);
    CHECK(selection.reason == SelectionReason::UnsupportedContract);
    CandidatesColumns columns;
    columns.file_names = {"net-0.sched", "net-1.sched"};
    columns.strategies = {"a", "b"};
    columns.stage_count = columns.cores_used = columns.crossbars_used = {1, 1};
    const std::vector<std::string> files = {"net-0.timing", "net-1.timing"};
    const Candidates candidates = view(columns);
    const auto report = selection_report(candidates, files, timings, view(selection));
    CHECK(report["fallback"]["to"] == "net-0.sched");
    CHECK(report["fallback"]["because"].get<std::string>().find("reorder buffer of 8") != std::string::npos);
    CHECK(report["candidates"][0]["why_unavailable"] == "a reorder buffer of 8 entries");
}

TEST_CASE("times of earlier stages: shared, and by candidate") {
    const auto folder = std::filesystem::temp_directory_path() / fmt::format("weft-select-{}", std::random_device{}());
    std::filesystem::create_directories(folder);
    std::vector<std::string> reports;
    const auto write = [&](const std::string& name, const std::string& text) {
        reports.push_back((folder / name).string());
        publish_text(reports.back(), text);
    };
    write("a.json", R"({"tool": "weft-schedule", "outputs": ["net-0.sched", "net-1.sched", "net.cands"], "run": {"seconds": 1.5}})");
    write("b.json", R"({"tool": "weft-lower", "outputs": ["net-1.prog"], "run": {"seconds": 0.25}})");
    write("c.json", R"({"tool": "weft-analyse", "outputs": ["net-1.timing"], "run": {"seconds": 0.5}})");
    write("d.json", R"({"tool": "weft-lower", "outputs": ["net-0.prog"], "run": {"seconds": 2}})");
    CandidatesColumns columns;
    columns.file_names = {"net-0.sched", "net-1.sched"};
    const auto times = stage_seconds(view(columns), reports);
    CHECK(times["shared"]["schedule"] == 1.5);
    CHECK(times["candidates"][0]["lower"] == 2);
    CHECK(times["candidates"][1]["lower"] == 0.25);
    CHECK(times["candidates"][1]["analyse"] == 0.5);
    CHECK_FALSE(times["candidates"][0].contains("analyse"));
    write("e.json", R"({"tool": "weft-lower"})");
    CHECK_THROWS_AS((void)stage_seconds(view(columns), reports), Failure);
    std::filesystem::remove_all(folder);
}

TEST_CASE("duplicates are counted once, at their first place") {
    const SelectionColumns selection = select_among({{1000, 0, 1}, {500, 0, 2}, {500, 0, 2}, {400, 0, 1}});
    CHECK(selection.chosen == 1);
    CHECK(selection.verdicts[2] == CandidateVerdict::DuplicateProgram);
    CHECK(selection.duplicate_of == std::vector<std::uint32_t>{0, 1, 1, 0});
}

TEST_CASE("rounds of two inferences count half") {
    const SelectionColumns selection = select_among({{1000}, {1800, 0, 0, 2}});
    CHECK(selection.chosen == 1);
    CHECK(selection.interval_ns[1] == 900);
}

TEST_CASE("the choice never has a larger estimate than the original, and obeys the rule as written") {
    std::mt19937_64 random(1);
    for (int trial = 0; trial < 20'000; ++trial) {
        std::vector<Candidate> candidates(1 + random() % 11);
        for (auto& one : candidates) one = {random() % 8 == 0 ? 0 : 900 + random() % 200, 900 + random() % 200, 1 + random() % 9, 1};
        const SelectionColumns selection = select_among(candidates);
        const Candidate& chosen = candidates[selection.chosen];
        const Candidate& original = candidates[0];
        // The rule in floating point, away from its edges.
        std::size_t best = 0;
        for (std::size_t row = 1; row < candidates.size(); ++row) {
            if (candidates[row].interval == 0 || selection.duplicate_of[row] != row) continue;
            const auto larger = [&](std::size_t id) { return std::max(candidates[id].interval, candidates[id].alternative); };
            if (original.interval != 0 && larger(row) < larger(best)) best = row;
        }
        const double upper = static_cast<double>(std::max(candidates[best].interval, candidates[best].alternative)) / 0.979;
        const double lower = static_cast<double>(std::min(original.interval, original.alternative)) / 1.021;
        if (original.interval == 0 || best == 0) {
            REQUIRE(selection.chosen == 0);
        } else if (std::abs(upper - lower) > 1e-6) {
            REQUIRE(selection.chosen == (upper < lower ? best : 0));
        }
        if (selection.chosen != 0) REQUIRE(std::max(chosen.interval, chosen.alternative) < std::max(original.interval, original.alternative));
    }
}

TEST_CASE("a candidate that was not lowered is unavailable, and no duplicate of another one") {
    std::vector<Timing> timings(4);
    for (std::size_t row = 0; row < timings.size(); ++row) {
        timings[row].inferences_per_round = 1;
        if (row == 1 || row == 2) {
            timings[row].availability = Availability::EmptyProgram;
            continue;
        }
        timings[row].interval_ns = timings[row].alternative_interval_ns = 1000 / (row + 1);
        timings[row].program_hash_low = row + 1;
    }
    const SelectionColumns selection = select_candidate(timings);
    CHECK(selection.chosen == 3);
    CHECK(selection.duplicate_of == std::vector<std::uint32_t>{0, 1, 2, 3});
    CHECK(selection.verdicts[1] == CandidateVerdict::Unavailable);
    CHECK(selection.verdicts[2] == CandidateVerdict::Unavailable);
}
