#include <optional>

#include "artifact/artifact.h"
#include "artifact/graph.h"
#include "base/tool.h"
#include "pim/reader.h"
#include "reference/npy.h"
#include "simulate/check.h"
#include "simulate/host.h"
#include "simulate/outcome.h"
#include "simulate/simulate.h"

namespace {

constexpr const char* examples = R"(Examples:
  weft-simulate net.prog --target chip.target                         # latency: every core's list once
  weft-simulate net.prog --target chip.target --rounds 30             # interval between rounds
  weft-simulate simulator-folder --target chip.target --time-ms 5     # as the public simulator's throughput mode
  weft-simulate net.prog --target chip.target --graph net.graph --blobs blobs --input a.npy --input b.npy --outputs out
)";

struct Options {
    std::string program;
    std::string target;
    std::string mode;
    std::string ties = "forward";
    std::uint64_t rounds = 0;
    double time_ms = 0;
    std::string graph;
    std::string blobs;
    std::vector<std::string> inputs;
    std::string outputs;
    std::string trace;
};

/// The program's columns and what they live in.
struct LoadedProgram {
    std::optional<weft::Artifact<weft::Program>> artifact;
    weft::ProgramColumns columns;
    weft::Program program;
};

LoadedProgram load_program(const std::string& path) {
    LoadedProgram loaded;
    if (weft::is_simulator_program(path)) {
        loaded.columns = weft::read_simulator_program(path);
        loaded.program = weft::view(loaded.columns);
        weft::validate(loaded.program, path);
    } else {
        loaded.artifact.emplace(path);
        loaded.program = **loaded.artifact;
    }
    return loaded;
}

weft::SimulationOptions simulation_options(const Options& options, std::uint64_t standard_rounds) {
    weft::SimulationOptions result;
    const bool throughput = options.mode == "throughput" || options.rounds != 0 || options.time_ms != 0 || standard_rounds > 1;
    result.rounds = options.rounds;
    result.limit = static_cast<weft::Picoseconds>(options.time_ms * 1e9);
    if (!throughput) result.rounds = 1;
    if (throughput && result.rounds == 0 && result.limit == 0) result.rounds = standard_rounds > 1 ? standard_rounds : 20;
    result.keep_looping = throughput;
    result.ties = options.ties == "reverse" ? weft::Ties::reverse : weft::Ties::forward;
    result.record_trace = !options.trace.empty();
    return result;
}

void run(weft::Tool& tool, const Options& options) {
    if (options.mode == "latency" && (options.rounds > 1 || options.time_ms != 0)) {
        throw weft::Failure(weft::ExitStatus::usage, "--mode latency runs every list once: neither --rounds nor --time-ms fits");
    }
    const LoadedProgram loaded = load_program(options.program);
    const weft::Program& program = loaded.program;
    const weft::Artifact<weft::Target> target(options.target);
    tool.note_input(options.program);
    tool.note_input(options.target);

    const bool with_values = !options.inputs.empty();
    std::optional<weft::Artifact<weft::Graph>> graph;
    if (!options.graph.empty()) graph.emplace(options.graph);
    const weft::BlobStore store(options.blobs);
    std::optional<weft::Host> host;
    std::optional<weft::ValueMachine> values;
    if (with_values) {
        weft::require_values(program, *target);
        std::vector<weft::HostTensor> tensors;
        for (const auto& input : options.inputs) {
            tensors.push_back(weft::read_npy(input));
            tool.note_input(input);
        }
        host.emplace(program, graph.has_value() ? &**graph : nullptr, store, std::move(tensors));
        values.emplace(program, store, host->input_images());
    }
    const weft::SimulationOptions settings =
        simulation_options(options, with_values ? host->inference_count() + program.depth : 1);
    for (const auto& warning : weft::check_program(program, *target, settings.rounds == 1, options.program)) tool.warn(warning);

    const weft::SimulationResult result = weft::simulate(program, *target, settings, values.has_value() ? &*values : nullptr);
    if (!options.trace.empty()) {
        weft::publish_text(options.trace, weft::trace_text(result));
        tool.note_output(options.trace);
    }
    tool.report().update(weft::outcome_json(program, result, settings));
    fmt::print("{}", weft::outcome_text(program, result, settings));
    if (!result.stuck.empty()) weft::refuse("{}: {}", options.program, weft::deadlock_text(result));
    if (with_values) {
        const std::uint64_t complete = settings.rounds > program.depth ? settings.rounds - program.depth : 0;
        if (settings.rounds != 0 && complete < host->inference_count()) {
            tool.warn(fmt::format("{} rounds complete {} inferences (depth {}), fewer than the {} given", settings.rounds, complete, program.depth, host->inference_count()));
        }
        weft::write_outputs(tool, *host, *values, complete, options.outputs);
    }
}

}  // namespace

int main(int argc, char** argv) {
    weft::Tool tool("simulate", "Runs a program instruction by instruction, with time and with values", examples);
    Options options;
    auto& app = tool.app();
    app.add_option("PROGRAM", options.program, "A .prog, or a program of the public simulator: folder, JSON, or compressed JSON (time only)")->required();
    app.add_option("--target", options.target, "The chip (.target)")->required()->type_name("FILE");
    app.add_option("--mode", options.mode, "latency: every list once; throughput: lists repeat")->check(CLI::IsMember({"latency", "throughput"}));
    app.add_option("--rounds", options.rounds, "Throughput: repetitions of every list (20; with inputs as many as they need)");
    app.add_option("--time-ms", options.time_ms, "Throughput: stop after this simulated time")->check(CLI::Range(1e-6, 1e6));
    app.add_option("--ties", options.ties, "Requests that reach the global memory at one instant are served by core number: forward or reverse")
        ->check(CLI::IsMember({"forward", "reverse"}));
    app.add_option("--graph", options.graph, "The network (.graph): shapes, and the operators left to the host")->type_name("FILE");
    app.add_option("--blobs", options.blobs, "Folder of the weight blobs")->type_name("DIR");
    app.add_option("--input", options.inputs, "Network inputs (.npy), inference after inference; computes values")->type_name("FILE");
    app.add_option("--outputs", options.outputs, "Folder for the outputs: inference_<k>/output_<i>.npy")->type_name("DIR");
    app.add_option("--trace", options.trace, "Write every retired instruction to this file (tab-separated)")->type_name("FILE");
    return tool.run(argc, argv, [&] { run(tool, options); });
}
