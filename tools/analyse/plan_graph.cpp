#include "plan_graph.h"

#include <algorithm>
#include <numeric>

#include "base/id.h"
#include "pim/placement.h"
#include "pim/timing.h"

namespace weft {
namespace {

constexpr std::uint64_t control_bytes = 1;

class PlanBuilder {
public:
    PlanBuilder(const Tasks& tasks, const Schedule& schedule, const Target& target)
        : tasks_(tasks), schedule_(schedule), timing_(target), costs_(timing_.costs()), cores_(target.core_count),
          slots_(std::max(1U, schedule.slots_per_round)), woven_(schedule.exchange == ExchangePolicy::Woven),
          plan_(plan_actors(tasks, schedule.lane_core, {schedule.exchange, slots_, schedule.family_level})) {
        result_.core_work.assign(cores_, 0);
        result_.switch_work.assign(cores_, 0);
        message_work_.assign(std::size_t{cores_} * slots_, 0);
    }

    PlanGraph build() {
        result_.events.exact = false;
        result_.events.remarks = {"order of messages within a slot and their places among the computation are not known before lowering",
                                  "copies within a core, requests' places at the global memory, and queues of switches are not modelled"};
        count_messages();
        add_cores();
        for (const Transfer& transfer : plan_.transfers) connect_transfer(transfer);
        count_outputs();
        return std::move(result_);
    }

private:
    [[nodiscard]] std::uint32_t slot_of(std::uint32_t level) const { return level % slots_; }
    [[nodiscard]] std::uint64_t bytes_of(const Transfer& transfer) const {
        return span_elems(tasks_.tensors[plan_.inputs[transfer.target].tensor.index()], transfer.span);
    }
    [[nodiscard]] bool crosses(const Transfer& transfer) const {
        return transfer.source != no_id && plan_.outputs[transfer.source].core != plan_.inputs[transfer.target].core;
    }
    [[nodiscard]] Picoseconds& messages_in(std::uint32_t core, std::uint32_t slot) { return message_work_[std::size_t{core} * slots_ + slot]; }

    std::uint32_t add_node(InstantKind kind, std::uint32_t core, std::uint32_t lane = no_id) {
        result_.events.instants.push_back({kind, core, lane});
        return result_.events.graph.node_count++;
    }
    void add_edge(std::uint32_t from, std::uint32_t to, Picoseconds weight, EdgeKind kind, std::uint32_t distance = 0) {
        result_.events.graph.add(from, to, weight, distance);
        result_.events.kinds.push_back(kind);
    }

    /// What messages and requests cost each core, with nobody in the way, and the resources between cores.
    void count_messages() {
        for (const Transfer& transfer : plan_.transfers) {
            const std::uint64_t bytes = bytes_of(transfer);
            const CoreId to = plan_.inputs[transfer.target].core;
            const auto size = static_cast<std::uint32_t>(bytes);
            if (transfer.source == no_id) {
                ++result_.requests;
                result_.memory_service += costs_.memory_read(bytes);
                messages_in(to.value, transfer.slot) += timing_.load_ns(to, size) * 1000;
            } else if (crosses(transfer)) {
                const CoreId from = plan_.outputs[transfer.source].core;
                ++result_.transfers;
                messages_in(from.value, transfer.slot) += timing_.send_ns(from, to, size) * 1000;
                messages_in(to.value, transfer.slot) += timing_.recv_ns(from, to, size) * 1000;
                result_.switch_work[from.value] += costs_.network(from.value, to.value, control_bytes) + costs_.network(from.value, to.value, bytes);
                result_.switch_work[to.value] += costs_.network(to.value, from.value, control_bytes);
            } else {
                messages_in(to.value, transfer.slot) += timing_.copy_ns(size) * 1000;
            }
        }
    }

    /// Each output is stored once a round by the cores that make it.
    void count_outputs() {
        for (std::size_t output = 0; output < plan_.outputs.size(); ++output) {
            const RowBuffer& buffer = plan_.outputs[output];
            const TaskTensor& tensor = tasks_.tensors[buffer.tensor.index()];
            if (tensor.output_port == no_id) continue;
            for (const PositionSpan& span : std::span(plan_.spans).subspan(buffer.first_span, buffer.span_count)) {
                ++result_.requests;
                result_.memory_service += costs_.memory_write(span_elems(tensor, span));
            }
        }
    }

    /// A chain per core: for each slot its beginning, the end of its messages, and its actors in the order of the schedule.
    void add_cores() {
        begin_.assign(std::size_t{cores_} * slots_, no_id);
        exchanged_.assign(std::size_t{cores_} * slots_, no_id);
        computed_.assign(plan_.actors.size(), no_id);
        work_.assign(plan_.actors.size(), 0);
        index_actors();
        std::vector<std::uint32_t> place(tasks_.lanes.size(), 0);
        for (std::uint32_t at = 0; at < schedule_.core_lanes.size(); ++at) place[schedule_.core_lanes[at]] = at;
        std::vector<std::uint32_t> order(plan_.actors.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            const Actor& x = plan_.actors[a];
            const Actor& y = plan_.actors[b];
            if (x.core != y.core) return x.core < y.core;
            if (slot_of(x.level) != slot_of(y.level)) return slot_of(x.level) < slot_of(y.level);
            return place[x.first_lane] < place[y.first_lane];
        });
        std::size_t next = 0;
        for (std::uint32_t core = 0; core < cores_; ++core) {
            const std::size_t first = next;
            while (next < order.size() && plan_.actors[order[next]].core.value == core) ++next;
            if (next > first) add_core(core, std::span(order).subspan(first, next - first));
        }
    }

    void add_core(std::uint32_t core, std::span<const std::uint32_t> actors) {
        std::uint32_t last = no_id;
        std::uint32_t start = no_id;
        std::size_t next = 0;
        for (std::uint32_t slot = 0; slot < slots_; ++slot) {
            const std::uint32_t begin = add_node(InstantKind::CoreStart, core);
            const std::uint32_t exchanged = add_node(InstantKind::Taken, core);
            begin_[std::size_t{core} * slots_ + slot] = begin;
            exchanged_[std::size_t{core} * slots_ + slot] = exchanged;
            last == no_id ? void(start = begin) : add_edge(last, begin, 0, EdgeKind::Order);
            add_edge(begin, exchanged, messages_in(core, slot), EdgeKind::Order);
            result_.core_work[core] += messages_in(core, slot);
            last = exchanged;
            for (; next < actors.size() && slot_of(plan_.actors[actors[next]].level) == slot; ++next) {
                const Actor& actor = plan_.actors[actors[next]];
                Picoseconds& work = work_[actors[next]];
                for (const Lane& lane : tasks_.lanes.subspan(actor.first_lane, actor.lane_count)) work += static_cast<Picoseconds>(lane.work_ns) * 1000;
                computed_[actors[next]] = add_node(InstantKind::Served, core, actor.first_lane);
                add_edge(last, computed_[actors[next]], work, EdgeKind::Order);
                last = computed_[actors[next]];
                result_.core_work[core] += work;
            }
        }
        add_edge(last, start, 0, EdgeKind::Restart, 1);
    }

    void index_actors() {
        actors_of_output_.resize(plan_.outputs.size());
        actors_of_input_.resize(plan_.inputs.size());
        for (std::uint32_t actor = 0; actor < plan_.actors.size(); ++actor) {
            actors_of_output_[plan_.actors[actor].output].push_back(actor);
            const std::uint32_t inputs = tasks_.families[plan_.actors[actor].family.index()].input_count;
            for (std::uint32_t input = 0; input < inputs; ++input) actors_of_input_[plan_.actor_inputs[plan_.actors[actor].first_input + input]].push_back(actor);
        }
    }

    void connect_transfer(const Transfer& transfer) {
        if (!crosses(transfer)) return;
        const RowBuffer& output = plan_.outputs[transfer.source];
        const RowBuffer& input = plan_.inputs[transfer.target];
        const std::uint32_t from = output.core.value;
        const std::uint32_t to = input.core.value;
        const std::uint64_t bytes = bytes_of(transfer);
        const std::size_t sender = std::size_t{from} * slots_ + transfer.slot;
        const std::size_t receiver = std::size_t{to} * slots_ + transfer.slot;
        const Picoseconds request = costs_.network(from, to, control_bytes);
        const Picoseconds permission = costs_.network(to, from, control_bytes);
        const std::uint32_t permitted = add_node(InstantKind::Permitted, from);
        const std::uint32_t delivered = add_node(InstantKind::Delivered, to);
        add_edge(begin_[sender], permitted, request + permission, EdgeKind::Order);
        add_edge(begin_[receiver], permitted, permission, EdgeKind::Transfer);
        add_edge(permitted, delivered, costs_.local_read(bytes) + costs_.network(from, to, bytes), EdgeKind::Transfer);
        // With woven exchange messages stand anywhere in the round, so nothing but the round's end waits for them.
        if (!woven_) {
            add_edge(permitted, exchanged_[sender], costs_.local_read(bytes), EdgeKind::Transfer);
            add_edge(delivered, exchanged_[receiver], costs_.local_write(bytes), EdgeKind::Transfer);
        }
        connect_buffers(transfer, permitted, delivered, bytes);
    }

    /// Rounds between what makes, moves, and uses a value. A slot's messages come before its computation.
    void connect_buffers(const Transfer& transfer, std::uint32_t permitted, std::uint32_t delivered, std::uint64_t bytes) {
        const std::uint32_t made = slot_of(plan_.outputs[transfer.source].level);
        const std::uint32_t used = slot_of(plan_.inputs[transfer.target].level);
        const std::uint32_t copies = woven_ ? 2 : 1;   // of each buffer
        const std::uint32_t leaves_after = woven_ || transfer.slot <= made ? 1 : 0;
        const std::uint32_t used_after = woven_ || used < transfer.slot ? 1 : 0;
        const Picoseconds read = costs_.local_read(bytes);
        for (const std::uint32_t actor : actors_of_output_[transfer.source]) {
            add_edge(computed_[actor], permitted, 0, EdgeKind::Ready, leaves_after);
            add_edge(permitted, computed_[actor], read + work_[actor], EdgeKind::Free, copies - leaves_after);
        }
        for (const std::uint32_t actor : actors_of_input_[transfer.target]) {
            add_edge(delivered, computed_[actor], costs_.local_write(bytes) + work_[actor], EdgeKind::Ready, used_after + transfer.delays);
            // Delay buffers take the arrival over every round.
            if (transfer.delays == 0) add_edge(computed_[actor], permitted, 0, EdgeKind::Free, copies - used_after);
        }
    }

    const Tasks& tasks_;
    const Schedule& schedule_;
    PimTiming timing_;
    const PimCosts& costs_;
    std::uint32_t cores_;
    std::uint32_t slots_;
    bool woven_;
    ActorPlan plan_;
    std::vector<Picoseconds> message_work_;   // by core and slot
    std::vector<std::uint32_t> begin_;        // by core and slot
    std::vector<std::uint32_t> exchanged_;
    std::vector<std::uint32_t> computed_;     // by actor: its end
    std::vector<Picoseconds> work_;           // by actor: computation, which is one piece
    std::vector<std::vector<std::uint32_t>> actors_of_output_;
    std::vector<std::vector<std::uint32_t>> actors_of_input_;
    PlanGraph result_;
};

std::uint32_t largest(const std::vector<Picoseconds>& values) {
    return static_cast<std::uint32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

double nanoseconds(Picoseconds time) { return static_cast<double>(time) / 1000.0; }

/// Longest path of the edges without distance.
Picoseconds span_of(const TimedGraph& graph) {
    TimedGraph once;
    once.node_count = graph.node_count + 1;   // a source before all, a sink at the same node a round later
    for (std::size_t edge = 0; edge < graph.edge_count(); ++edge) {
        if (graph.distance[edge] == 0) once.add(graph.from[edge], graph.to[edge], graph.weight[edge], 0);
    }
    for (std::uint32_t node = 0; node < graph.node_count; ++node) {
        once.add(graph.node_count, node, 0, 0);
        once.add(node, graph.node_count, 0, 1);
    }
    return maximum_cycle_ratio(once).numerator;
}

}  // namespace

PlanGraph plan_graph(const Tasks& tasks, const Schedule& schedule, const Target& target) { return PlanBuilder(tasks, schedule, target).build(); }

PlanDiagnostic diagnose_plan(const Tasks& tasks, const Schedule& schedule, const Target& target) {
    PlanGraph plan = plan_graph(tasks, schedule, target);
    PlanDiagnostic result;
    result.recurrence = recurrence_of(plan.events);
    result.busiest_core = largest(plan.core_work);
    result.busiest_core_ns = nanoseconds(plan.core_work[result.busiest_core]);
    result.busiest_switch = largest(plan.switch_work);
    result.busiest_switch_ns = nanoseconds(plan.switch_work[result.busiest_switch]);
    result.memory_service_ns = nanoseconds(plan.memory_service);
    result.round_span_ns = nanoseconds(span_of(plan.events.graph));
    result.transfers = plan.transfers;
    result.requests = plan.requests;
    result.interval_ns = std::max({result.recurrence.interval_ns(), result.busiest_core_ns, result.busiest_switch_ns, result.memory_service_ns});
    if (plan.events.instants.size() <= timing_graph_limit) result.small_graph = std::move(plan.events);
    return result;
}

nlohmann::ordered_json plan_json(const PlanDiagnostic& diagnostic) {
    nlohmann::ordered_json json;
    json["kind"] = "plan";
    json["selection_eligible"] = false;
    json["interval_ns"] = diagnostic.interval_ns;
    json["busiest_core_ns"] = diagnostic.busiest_core_ns;
    json["busiest_core"] = diagnostic.busiest_core;
    json["busiest_switch_ns"] = diagnostic.busiest_switch_ns;
    json["busiest_switch"] = diagnostic.busiest_switch;
    json["memory_service_ns"] = diagnostic.memory_service_ns;
    json["round_span_ns"] = diagnostic.round_span_ns;
    json["transfers"] = diagnostic.transfers;
    json["memory_requests"] = diagnostic.requests;
    json["recurrence"] = recurrence_json(diagnostic.recurrence, nullptr);
    if (!diagnostic.small_graph.instants.empty()) json["timing_graph"] = timing_graph_json(diagnostic.small_graph, nullptr);
    return json;
}

std::string plan_table(const PlanDiagnostic& diagnostic) {
    std::string text;
    const auto line = [&](const char* name, double ns, const std::string& note) { text += fmt::format("{:<28}{:>16.1f} ns{}{}\n", name, ns, note.empty() ? "" : "   ", note); };
    line("interval, estimated", diagnostic.interval_ns, "of the plan, before lowering; weft-select does not take it");
    line("recurrence", diagnostic.recurrence.interval_ns(),
         fmt::format("critical cycle: {} edges over {} cores and {} rounds, certified", diagnostic.recurrence.witness_edges, diagnostic.recurrence.witness_cores.size(),
                     diagnostic.recurrence.witness_distance));
    line("busiest core", diagnostic.busiest_core_ns, fmt::format("core {}", diagnostic.busiest_core));
    line("busiest switch", diagnostic.busiest_switch_ns, fmt::format("core {}", diagnostic.busiest_switch));
    line("global memory service", diagnostic.memory_service_ns, fmt::format("{} requests", diagnostic.requests));
    line("span within one round", diagnostic.round_span_ns, fmt::format("{} transfers between cores; no interval", diagnostic.transfers));
    if (!diagnostic.recurrence.unavailable.empty()) text += "no recurrence: " + diagnostic.recurrence.unavailable + "\n";
    for (const std::string& remark : diagnostic.recurrence.remarks) text += "note: " + remark + "\n";
    return text;
}

}  // namespace weft
