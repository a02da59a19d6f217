#include <fmt/format.h>

#include <map>
#include <optional>

#include "artifact/artifact.h"
#include "artifact/graph.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "base/tool.h"
#include "prepare/ipu21/command.h"
#include "prepare/prepare.h"

namespace {

constexpr const char* examples = R"(Examples:
  weft-prepare resnet18.graph --target isaac.target -o resnet18.tasks
  weft-prepare resnet18.graph --target isaac.target --lanes-per-core 16 --report resnet18-tasks.json -o resnet18.tasks
  weft-prepare detector.graph --target isaac.target --no-host -o detector.tasks

Operators that the chip lacks run on the host where they stand at the very start or end of the network; elsewhere, and
everywhere with --no-host, they are refused with status 1 and the complete list.)";

std::vector<std::string> node_names(const weft::Graph& graph, std::span<const std::uint32_t> nodes) {
    std::vector<std::string> names;
    for (const std::uint32_t node : nodes) names.emplace_back(weft::pool_text(graph.name_pool, graph.nodes[node].name));
    return names;
}

void fill_report(nlohmann::ordered_json& report, const weft::Graph& graph, const weft::Tasks& tasks, const weft::TaskFigures& figures) {
    report["families"] = figures.families;
    report["strips"] = figures.strips;
    report["lanes"] = figures.lanes;
    report["demands"] = figures.demands;
    report["crossbars_minimum"] = figures.crossbars;
    report["crossbars_available"] = figures.crossbars_available;
    report["work_bound_ns"] = tasks.work_bound_ns;
    report["work_ns"] = figures.work_ns;
    report["mvmul_ns"] = figures.mvmul_ns;
    report["copy_ns"] = figures.copy_ns;
    report["other_ns"] = figures.other_ns;
    report["host_head"] = node_names(graph, tasks.host_head);
    report["host_tail"] = node_names(graph, tasks.host_tail);
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("prepare", "Layouts, fusion, weight tiling, lanes and costs of a network on a chip (.graph -> .tasks).", examples);
    std::string graph_path;
    std::string target_path;
    std::string output_path;
    bool no_host = false;
    weft::PrepareOptions options;
    const std::map<std::string, weft::PrepareMode> modes{{"throughput", weft::PrepareMode::throughput}, {"latency", weft::PrepareMode::latency}};
    tool.app().add_option("graph", graph_path, "The network")->required()->type_name("NET.graph");
    tool.app().add_option("--target", target_path, "The chip")->required()->type_name("CHIP.target");
    tool.app().add_flag("--no-host", no_host, "Refuse operators that the chip lacks instead of leaving them to the host");
    auto* lane_ns = tool.app().add_option("--lane-ns", options.lane_ns, "Work of a lane in nanoseconds")->check(CLI::PositiveNumber)->type_name("N");
    tool.app()
        .add_option("--lanes-per-core", options.lanes_per_core, "Size lanes so that a core gets about K of them (default 48)")
        ->check(CLI::Range(1U, 100000U))
        ->type_name("K")
        ->excludes(lane_ns);
    tool.app()
        .add_option("--family-crossbars", options.family_crossbars,
                    "Cut layers into families of at most N crossbars: more cores share a layer without more crossbars, for short "
                    "latency; more messages (default: four fifths or nearly all of a core, whichever packs better)")
        ->check(CLI::Range(1U, 1000000U))
        ->type_name("N");
    tool.app()
        .add_option("--widest-window", options.widest_window, "Rows and columns of output positions that one matrix may compute together (default 16; 1: one by one)")
        ->check(CLI::Range(1U, 64U))
        ->type_name("N");
    tool.app()
        .add_option("--crossbar-share", options.crossbar_percent, "Percent of the chip's crossbars for weights and their copies (default: what packs best)")
        ->check(CLI::Range(1U, 100U))
        ->type_name("P");
    tool.app()
        .add_option("--mode", options.mode, "What mappings are for: throughput, or latency (one inference at a time)")
        ->transform(CLI::CheckedTransformer(modes).description(""))
        ->type_name("MODE")
        ->default_str("throughput");
    weft::ipu21::PrepareCommand tiles;
    tiles.add_options(tool.app());
    tool.add_output(output_path, "The tasks");
    return tool.run(argc, argv, [&] {
        const weft::Artifact<weft::Graph> graph(graph_path);
        const weft::Artifact<weft::Target> target(target_path);
        tool.note_input(graph_path);
        tool.note_input(target_path);
        if (target->family == weft::TargetFamily::Ipu21) return tiles.run(tool, graph, *target, output_path);
        options.allow_host = !no_host;
        options.graph_hash = graph.hash();
        const std::optional<weft::KernelTable> kernels = tiles.kernels(tool, target->family);
        options.kernels = kernels ? &*kernels : nullptr;
        const weft::TasksColumns columns = weft::prepare(*graph, *target, options);
        const weft::Tasks tasks = weft::view(columns);
        weft::validate(tasks, output_path);
        const weft::TaskFigures figures = weft::task_figures(tasks, *target);
        fill_report(tool.report(), *graph, tasks, figures);
        if (figures.crossbars > figures.crossbars_available) {
            tool.warn(fmt::format("{}: the weights need {} crossbars and the chip has {}; no schedule can fit", graph_path, figures.crossbars,
                                  figures.crossbars_available));
        }
        const auto bytes = weft::serialize(tasks);
        weft::publish_file(output_path, std::as_bytes(std::span(bytes.data(), bytes.size())));
        tool.note_output(output_path);
    });
}
