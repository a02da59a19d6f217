#include "report.h"

#include <algorithm>

namespace weft {
namespace {

double ratio(double a, double b) { return b == 0 ? 0.0 : a / b; }

double nanoseconds(double picoseconds) { return picoseconds / 1000.0; }

nlohmann::ordered_json bounds_json(const Analysis& analysis) {
    const TimingColumns& timing = analysis.timing;
    const std::vector<Bound> bounds = bounds_of(analysis);
    nlohmann::ordered_json json = {{"work_bound_ns", timing.work_bound_ns},     {"local_bound_ns", timing.local_bound_ns},
                                   {"busiest_core_ns", timing.busiest_core_ns}, {"busiest_core", analysis.busiest_core},
                                   {"memory_bound_ns", timing.memory_bound_ns}, {"switch_bound_ns", timing.switch_bound_ns},
                                   {"busiest_switch", analysis.busiest_switch}, {"recurrence_ns", analysis.recurrence.interval_ns()},
                                   {"binds", bounds[0].name},                   {"next", bounds[1].name}};
    if (analysis.overlapping) json["busiest_unit"] = {{"core", analysis.unit.core}, {"unit", analysis.unit.unit}, {"ns", nanoseconds(static_cast<double>(analysis.unit.time))}};
    auto& shares = json["share_of_interval"] = nlohmann::ordered_json::array();
    for (const Bound& bound : bounds) shares.push_back({{"bound", bound.name}, {"ns", bound.nanoseconds}, {"share", ratio(bound.nanoseconds, analysis.interval_ns)}});
    return json;
}

nlohmann::ordered_json core_json(const Analysis& analysis, std::size_t id) {
    const CoreTiming& core = analysis.timing.cores[id];
    nlohmann::ordered_json json = {{"core", id},
                                   {"local_ns", core.local_ns},
                                   {"communication_ns", core.communication_ns},
                                   {"wait_ns", core.wait_ns},
                                   {"switch_ns", core.switch_ns},
                                   {"switch_share", ratio(static_cast<double>(core.switch_ns), analysis.interval_ns)},
                                   {"memory_wait_ns", core.memory_wait_ns},
                                   {"instructions", core.instructions},
                                   {"messages", core.messages},
                                   {"crossbars", core.crossbars}};
    if (analysis.accounting.cores.empty()) return json;
    const CoreWaits& waits = analysis.accounting.cores[id];
    json["round_ns"] = nanoseconds(waits.round);
    auto& causes = json["waits_ns"] = {{"partner", nanoseconds(waits.partner)},
                                       {"own_queue", nanoseconds(waits.own_queue)},
                                       {"memory", nanoseconds(waits.memory)},
                                       {"tokens", nanoseconds(waits.tokens)}};
    auto& peers = causes["for_core"] = nlohmann::ordered_json::array();
    for (const PeerWait& peer : waits.peers) peers.push_back({{"core", peer.core}, {"ns", nanoseconds(peer.wait)}});
    return json;
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

std::vector<Bound> bounds_of(const Analysis& analysis) {
    const TimingColumns& timing = analysis.timing;
    const auto ns = [](std::uint64_t time) { return static_cast<double>(time); };
    std::vector<Bound> bounds = {{"global memory service", ns(timing.memory_bound_ns)},
                                 {"busiest switch", ns(timing.switch_bound_ns)},
                                 {"recurrence", analysis.recurrence.interval_ns()}};
    // A core that overlaps its instructions can be done sooner than their sum.
    if (analysis.overlapping) {
        bounds.insert(bounds.begin(), {"busiest unit", static_cast<double>(analysis.unit.time) / 1000.0});
    } else {
        bounds.insert(bounds.begin(), {"busiest core", ns(timing.busiest_core_ns)});
        bounds.insert(bounds.end(), {{"work bound", ns(timing.work_bound_ns)}, {"local bound", ns(timing.local_bound_ns)}});
    }
    // Resources are rounded to nanoseconds, the recurrence is not.
    std::stable_sort(bounds.begin(), bounds.end(), [](const Bound& a, const Bound& b) { return a.nanoseconds > b.nanoseconds + 0.5; });
    return bounds;
}

nlohmann::ordered_json json_report(const Analysis& analysis) {
    const TimingColumns& timing = analysis.timing;
    nlohmann::ordered_json json;
    json["availability"] = availability_name(timing.availability);
    if (timing.availability != Availability::Available) json["reason"] = timing.reason;
    json["interval_ns"] = timing.interval_ns;
    json["interval_ns_exact"] = analysis.interval_ns;
    json["alternative_tie_interval_ns"] = timing.alternative_interval_ns;
    json["exact"] = analysis.exact;
    json["latency_ns"] = timing.latency_ns;
    json["inferences_per_round"] = timing.inferences_per_round;
    json["depth"] = timing.depth;
    json["model"] = {{"network_queues", analysis.queue.model.network_queues},
                     {"issue", analysis.queue.model.issue},
                     {"memory_controller", analysis.queue.model.memory_controller}};
    json["bounds"] = bounds_json(analysis);
    const auto spent = [&](LocalUnit unit) { return nanoseconds(static_cast<double>(analysis.shares.unit[static_cast<std::size_t>(unit)])); };
    json["work"] = {{"matrix_ns", spent(LocalUnit::Matrix)},
                    {"vector_ns", spent(LocalUnit::Vector)},
                    {"copy_ns", spent(LocalUnit::Copy)},
                    {"scalar_ns", spent(LocalUnit::Scalar)},
                    {"communication_ns", nanoseconds(static_cast<double>(analysis.shares.communication))}};
    json["interval_over_work_bound"] = ratio(analysis.interval_ns, static_cast<double>(timing.work_bound_ns));
    json["interval_over_local_bound"] = ratio(analysis.interval_ns, static_cast<double>(timing.local_bound_ns));
    json["slowest_core"] = analysis.slowest_core;
    json["recurrence"] = recurrence_json(analysis.recurrence, &analysis.queue);
    json["memory"] = {{"service_ns", timing.memory_bound_ns},
                      {"maximum_request_wait_ns", timing.maximum_request_wait_ns},
                      {"requests_looked_at", analysis.accounting.memory.requests},
                      {"busy_share", analysis.accounting.memory.busy_share},
                      {"mean_request_wait_ns", nanoseconds(analysis.accounting.memory.mean_wait)}};
    json["generations"] = timing.generations;
    json["events"] = timing.events;
    json["program_hash"] = to_hex({timing.program_hash_high, timing.program_hash_low});
    json["notes"] = analysis.notes;
    auto& cores = json["cores"] = nlohmann::ordered_json::array();
    for (std::size_t id = 0; id < timing.cores.size(); ++id) cores.push_back(core_json(analysis, id));
    if (!analysis.small_graph.instants.empty()) json["timing_graph"] = timing_graph_json(analysis.small_graph, &analysis.queue);
    return json;
}

}  // namespace weft
