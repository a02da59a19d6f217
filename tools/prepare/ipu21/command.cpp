#include "prepare/ipu21/command.h"

#include "artifact/file.h"
#include "kernels/kernel_file.h"

namespace weft::ipu21 {

void PrepareCommand::add_options(CLI::App& app) {
    app.add_option("--plans", options_.candidates.plans_per_operator, "Tile processors: plans kept per operator")
        ->check(CLI::Range(1U, 100000U))
        ->capture_default_str();
    app.add_option("--scheduled-plans", options_.candidates.scheduled_plans, "Tile processors: plans per operator whose exchange phases are scheduled, not estimated")
        ->capture_default_str();
    app.add_flag("--all-grid-orders", options_.candidates.all_grid_orders, "Tile processors: also grid orders that are not predicted to win");
    app.add_option("--force", forced_, "Tile processors: the only plan of an operator, OPERATOR=PLAN (see weft-inspect dump of a .tasks)");
    app.add_option("--kernels", kernels_path_, "Measured kernels (.kernels) in place of the timing model where they have the point")->type_name("FILE");
    app.add_option("--kernels-build", kernels_build_, "Only measurements of this kernel build are used; others are stale");
    app.add_option("--precision", precision_, "Tile processors: f16, f32, or both: f16 with products in either, casts around them")->check(CLI::IsMember({"f16", "f32", "both"}))->capture_default_str();
}

std::optional<KernelTable> PrepareCommand::kernels(Tool& tool, TargetFamily family) const {
    if (kernels_path_.empty()) return std::nullopt;
    const Artifact<Kernels> file(kernels_path_);
    tool.note_input(kernels_path_);
    const bool cycles = family == TargetFamily::Ipu21;
    if (file->unit != (cycles ? KernelUnit::Cycles : KernelUnit::Nanoseconds)) {
        bad_input("{}: its times are in {} and this target counts {}; calibrate with measurements of the target", kernels_path_,
                  cycles ? "nanoseconds" : "cycles", cycles ? "cycles" : "nanoseconds");
    }
    KernelTable table(records_of(*file), kernels_build_, "", kernels_path_);
    if (table.stale() != 0) tool.warn(fmt::format("{}: {} records are stale or quarantined and not used", kernels_path_, table.stale()));
    return table;
}

void PrepareCommand::run(Tool& tool, const Artifact<Graph>& graph, const Target& target, const std::string& output) {
    options_.graph_hash = graph.hash();
    options_.candidates.precisions = precision_ == "f16" ? std::vector<std::uint32_t>{2} : precision_ == "f32" ? std::vector<std::uint32_t>{4} : std::vector<std::uint32_t>{2, 4};
    for (const std::string& text : forced_) {
        const std::size_t at = text.find('=');
        if (at == std::string::npos || at == 0) throw Failure(ExitStatus::usage, "--force takes OPERATOR=PLAN");
        options_.forced.emplace_back(text.substr(0, at), text.substr(at + 1));
    }
    const std::optional<KernelTable> table = kernels(tool, target.family);
    options_.kernels = table ? &*table : nullptr;
    PrepareFigures figures;
    const TasksColumns columns = ipu21::prepare(*graph, target, options_, &figures);
    const Hash128 hash = write_artifact(output, view(columns));
    tool.note_output(output);
    auto& report = tool.report();
    report["operators"] = columns.tile_operators.size();
    report["layouts"] = columns.tile_layouts.size();
    report["plans"] = columns.tile_plans.size();
    report["enumerated"] = figures.counts.enumerated;
    report["do_not_fit_a_tile"] = figures.counts.infeasible;
    report["same_grouping"] = figures.counts.same_grouping;
    report["filtered"] = figures.counts.filtered;
    report["measured_plans"] = figures.measured;
    report["interpolated_plans"] = figures.interpolated;
    report["analytical_plans"] = figures.analytical;
    report["tasks_hash"] = to_hex(hash);
}

}  // namespace weft::ipu21
