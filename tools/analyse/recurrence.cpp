#include "recurrence.h"

#include <algorithm>

#include "base/failure.h"
#include "base/id.h"
#include "check_cycle_ratio.h"

namespace weft {
namespace {

nlohmann::ordered_json instant_json(const Instant& instant, const QueueProgram* program) {
    nlohmann::ordered_json json = {{"instant", name_of(instant.kind)}, {"core", instant.core}};
    if (program != nullptr && instant.event != no_id) json["row"] = program->events[instant.event].row;
    if (program == nullptr && instant.event != no_id) json["lane"] = instant.event;
    return json;
}

void describe_witness(Recurrence& result, const EventGraph& events, const std::vector<std::uint32_t>& cycle) {
    const TimedGraph& graph = events.graph;
    result.witness_edges = cycle.size();
    for (const std::uint32_t edge : cycle) {
        result.witness_delay_ps += graph.weight[edge];
        result.witness_distance += graph.distance[edge];
        result.witness_cores.push_back(events.instants[graph.to[edge]].core);
        if (result.witness.size() == witness_limit) continue;
        result.witness.push_back({events.instants[graph.from[edge]], events.instants[graph.to[edge]], events.kinds[edge], graph.weight[edge], graph.distance[edge]});
    }
    std::sort(result.witness_cores.begin(), result.witness_cores.end());
    result.witness_cores.erase(std::unique(result.witness_cores.begin(), result.witness_cores.end()), result.witness_cores.end());
}

}  // namespace

Recurrence recurrence_of(const EventGraph& events) {
    Recurrence result;
    result.unavailable = events.unavailable;
    if (!result.unavailable.empty()) return result;
    result.exact = events.exact;
    result.sound = events.sound;
    result.remarks = events.remarks;
    const TimedGraph& graph = events.graph;
    result.nodes = graph.node_count;
    result.edges = graph.edge_count();
    result.recurrence_edges = static_cast<std::uint64_t>(std::count_if(graph.distance.begin(), graph.distance.end(), [](std::uint32_t one) { return one != 0; }));
    const CycleRatio ratio = maximum_cycle_ratio(graph);
    const std::string problem = cycle_ratio_problem(graph, ratio);
    WEFT_CHECK(problem.empty(), "the cycle ratio's certificate does not hold: {}", problem);
    result.tests = ratio.tests;
    result.sweeps = ratio.sweeps;
    switch (ratio.status) {
        case RatioStatus::Overflow: result.unavailable = "sums of times pass 63 bits"; break;
        case RatioStatus::NoCycle: break;
        case RatioStatus::ZeroDistanceCycle: result.unavailable = "a cycle of instants waits for itself within one round: deadlock"; [[fallthrough]];
        case RatioStatus::Found:
            result.numerator_ps = ratio.numerator;
            result.denominator = ratio.denominator;
            describe_witness(result, events, ratio.cycle);
    }
    return result;
}

nlohmann::ordered_json recurrence_json(const Recurrence& recurrence, const QueueProgram* program) {
    nlohmann::ordered_json json;
    json["available"] = recurrence.unavailable.empty();
    if (!recurrence.unavailable.empty()) json["reason"] = recurrence.unavailable;
    json["interval_ns"] = recurrence.interval_ns();
    json["numerator_ps"] = recurrence.numerator_ps;
    json["denominator"] = recurrence.denominator;
    json["exact"] = recurrence.exact;
    json["sound"] = recurrence.sound;
    json["remarks"] = recurrence.remarks;
    json["nodes"] = recurrence.nodes;
    json["edges"] = recurrence.edges;
    json["recurrence_edges"] = recurrence.recurrence_edges;
    json["intervals_tested"] = recurrence.tests;
    json["passes"] = recurrence.sweeps;
    auto& witness = json["witness"] = {{"edges", recurrence.witness_edges},
                                       {"delay_ps", recurrence.witness_delay_ps},
                                       {"distance", recurrence.witness_distance},
                                       {"cores", recurrence.witness_cores}};
    auto& path = witness["path"] = nlohmann::ordered_json::array();
    for (const WitnessEdge& edge : recurrence.witness) {
        path.push_back({{"from", instant_json(edge.from, program)}, {"to", instant_json(edge.to, program)}, {"because", name_of(edge.kind)},
                        {"delay_ps", edge.delay_ps}, {"distance", edge.distance}});
    }
    return json;
}

nlohmann::ordered_json timing_graph_json(const EventGraph& events, const QueueProgram* program) {
    if (events.instants.size() > timing_graph_limit || !events.unavailable.empty()) return nullptr;
    nlohmann::ordered_json json;
    auto& nodes = json["nodes"] = nlohmann::ordered_json::array();
    for (const Instant& instant : events.instants) nodes.push_back(instant_json(instant, program));
    auto& edges = json["edges"] = nlohmann::ordered_json::array();
    const TimedGraph& graph = events.graph;
    for (std::size_t edge = 0; edge < graph.edge_count(); ++edge) {
        edges.push_back({{"from", graph.from[edge]}, {"to", graph.to[edge]}, {"because", name_of(events.kinds[edge])}, {"delay_ps", graph.weight[edge]},
                         {"distance", graph.distance[edge]}});
    }
    return json;
}

}  // namespace weft
