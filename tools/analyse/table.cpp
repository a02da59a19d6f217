#include "table.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

double ratio(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b); }

struct Bound {
    const char* name;
    std::uint64_t nanoseconds;
};

/// Lower bounds of the interval, largest first: the first one binds (or comes nearest to binding), the second would be next.
std::vector<Bound> bounds_of(const TimingColumns& timing) {
    std::vector<Bound> bounds = {{"busiest core", timing.busiest_core_ns},
                                 {"global memory service", timing.memory_bound_ns},
                                 {"busiest switch", timing.switch_bound_ns},
                                 {"work bound", timing.work_bound_ns},
                                 {"local bound", timing.local_bound_ns}};
    std::stable_sort(bounds.begin(), bounds.end(), [](const Bound& a, const Bound& b) { return a.nanoseconds > b.nanoseconds; });
    return bounds;
}

std::uint64_t sum(const TimingColumns& timing, std::uint64_t CoreTiming::*field) {
    return std::accumulate(timing.cores.begin(), timing.cores.end(), std::uint64_t{0},
                           [&](std::uint64_t total, const CoreTiming& core) { return total + core.*field; });
}

std::string core_rows(const TimingColumns& timing, std::size_t count) {
    std::vector<std::size_t> order(timing.cores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto busy = [&](std::size_t core) { return timing.cores[core].local_ns + timing.cores[core].communication_ns; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return busy(a) > busy(b); });
    order.resize(std::min(order.size(), count));
    std::string text = fmt::format("\n{:>6} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>9} {:>9}\n", "core", "local ns", "comm. ns", "wait ns", "switch ns",
                                   "memory wait", "instructions", "messages", "crossbars");
    for (const std::size_t id : order) {
        const CoreTiming& core = timing.cores[id];
        text += fmt::format("{:>6} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>9} {:>9}\n", id, core.local_ns, core.communication_ns, core.wait_ns,
                            core.switch_ns, core.memory_wait_ns, core.instructions, core.messages, core.crossbars);
    }
    return text;
}

}  // namespace

const char* availability_name(Availability availability) {
    switch (availability) {
        case Availability::Available: return "available";
        case Availability::Deadlock: return "deadlock";
        case Availability::UnsupportedReorderBuffer: return "unsupported reorder buffer";
        case Availability::UnsupportedInstruction: return "unsupported instruction";
        case Availability::GenerationLimit: return "generation limit";
        case Availability::EventLimit: return "event limit";
        case Availability::Overflow: return "overflow";
        case Availability::CrashesTarget: return "crashes the target";
        case Availability::EmptyProgram: return "empty program";
    }
    return "unknown";
}

std::string table(const Analysis& analysis, std::size_t cores) {
    const TimingColumns& timing = analysis.timing;
    if (timing.availability != Availability::Available) {
        return fmt::format("timing unavailable: {}\n{}{}", availability_name(timing.availability), timing.reason,
                           timing.reason.empty() || timing.reason.back() == '\n' ? "" : "\n");
    }
    const auto bounds = bounds_of(timing);
    std::string text;
    const auto line = [&](const char* name, std::uint64_t value, const std::string& note) {
        text += fmt::format("{:<28}{:>16} ns{}{}\n", name, value, note.empty() ? "" : "   ", note);
    };
    line("interval", timing.interval_ns, analysis.exact ? fmt::format("exact period {:.3f}, slowest core {}", analysis.interval_ns, analysis.slowest_core) : "average");
    if (timing.alternative_interval_ns != timing.interval_ns) line("interval, ties reversed", timing.alternative_interval_ns, "");
    if (timing.inferences_per_round > 1) line("interval per inference", timing.interval_ns / timing.inferences_per_round, "");
    line("latency, each list once", timing.latency_ns, timing.depth == 0 ? "" : fmt::format("the first valid output comes {} rounds later", timing.depth));
    line("work bound W", timing.work_bound_ns, fmt::format("interval / W  = {:.4f}", ratio(timing.interval_ns, timing.work_bound_ns)));
    line("local bound L0", timing.local_bound_ns, fmt::format("interval / L0 = {:.4f}", ratio(timing.interval_ns, timing.local_bound_ns)));
    line("busiest core", timing.busiest_core_ns, fmt::format("core {}, interval / it = {:.4f}", analysis.busiest_core, ratio(timing.interval_ns, timing.busiest_core_ns)));
    line("global memory service", timing.memory_bound_ns, fmt::format("{:.1f} % of the interval", 100 * ratio(timing.memory_bound_ns, timing.interval_ns)));
    line("busiest switch", timing.switch_bound_ns, fmt::format("core {}, {:.1f} % of the interval", analysis.busiest_switch, 100 * ratio(timing.switch_bound_ns, timing.interval_ns)));
    line("longest wait at the memory", timing.maximum_request_wait_ns, "");
    text += fmt::format("{:<28}{} ({:.4f} of the interval), then {}\n", "largest bound", bounds[0].name, ratio(bounds[0].nanoseconds, timing.interval_ns), bounds[1].name);
    text += fmt::format("{:<28}{:>16}      {} messages a round, {} rounds and {} events executed\n", "instructions a round",
                        sum(timing, &CoreTiming::instructions),
                        std::accumulate(timing.cores.begin(), timing.cores.end(), std::uint64_t{0}, [](std::uint64_t total, const CoreTiming& core) { return total + core.messages; }),
                        timing.generations, timing.events);
    if (cores > 0) text += core_rows(timing, cores);
    for (const std::string& note : analysis.notes) text += "note: " + note + "\n";
    return text;
}

nlohmann::ordered_json json_report(const Analysis& analysis) {
    const TimingColumns& timing = analysis.timing;
    nlohmann::ordered_json json;
    json["availability"] = availability_name(timing.availability);
    if (timing.availability != Availability::Available) json["reason"] = timing.reason;
    json["interval_ns"] = timing.interval_ns;
    json["alternative_tie_interval_ns"] = timing.alternative_interval_ns;
    json["exact"] = analysis.exact;
    json["latency_ns"] = timing.latency_ns;
    json["inferences_per_round"] = timing.inferences_per_round;
    json["depth"] = timing.depth;
    json["bounds"] = {{"work_bound_ns", timing.work_bound_ns},         {"local_bound_ns", timing.local_bound_ns},
                      {"busiest_core_ns", timing.busiest_core_ns},     {"busiest_core", analysis.busiest_core},
                      {"memory_bound_ns", timing.memory_bound_ns},     {"switch_bound_ns", timing.switch_bound_ns},
                      {"busiest_switch", analysis.busiest_switch},     {"largest", bounds_of(timing)[0].name},
                      {"next", bounds_of(timing)[1].name}};
    json["interval_over_work_bound"] = ratio(timing.interval_ns, timing.work_bound_ns);
    json["interval_over_local_bound"] = ratio(timing.interval_ns, timing.local_bound_ns);
    json["slowest_core"] = analysis.slowest_core;
    json["maximum_request_wait_ns"] = timing.maximum_request_wait_ns;
    json["generations"] = timing.generations;
    json["events"] = timing.events;
    json["program_hash"] = to_hex({timing.program_hash_high, timing.program_hash_low});
    json["notes"] = analysis.notes;
    auto& cores = json["cores"] = nlohmann::ordered_json::array();
    for (std::size_t id = 0; id < timing.cores.size(); ++id) {
        const CoreTiming& core = timing.cores[id];
        cores.push_back({{"core", id}, {"local_ns", core.local_ns}, {"communication_ns", core.communication_ns}, {"wait_ns", core.wait_ns},
                         {"switch_ns", core.switch_ns}, {"memory_wait_ns", core.memory_wait_ns}, {"instructions", core.instructions},
                         {"messages", core.messages}, {"crossbars", core.crossbars}});
    }
    return json;
}

}  // namespace weft
