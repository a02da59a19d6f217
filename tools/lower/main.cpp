#include "artifact/artifact.h"
#include "base/tool.h"
#include "lower/ipu21/command.h"
#include "lower/lower.h"

int main(int argc, char** argv) {
    using namespace weft;
    Tool tool("lower", "Turn a schedule into a program: messages, local memory, instructions.",
              "Example:\n  weft-lower net.tasks net-0.sched --target chip.target -o net-0.prog");
    std::string tasks_path;
    std::string schedule_path;
    std::string target_path;
    std::string output;
    LowerOptions options;
    tool.app().add_option("tasks", tasks_path, "The .tasks of weft-prepare")->required()->type_name("TASKS");
    tool.app().add_option("schedule", schedule_path, "One .sched of weft-schedule")->required()->type_name("SCHED");
    tool.app().add_option("--target", target_path, "The .target of weft-target")->required()->type_name("TARGET");
    tool.app().add_option("--max-depth", options.max_depth, "Refuse schedules deeper than this many rounds");
    tool.app().add_option("--liveness-rounds", options.liveness_rounds, "Rounds over which deadlock freedom is checked")
        ->check(CLI::Range(1U, 64U))
        ->capture_default_str();
    ipu21::LowerCommand tiles;
    tiles.add_options(tool.app());
    tool.add_output(output, "The .prog to write");
    return tool.run(argc, argv, [&] {
        const Artifact<Tasks> tasks(tasks_path);
        const Artifact<Schedule> schedule(schedule_path);
        const Artifact<Target> target(target_path);
        for (const auto& path : {tasks_path, schedule_path, target_path}) tool.note_input(path);
        if (target->family == TargetFamily::Ipu21) return tiles.run(tool, *tasks, *schedule, *target, output);
        const ProgramColumns program = lower(*tasks, *schedule, *target, options);
        const Hash128 hash = write_artifact(output, view(program));
        tool.note_output(output);
        std::uint64_t executed = 0;
        for (const Run& run : program.runs) executed += std::uint64_t{run.instruction_count} * run.trip_count;
        tool.report()["program_hash"] = to_hex(hash);
        tool.report()["depth"] = program.depth;
        tool.report()["instructions"] = executed;
        tool.report()["instruction_rows"] = program.instructions.size();
        tool.report()["local_elems_max"] =
            program.core_local_elems.empty() ? 0 : *std::max_element(program.core_local_elems.begin(), program.core_local_elems.end());
    });
}
