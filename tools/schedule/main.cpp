#include <algorithm>
#include <filesystem>
#include <map>

#include "artifact/candidates.h"
#include "base/tool.h"
#include "schedule/ipu21/command.h"
#include "schedule/schedule.h"

namespace {

using namespace weft;

/// net.cands -> net-0.sched beside it.
std::filesystem::path candidate_path(const std::filesystem::path& list, std::size_t index) {
    return list.parent_path() / fmt::format("{}-{}.sched", list.stem().string(), index);
}

CandidatesColumns write_candidates(Tool& tool, const std::filesystem::path& list, const std::vector<ScheduleColumns>& schedules) {
    CandidatesColumns candidates;
    for (std::size_t i = 0; i < schedules.size(); ++i) {
        const ScheduleColumns& schedule = schedules[i];
        const auto path = candidate_path(list, i);
        const Hash128 hash = write_artifact(path, view(schedule));
        tool.note_output(path.string());
        candidates.file_names.push_back(path.filename().string());
        candidates.strategies.push_back(schedule.strategy);
        candidates.hash_high.push_back(hash.high);
        candidates.hash_low.push_back(hash.low);
        candidates.bottleneck_ns.push_back(*std::max_element(schedule.core_work_ns.begin(), schedule.core_work_ns.end()));
        candidates.depth.push_back(schedule.depth);
        candidates.stage_count.push_back(schedule.stage_count);
        std::uint32_t used = 0;
        std::uint32_t crossbars = 0;
        for (std::size_t c = 0; c + 1 < schedule.core_first.size(); ++c) {
            used += schedule.core_first[c + 1] > schedule.core_first[c] ? 1U : 0U;
            crossbars += schedule.core_crossbars[c];
        }
        candidates.cores_used.push_back(used);
        candidates.crossbars_used.push_back(crossbars);
        tool.report()["candidates"].push_back({{"file", candidates.file_names.back()},
                                               {"strategy", schedule.strategy},
                                               {"busiest_core_ns", candidates.bottleneck_ns.back()},
                                               {"depth", schedule.depth},
                                               {"stages", schedule.stage_count},
                                               {"cores_used", used},
                                               {"crossbars_used", crossbars},
                                               {"critical_path_ns", schedule.critical_path_ns},
                                               {"completion_ns", schedule.completion_ns},
                                               {"transfer_flits_ps", schedule.transfer_flits_ps}});
    }
    return candidates;
}

/// Files of an earlier run with more candidates would be taken for present ones.
void remove_stale(const std::filesystem::path& list, std::size_t count) {
    for (std::size_t i = count; std::filesystem::remove(candidate_path(list, i)); ++i) {
    }
}

}  // namespace

int main(int argc, char** argv) {
    Tool tool("schedule", "Place the lanes of a network on a target's cores: candidate schedules.",
              "Examples:\n  weft-schedule net.tasks --target chip.target -o net.cands\n"
              "  weft-schedule net.tasks --target chip.target --stages 4 -o net.cands\n"
              "  weft-schedule net.tasks --target chip.target --mode latency -o net.cands\n"
              "Writes net.cands and net-0.sched, net-1.sched, ... beside it; candidate 0 is the conservative one.");
    std::string tasks_path;
    std::string target_path;
    std::string output;
    std::string stages = "auto";
    ScheduleOptions options;
    tool.app().add_option("tasks", tasks_path, "The .tasks of weft-prepare")->required()->type_name("TASKS");
    tool.app().add_option("--target", target_path, "The .target of weft-target")->required()->type_name("TARGET");
    const std::map<std::string, ScheduleMode> modes = {{"throughput", ScheduleMode::Throughput}, {"latency", ScheduleMode::Latency}};
    const std::map<std::string, ListAlgorithm> algorithms = {
        {"peft", ListAlgorithm::Peft}, {"heft", ListAlgorithm::Heft}, {"lookahead", ListAlgorithm::LookAhead}};
    tool.app()
        .add_option("--mode", options.mode, "What to optimise: throughput, or latency (one inference at a time)")
        ->transform(CLI::CheckedTransformer(modes).description(""))
        ->type_name("MODE")
        ->default_str("throughput");
    tool.app()
        .add_option("--algorithm", options.latency.algorithm, "List scheduling of latency mode: peft, heft, or lookahead (slow)")
        ->transform(CLI::CheckedTransformer(algorithms).description(""))
        ->type_name("NAME")
        ->default_str("peft");
    tool.app()
        .add_option("--stages", stages, "Pipeline stages (inferences under way), or auto: one per dependency level")
        ->type_name("N|auto")
        ->capture_default_str();
    tool.app().add_option("--max-depth", options.max_depth, "Most rounds between an input and its output; 0: one inference per round");
    tool.app().add_option("--placement-moves", options.placement_moves_per_core, "Moves of the placement search per core")
        ->check(CLI::Range(0U, 1000000U))
        ->capture_default_str();
    tool.app().add_option("--refinement-trials", options.refinement_trials_per_core, "Moves of lanes per core that the balance of load tries")
        ->check(CLI::Range(0U, 1000000U))
        ->capture_default_str();
    tool.app().add_option("--candidates", options.most_candidates, "Most candidates of throughput mode")->check(CLI::Range(1U, 11U))->capture_default_str();
    ipu21::ScheduleCommand tiles;
    tiles.add_options(tool.app());
    tool.add_output(output, "The .cands to write");
    return tool.run(argc, argv, [&] {
        if (stages != "auto") {
            if (stages.empty() || stages.find_first_not_of("0123456789") != std::string::npos || stages.size() > 6 ||
                std::stoul(stages) == 0) {
                throw Failure(ExitStatus::usage, "--stages takes a positive number or auto");
            }
            options.stages = static_cast<std::uint32_t>(std::stoul(stages));
        }
        const Artifact<Tasks> tasks(tasks_path);
        const Artifact<Target> target(target_path);
        tool.note_input(tasks_path);
        tool.note_input(target_path);
        tool.note_output(output);
        const auto schedules = target->family == TargetFamily::Ipu21 ? tiles.run(tool, tasks, *target)
                                                                      : make_schedules(*tasks, *target, options, tasks.hash());
        const CandidatesColumns candidates = write_candidates(tool, output, schedules);
        remove_stale(output, schedules.size());
        write_artifact(output, view(candidates));
    });
}
