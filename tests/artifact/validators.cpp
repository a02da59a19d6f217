// The rules beyond structure, kind by kind: each change breaks one, and the message names where.
#include <doctest/doctest.h>

#include <functional>

#include "samples.h"

namespace {

using namespace weft;
using namespace weft::test;

template <class Kind, class Columns>
void check_refused(const char* words, const std::function<void(Columns&)>& change) {
    Columns columns = sample(std::type_identity<Kind>{});
    CHECK_NOTHROW(validate<Kind>(view(columns), "net"));
    change(columns);
    std::string text = "(accepted)";
    try {
        validate<Kind>(view(columns), "net");
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::bad_input);
        text = failure.what();
    }
    CAPTURE(text);
    CHECK(text.starts_with("net: "));
    CHECK(text.find(words) != std::string::npos);
}

TEST_CASE("target") {
    const auto refused = check_refused<Target, TargetColumns>;
    refused("core_count", [](auto& target) { target.core_count = 0; });
    refused("core_count", [](auto& target) { target.core_count = 0xffffffffU; });
    refused("link_latency_ps", [](auto& target) { target.link_latency_ps.pop_back(); });
    refused("period_fs", [](auto& target) { target.core.period_fs = 0; });
    refused("family", [](auto& target) { target.family = static_cast<TargetFamily>(9); });
    refused("vector_width", [](auto& target) { target.core.vector_width_elems = 0; });
}

TEST_CASE("tasks") {
    const auto refused = check_refused<Tasks, TasksColumns>;
    refused("tensors", [](auto& tasks) { tasks.tensors[0].rows = 0; });
    refused("tensors", [](auto& tasks) { tasks.tensors[1].producer = 5; });
    refused("tensors", [](auto& tasks) { tasks.families[0].output = 2; });
    refused("families", [](auto& tasks) { tasks.families[0].kind = 5; });
    refused("lanes", [](auto& tasks) { tasks.lanes[1].first_tile = 3; });
    refused("families", [](auto& tasks) { tasks.lanes.pop_back(); tasks.families[0].lane_count = 1; });
    refused("demands", [](auto& tasks) { tasks.demands[1].position_count = 3; });
    refused("steps", [](auto& tasks) { tasks.steps[0].kind = 99; });
    refused("inputs", [](auto& tasks) { tasks.inputs[0] = 0xffffffffU; });
    refused("name_pool", [](auto& tasks) { tasks.name_pool.back() = 'x'; });
}

TEST_CASE("schedule") {
    const auto refused = check_refused<Schedule, ScheduleColumns>;
    refused("lane_core", [](auto& schedule) { schedule.lane_core[0] = 2; });
    refused("core_first", [](auto& schedule) { schedule.core_first[1] = 3; });
    refused("core_lanes", [](auto& schedule) { schedule.core_lanes[1] = 0; });
    refused("core_work_ns", [](auto& schedule) { schedule.core_work_ns.pop_back(); });
    refused("slots_per_round", [](auto& schedule) { schedule.slots_per_round = 0; });
    refused("family_stage", [](auto& schedule) { schedule.family_stage[0] = 1; });
}

TEST_CASE("candidates") {
    const auto refused = check_refused<Candidates, CandidatesColumns>;
    refused("file_names", [](auto& candidates) { candidates.file_names[1] = "../net-1.sched"; });
    refused("file_names", [](auto& candidates) { candidates.file_names[1] = candidates.file_names[0]; });
    refused("depth", [](auto& candidates) { candidates.depth.pop_back(); });
}

TEST_CASE("program") {
    const auto refused = check_refused<Program, ProgramColumns>;
    refused("core_first_run", [](auto& program) { program.core_first_run.back() = 4; });
    refused("runs", [](auto& program) { program.runs[0].first_instruction = 8; });
    refused("runs", [](auto& program) { program.runs[0].trip_count = 0; });
    refused("runs", [](auto& program) { program.runs[1].label = 1; });
    refused("instructions", [](auto& program) { program.instructions[0].op = 33; });
    refused("instructions", [](auto& program) { program.instructions[0].rd = 32; });
    refused("instructions", [](auto& program) { program.instructions[5].immediate = 2; });
    refused("groups", [](auto& program) { program.groups[0].block_count = 2; });
    refused("blocks", [](auto& program) { program.blocks[0].offset = 1; });
    refused("blocks", [](auto& program) { program.blocks[0].weight = 1; });
    refused("constants", [](auto& program) { program.constants[0].address = 121; });
    refused("outputs", [](auto& program) { program.outputs[0].offset = 2; });
}

TEST_CASE("timing") {
    const auto refused = check_refused<Timing, TimingColumns>;
    refused("availability", [](auto& timing) { timing.availability = static_cast<Availability>(77); });
    refused("interval_ns", [](auto& timing) { timing.interval_ns = 0; });
    refused("reason", [](auto& timing) { timing.availability = Availability::Deadlock; });
}

TEST_CASE("selection") {
    const auto refused = check_refused<Selection, SelectionColumns>;
    refused("chosen", [](auto& selection) { selection.chosen = 2; });
    refused("verdicts", [](auto& selection) { selection.verdicts[0] = CandidateVerdict::Selected; });
    refused("duplicate_of", [](auto& selection) { selection.duplicate_of[0] = 1; });
    refused("upper_ns", [](auto& selection) { selection.upper_ns.pop_back(); });
}

}  // namespace
