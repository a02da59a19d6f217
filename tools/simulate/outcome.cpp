#include "simulate/outcome.h"

#include <algorithm>
#include <filesystem>

#include "base/id.h"
#include "pim/reader_parts.h"
#include "reference/npy.h"

namespace weft {
namespace {

/// The simulator's output count: the fewest rounds of any core that has a program.
std::uint64_t output_count(const Program& program, const SimulationResult& result, const SimulationOptions& options) {
    if (options.rounds != 0 && options.limit == 0) return options.rounds;
    std::uint64_t fewest = ~std::uint64_t{0};
    for (std::size_t core = 0; core < result.cores.size(); ++core) {
        const bool empty = program.core_first_run[core] == program.core_first_run[core + 1];
        if (!empty) fewest = std::min(fewest, result.cores[core].rounds_fetched);
    }
    return fewest == ~std::uint64_t{0} ? 0 : fewest;
}

bool is_latency(const SimulationOptions& options) { return options.rounds == 1 && options.limit == 0; }

}  // namespace

std::string nanoseconds_text(Picoseconds time) {
    if (time % 1000 == 0) return fmt::format("{}", time / 1000);
    std::string text = fmt::format("{}.{:03}", time / 1000, time % 1000);
    while (text.back() == '0') text.pop_back();
    return text;
}

std::string trace_text(const SimulationResult& result) {
    std::string text = "core\tretire_order\top\trob_push_ns\trob_retire_ns\n";
    std::uint32_t core = no_id;
    std::uint64_t order = 0;
    for (const RetiredInstruction& row : result.trace) {
        order = row.core == core ? order + 1 : 0;
        core = row.core;
        fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\n", core, order, mnemonic(row.op), nanoseconds_text(row.pushed),
                       nanoseconds_text(row.retired));
    }
    return text;
}

std::string outcome_text(const Program& program, const SimulationResult& result, const SimulationOptions& options) {
    std::string text;
    const auto line = [&](std::string_view name, const std::string& value) { text += fmt::format("{:<20}{}\n", name, value); };
    line("mode", is_latency(options) ? "latency" : "throughput");
    if (!result.stuck.empty()) {
        line("deadlock_cores", std::to_string(result.stuck.size()));
        line("end_ns", nanoseconds_text(result.end));
        return text;
    }
    line("latency_ns", nanoseconds_text(first_round_latency(result)));
    if (is_latency(options)) return text;
    line("output_count", std::to_string(output_count(program, result, options)));
    line("interval_ns", nanoseconds_text(steady_interval(result, options)));
    line("end_ns", nanoseconds_text(options.limit != 0 && options.rounds == 0 ? options.limit : result.end));
    return text;
}

nlohmann::ordered_json outcome_json(const Program& program, const SimulationResult& result, const SimulationOptions& options) {
    nlohmann::ordered_json json;
    const auto ns = [](Picoseconds time) { return static_cast<double>(time) / 1000.0; };
    json["mode"] = is_latency(options) ? "latency" : "throughput";
    json["ties"] = options.ties == Ties::forward ? "forward" : "reverse";
    json["latency_ns"] = ns(first_round_latency(result));
    json["interval_ns"] = ns(steady_interval(result, options));
    json["output_count"] = output_count(program, result, options);
    json["end_ns"] = ns(result.end);
    json["events"] = result.events;
    json["memory_busy_ns"] = ns(result.memory_busy);
    auto& cores = json["cores"] = nlohmann::ordered_json::array();
    for (const CoreResult& core : result.cores) {
        cores.push_back({{"rounds", core.rounds_fetched},
                         {"rounds_finished", core.round_ends.size()},
                         {"first_finish_ns", core.round_ends.empty() ? 0.0 : ns(core.round_ends.front())},
                         {"last_finish_ns", core.round_ends.empty() ? 0.0 : ns(core.round_ends.back())},
                         {"local_ns", ns(core.local)},
                         {"communication_ns", ns(core.communication)},
                         {"switch_ns", ns(core.switch_busy)},
                         {"instructions", core.instructions},
                         {"messages", core.messages}});
    }
    auto& stuck = json["stuck"] = nlohmann::ordered_json::array();
    for (const StuckCore& core : result.stuck) {
        stuck.push_back({{"core", core.core}, {"round", core.round}, {"instruction", core.position}, {"row", core.row},
                         {"op", mnemonic(core.op)}, {"waits_for", core.waits_for}});
    }
    return json;
}

std::string deadlock_text(const SimulationResult& result) {
    std::string text = fmt::format("deadlock: {} cores can never go on", result.stuck.size());
    constexpr std::size_t shown = 40;
    for (std::size_t at = 0; at < std::min(shown, result.stuck.size()); ++at) {
        const StuckCore& core = result.stuck[at];
        text += fmt::format("\n  core {}: round {}, instruction {} ({}) waits for {}", core.core, core.round, core.position, mnemonic(core.op), core.waits_for);
    }
    if (result.stuck.size() > shown) text += fmt::format("\n  and {} more (see --report)", result.stuck.size() - shown);
    return text;
}

void require_values(const Program& program, const Target& target) {
    if (program.value_kind != ValueKind::F32) refuse("this program describes time only, so there are no values to compute; leave out --input");
    if (target.core.rob_entries != 1) {
        refuse("values need a reorder buffer of one: with {} entries the chip does not protect what a load overwrites", target.core.rob_entries);
    }
    if (program.inferences_per_round != 1) refuse("values of programs with {} inferences per round are not supported yet", program.inferences_per_round);
}

void write_outputs(Tool& tool, Host& host, const ValueMachine& values, std::uint64_t inferences, const std::string& folder) {
    for (std::uint64_t inference = 0; inference < inferences; ++inference) {
        const std::vector<HostTensor> outputs = host.outputs(values, inference);
        if (folder.empty()) continue;
        const std::filesystem::path place = std::filesystem::path(folder) / fmt::format("inference_{}", inference);
        std::error_code error;
        std::filesystem::create_directories(place, error);
        if (error) system_failure("{}: cannot make the folder: {}", place.string(), error.message());
        for (std::size_t at = 0; at < outputs.size(); ++at) {
            const auto file = place / fmt::format("output_{}.npy", at);
            write_npy(file, outputs[at]);
            tool.note_output(file.string());
        }
    }
}

}  // namespace weft
