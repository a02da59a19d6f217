#include <algorithm>
#include <cstring>
#include <filesystem>

#include "analyse.h"
#include "analyse/ipu21/explain.h"
#include "analyse/ipu21/picture.h"
#include "analyse/ipu21/timing.h"
#include "artifact/file.h"
#include "artifact/schedule.h"
#include "artifact/tasks.h"
#include "base/tool.h"
#include "pim/reader.h"
#include "plan_graph.h"
#include "report.h"
#include "table.h"
#include "timeline.h"

namespace {

constexpr const char* examples = R"(Examples:
  weft-analyse net-0.prog --target chip.target -o net-0.timing
  weft-analyse net-0.prog --target chip.target --json > net-0.json
  weft-analyse exported-program/ --target chip.target
  weft-analyse other-compiler.json.gz --target chip.target
  weft-analyse net-0.sched --tasks net.tasks --target chip.target                                  # a plan, before it is lowered
  weft-analyse net-0.sched --tasks net.tasks --target tiles.target --against forced-0.sched --against-tasks forced.tasks   # why is it faster?
  weft-analyse net-0.prog --target chip.target --timeline net-0.trace.json --timeline-rounds 4     # opens in Perfetto
  weft-analyse net-0.prog --target chip.target --model-memory-controller=false                     # what does the memory's queue cost?

Status 1: the program deadlocks or crashes the chip. Without a steady state within the budget, or on chips with a larger
reorder buffer, the .timing says so and weft-select treats it as no estimate; without -o that is status 1 too.
A .timing with the reason is written in every case. Programs of other makers come as a folder with config.json and core_<id>.pim or .json, or as one JSON file.)";

struct Options {
    std::string program;
    std::string target;
    std::string output;
    bool json = false;
    bool quiet = false;
    std::size_t cores = 10;
    std::string picture;
    bool phases = false;
    std::uint32_t phase = 0xffffffffU;
    std::string tasks;
    std::string against;
    std::string against_tasks;
    std::string timeline;
    std::uint32_t timeline_rounds = 3;
    weft::AnalyseOptions analyse;
};

/// The program and its hash, whatever form it has.
weft::Analysis analyse_file(const Options& options, const weft::Target& target) {
    if (weft::is_simulator_program(options.program)) {
        const weft::ProgramColumns columns = weft::read_simulator_program(options.program);
        // The same bytes that a .prog of this program would have, so that the hash identifies it.
        const auto bytes = weft::serialize(weft::view(columns));
        const weft::Hash128 hash = weft::hash_bytes(std::as_bytes(std::span(bytes.data(), bytes.size())));
        return weft::analyse(weft::view(columns), target, hash, options.analyse, options.program);
    }
    const weft::Artifact<weft::Program> program(options.program);
    return weft::analyse(*program, target, program.hash(), options.analyse, options.program);
}

/// Tile processors: one table per operator.
void run_tiles(weft::Tool& tool, const Options& options, const weft::Target& target) {
    const weft::Artifact<weft::Program> program(options.program);
    const weft::TimingColumns timing = weft::ipu21::analyse(*program, target, program.hash());
    if (!options.output.empty()) {
        weft::write_artifact(options.output, weft::view(timing));
        tool.note_output(options.output);
    }
    if (!options.picture.empty() && !program->tile_phases.empty()) {
        const std::uint32_t phase = options.phase < program->tile_phases.size() ? options.phase : weft::ipu21::longest_phase(*program);
        weft::publish_text(options.picture, weft::ipu21::exchange_picture(*program, target, phase));
        tool.note_output(options.picture);
    }
    tool.report()["latency_cycles"] = timing.latency_cycles;
    tool.report()["latency_ns"] = timing.latency_ns;
    if (options.quiet) return;
    fmt::print("{}", weft::ipu21::table(*program, target, weft::view(timing)));
    if (options.phases) fmt::print("\n{}", weft::ipu21::phase_table(*program, weft::view(timing)));
}

bool is_schedule(const std::string& path) {
    if (std::filesystem::is_directory(path)) return false;
    const weft::MappedFile file(path);
    return file.bytes().size() >= 8 && std::memcmp(file.bytes().data() + 4, weft::ArtifactTraits<weft::Schedule>::identifier.data(), 4) == 0;
}

/// A schedule and the tasks that it was made from.
struct Planned {
    weft::Artifact<weft::Schedule> schedule;
    weft::Artifact<weft::Tasks> tasks;

    Planned(weft::Tool& tool, const std::string& schedule_path, const std::string& tasks_path) : schedule(schedule_path), tasks(tasks_path) {
        tool.note_input(tasks_path);
        if (schedule->tasks_hash_high != tasks.hash().high || schedule->tasks_hash_low != tasks.hash().low) {
            weft::bad_input("{}: places other tasks than {}; name those it was made from", schedule_path, tasks_path);
        }
    }
};

void check_plan_options(const Options& options) {
    if (options.tasks.empty()) throw weft::Failure(weft::ExitStatus::usage, "a schedule is read together with what it places; add --tasks FILE.tasks");
    if (!options.output.empty()) throw weft::Failure(weft::ExitStatus::usage, "only lowered programs have a .timing; leave out -o");
}

/// Tile processors: the estimate part by part, or against another schedule's.
void run_tile_plan(weft::Tool& tool, const Options& options, const weft::Target& target) {
    check_plan_options(options);
    const Planned planned(tool, options.program, options.tasks);
    const weft::ipu21::Explanation mine = weft::ipu21::explain(*planned.tasks, *planned.schedule, target);
    tool.report()["plan"] = weft::ipu21::explanation_json(mine);
    std::string text;
    if (options.against.empty()) {
        text = weft::ipu21::explanation_table(mine);
    } else {
        tool.note_input(options.against);
        const Planned against(tool, options.against, options.against_tasks.empty() ? options.tasks : options.against_tasks);
        const weft::ipu21::Explanation other = weft::ipu21::explain(*against.tasks, *against.schedule, target);
        tool.report()["against"] = weft::ipu21::explanation_json(other);
        text = weft::ipu21::comparison_table(mine, other);
    }
    if (options.json) {
        fmt::print("{}\n", tool.report().dump(2));
    } else if (!options.quiet) {
        fmt::print("{}", text);
    }
}

/// A schedule before lowering: a diagnostic for people, no .timing.
void run_plan(weft::Tool& tool, const Options& options, const weft::Target& target) {
    check_plan_options(options);
    const Planned planned(tool, options.program, options.tasks);
    const weft::Artifact<weft::Schedule>& schedule = planned.schedule;
    const weft::Artifact<weft::Tasks>& tasks = planned.tasks;
    if (std::any_of(schedule->lane_core.begin(), schedule->lane_core.end(), [&](std::uint16_t core) { return core >= target.core_count; })) {
        weft::bad_input("{}: places lanes on cores that the target does not have; name the target it was made for", options.program);
    }
    const weft::PlanDiagnostic diagnostic = weft::diagnose_plan(*tasks, *schedule, target);
    tool.report() = weft::plan_json(diagnostic);
    if (options.json) {
        fmt::print("{}\n", weft::plan_json(diagnostic).dump(2));
    } else if (!options.quiet) {
        fmt::print("{}", weft::plan_table(diagnostic));
    }
}

/// A .timing is compared with others, so it is always of the whole model.
void require_whole_model(const Options& options) {
    if (options.output.empty() || options.analyse.model == weft::QueueModel{}) return;
    throw weft::Failure(weft::ExitStatus::usage, "-o writes what weft-select compares, which needs the whole model; leave out -o or the --model options");
}

void run(weft::Tool& tool, const Options& options) {
    require_whole_model(options);
    const weft::Artifact<weft::Target> target(options.target);
    tool.note_input(options.program);
    tool.note_input(options.target);
    const bool tiles = target->family == weft::TargetFamily::Ipu21;
    if (is_schedule(options.program)) return tiles ? run_tile_plan(tool, options, *target) : run_plan(tool, options, *target);
    if (tiles) return run_tiles(tool, options, *target);
    const weft::Analysis analysis = analyse_file(options, *target);
    tool.report() = weft::json_report(analysis);
    if (!options.output.empty()) {
        weft::write_artifact(options.output, weft::view(analysis.timing));
        tool.note_output(options.output);
    }
    if (!options.timeline.empty() && analysis.overlapping) tool.warn("no timeline: it shows cores that do one thing at a time");
    if (!options.timeline.empty() && !analysis.overlapping && analysis.timing.availability == weft::Availability::Available) {
        weft::publish_text(options.timeline, weft::timeline_json(analysis.queue, weft::TieOrder::Forward, options.timeline_rounds));
        tool.note_output(options.timeline);
    }
    if (options.json) {
        fmt::print("{}\n", weft::json_report(analysis).dump(2));
    } else if (!options.quiet) {
        fmt::print("{}", weft::table(analysis, options.cores));
    }
    const auto availability = analysis.timing.availability;
    if (availability == weft::Availability::Available) return;
    const std::string text = fmt::format("{}: {}: {}", options.program, weft::availability_name(availability), analysis.timing.reason);
    const bool broken = availability == weft::Availability::Deadlock || availability == weft::Availability::CrashesTarget;
    if (broken || options.output.empty()) weft::refuse("{}", text);
    tool.warn(text);   // weft-select takes the .timing as "no estimate"
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("analyse", "Predicts the timing of a program without running it: interval, latency, bounds, accounting per core", examples);
    Options options;
    tool.app().add_option("PROGRAM", options.program, "A .prog, a simulator program (folder, JSON, compressed JSON), or a .sched")->required();
    tool.app().add_option("--target", options.target, "The chip (.target)")->required()->type_name("FILE");
    tool.add_output(options.output, "The .timing to write", false);
    tool.app().add_option("--tasks", options.tasks, "Of a .sched: the .tasks that it places")->type_name("FILE");
    tool.app().add_option("--against", options.against, "Tile processors: another .sched of the network; prints the difference of the estimates part by part")->type_name("FILE");
    tool.app().add_option("--against-tasks", options.against_tasks, "The .tasks of that one; default: --tasks")->type_name("FILE");
    tool.app().add_flag("--json", options.json, "Print JSON instead of the table");
    tool.app().add_flag("-q,--quiet", options.quiet, "Print nothing");
    tool.app().add_option("--cores", options.cores, "Rows of the per-core table, busiest first")->capture_default_str();
    tool.app().add_flag("--phases", options.phases, "Tile processors: also print one line per exchange phase");
    tool.app().add_option("--exchange-picture", options.picture, "Tile processors: also draw one exchange phase")->type_name("FILE.svg");
    tool.app().add_option("--phase", options.phase, "Tile processors: which phase to draw; default: the longest")->type_name("N");
    tool.app().add_option("--generations", options.analyse.budget.generations, "Rounds to execute at least before averaging")->capture_default_str();
    tool.app().add_option("--events", options.analyse.budget.events, "Events to execute at least before averaging")->capture_default_str();
    auto& model = options.analyse.model;
    tool.app().add_option("--model-network-queues", model.network_queues, "false: messages of a core do not wait for one another")->capture_default_str();
    tool.app().add_option("--model-issue", model.issue, "false: scalars, issue and retirement take no time")->capture_default_str();
    tool.app().add_option("--model-memory-controller", model.memory_controller, "false: requests do not wait for one another at the global memory")->capture_default_str();
    tool.app().add_option("--recurrence", options.analyse.recurrence, "false: leave out the certified period")->capture_default_str();
    tool.app().add_option("--timeline", options.timeline, "Also write the first rounds as a timeline (Chrome trace event format)")->type_name("FILE.json");
    tool.app().add_option("--timeline-rounds", options.timeline_rounds, "How many")->check(CLI::Range(1U, 1000U))->capture_default_str();
    return tool.run(argc, argv, [&] {
        options.analyse.accounting = options.json || !options.quiet;
        run(tool, options);
    });
}
