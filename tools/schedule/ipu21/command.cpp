#include "schedule/ipu21/command.h"

#include "artifact/constraint.h"

namespace weft::ipu21 {

void ScheduleCommand::add_options(CLI::App& app) {
    app.add_option("--width", options_.planner.width, "Tile processors: states kept after each operator; 0: 128, more for few operators, 2,048 for up to four")
        ->check(CLI::Range(0U, 1000000U))
        ->capture_default_str();
    app.add_option("--finalists", options_.planner.finalists, "Tile processors: candidates to write, at most 11")->check(CLI::Range(1U, 11U))->capture_default_str();
    app.add_option("--constraint", constraints_, "Tile processors: .constraint files of failed placements; may be given several times")->type_name("FILE");
    app.add_option("--require", required_, "Tile processors: the only plan of an operator, OPERATOR=PLAN out of the .tasks; may be given several times");
    app.add_option("--refinements", options_.refinements, "Tile processors: rounds of planning with the finalists' conversions scheduled, not estimated")
        ->check(CLI::Range(0U, 100U))
        ->capture_default_str();
    app.add_option("--tie-percent", options_.tie_percent,
                   "Tile processors: estimates closer than this share of their expected error tie, and the better known plan wins")
        ->capture_default_str();
}

std::vector<ScheduleColumns> ScheduleCommand::run(Tool& tool, const Artifact<Tasks>& tasks, const Target& target) {
    for (const std::string& path : constraints_) {
        const Artifact<Constraint> constraint(path);
        tool.note_input(path);
        std::pair<std::string, std::string> entry(constraint->operator_name, constraint->plan_key);
        for (const auto& known : options_.forbidden) {
            if (known == entry) refuse("{}: the same constraint twice; placement feedback makes no progress", path);
        }
        options_.forbidden.push_back(std::move(entry));
    }
    for (const std::string& text : required_) {
        const std::size_t at = text.find('=');
        if (at == std::string::npos || at == 0) throw Failure(ExitStatus::usage, "--require takes OPERATOR=PLAN");
        options_.required.emplace_back(text.substr(0, at), text.substr(at + 1));
    }
    PlannerCounts counts;
    std::vector<ScheduleColumns> schedules = make_schedules(*tasks, target, options_, tasks.hash(), &counts);
    auto& report = tool.report();
    report["states_expanded"] = counts.expanded;
    report["states_infeasible"] = counts.infeasible;
    report["states_dominated"] = counts.retention.dominated;
    report["states_capped"] = counts.retention.capped;
    report["widest_frontier"] = counts.widest;
    report["conversions_costed"] = counts.changes;
    report["constraints"] = options_.forbidden.size();
    for (const ScheduleColumns& schedule : schedules) {
        nlohmann::ordered_json plans = nlohmann::ordered_json::array();
        for (std::size_t op = 0; op < schedule.plan_choice.size(); ++op) {
            plans.push_back({{"operator", pool_text(tasks->name_pool, tasks->tile_operators[op].name)},
                             {"plan", pool_text(tasks->name_pool, tasks->tile_plans[schedule.plan_choice[op]].key)}});
        }
        const TileEstimate& estimate = schedule.tile_estimate.front();
        report["finalists"].push_back({{"strategy", schedule.strategy},
                                       {"cycles", estimate.cycles},
                                       {"standard_bytes", estimate.standard_bytes},
                                       {"interleaved_bytes", estimate.interleaved_bytes},
                                       {"row_bytes", estimate.row_bytes},
                                       {"conversions", schedule.conversions.size()},
                                       {"plans", plans}});
    }
    return schedules;
}

}  // namespace weft::ipu21
