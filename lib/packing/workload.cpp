#include "packing/workload.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "pim/kernel.h"
#include "pim/placement.h"

namespace weft {
namespace {

/// Nanoseconds per 1024 elements at both ends of a message, from one large message.
struct CommunicationRates {
    std::int64_t send = 0;
    std::int64_t receive = 0;
    std::int64_t copy = 0;   // within a core: delay buffers
    std::int64_t load = 0;   // from the global memory, nobody else there
};

CommunicationRates communication_rates(const Target& target, const PimTiming& timing) {
    constexpr std::uint32_t sample = 4096;
    if (target.core_count < 2) return {0, 0, timing.copy_ns(sample) / 4, timing.load_ns(CoreId(0), sample) / 4};
    const CoreId a(0);
    const CoreId b(target.core_count / 2);
    return {timing.send_ns(a, b, sample) / 4, timing.recv_ns(a, b, sample) / 4, timing.copy_ns(sample) / 4, timing.load_ns(a, sample) / 4};
}

std::uint32_t reader_count(const Tasks& tasks, std::uint32_t tensor) {
    return narrow<std::uint32_t>(std::count(tasks.inputs.begin(), tasks.inputs.end(), tensor));
}

/// A follower's work is charged to its leaders' lanes, by their work, before it is placed itself.
void charge_leaders(const Tasks& tasks, Workload& workload) {
    // A lane that would fill a good part of a core's time is better placed by itself.
    workload.followers = find_followers(tasks, workload.lane_ns, std::max<std::int64_t>(1, workload.total_ns / workload.core_count / 12));
    workload.charge_ns = workload.lane_ns;
    const Followers& followers = workload.followers;
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        if (!followers.follows(f)) continue;
        const auto leaders = std::span(followers.leaders).subspan(followers.first_leader[f], followers.first_leader[f + 1] - followers.first_leader[f]);
        std::int64_t leading = 0;
        for (const std::uint32_t leader : leaders) leading += workload.families[leader].work_ns;
        for (const std::uint32_t leader : leaders) {
            const Family& family = tasks.families[leader];
            for (std::uint32_t l = family.first_lane; l < family.first_lane + family.lane_count; ++l) {
                workload.charge_ns[l] += multiply_divide(workload.families[f].work_ns, workload.lane_ns[l], std::max<std::int64_t>(1, leading));
            }
        }
    }
}

}  // namespace

Workload measure_workload(const Tasks& tasks, const Target& target, const PimTiming& timing) {
    const CommunicationRates rates = communication_rates(target, timing);
    Workload workload;
    workload.core_count = target.core_count;
    workload.core_crossbars = target.core.crossbar_count;
    workload.core_elems = static_cast<std::int64_t>(target.core.local_memory_bytes / 3);
    workload.lane_ns.reserve(tasks.lanes.size());
    const std::vector<std::uint32_t> levels = dependency_levels(tasks);
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        const Family& family = tasks.families[f];
        FamilyLoad load;
        load.crossbars = family.crossbars;
        const TaskTensor& output = tasks.tensors[family.output];
        const std::int64_t sends = std::int64_t{reader_count(tasks, family.output)} * output.channels * rates.send;
        // Inputs: a neighbouring lane shares rows, so that a lane's own part is what its first position adds to the one before.
        const TileGrid grid(family, output);
        std::vector<std::int64_t> demanded(family.input_count);
        for (std::uint32_t l = family.first_lane; l < family.first_lane + family.lane_count; ++l) {
            const Lane& lane = tasks.lanes[l];
            const std::int64_t made = grid.owned_positions(lane.first_tile, lane.tile_count);
            std::int64_t received = 0;
            std::int64_t elems = made * output.channels;
            std::fill(demanded.begin(), demanded.end(), 0);
            for (const Demand& demand : tasks.demands.subspan(lane.first_demand, lane.demand_count)) demanded[demand.input] += demand.position_count;
            for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
                const TaskTensor& input = tasks.tensors[tasks.inputs[family.first_input + slot]];
                const std::int64_t positions = std::int64_t{input.rows} * input.columns;
                const std::int64_t share = ceil_divide<std::int64_t>(positions * made, std::int64_t{output.rows} * output.columns);
                const std::int64_t own = std::min(share, demanded[slot]) * input.channels;
                // A value that waits for longer than one level passes through a delay buffer per level.
                const std::uint32_t producer = input.producer;
                const std::uint32_t delays = producer == no_id ? levels[f] : levels[f] - levels[producer] - 1;
                received += own * ((producer == no_id ? rates.load : rates.receive) + delays * rates.copy);
                elems += own * (1 + delays);
                if (l == family.first_lane) {
                    const std::int64_t shared = std::max<std::int64_t>(0, demanded[slot] - share) * input.channels;
                    load.band_ns += shared * rates.receive / 1024;
                    load.band_elems += shared * (1 + delays);
                }
            }
            workload.lane_elems.push_back(elems);
            const std::int64_t ns = static_cast<std::int64_t>(lane.work_ns) + (received + sends * made) / 1024;
            workload.lane_ns.push_back(ns);
            load.work_ns = checked_add(load.work_ns, ns);
        }
        workload.total_ns = checked_add(workload.total_ns, load.work_ns);
        workload.families.push_back(load);
    }
    charge_leaders(tasks, workload);
    return workload;
}

void require_capacity(const Tasks& tasks, const Workload& workload) {
    std::uint64_t needed = 0;
    for (std::size_t f = 0; f < workload.families.size(); ++f) {
        const std::uint32_t crossbars = workload.families[f].crossbars;
        needed += crossbars;
        if (crossbars > workload.core_crossbars) {
            refuse("'{}' needs {} crossbars on one core, the target's cores have {}",
                   pool_text(tasks.name_pool, tasks.families[f].name), crossbars, workload.core_crossbars);
        }
    }
    const std::uint64_t available = std::uint64_t{workload.core_count} * workload.core_crossbars;
    if (needed > available) {
        refuse("the network needs at least {} crossbars, the target has {} ({} cores x {}); use a larger chip or a smaller network",
               needed, available, workload.core_count, workload.core_crossbars);
    }
}

std::vector<std::int64_t> constant_elems(const Tasks& tasks, const PimTiming& timing) {
    std::vector<std::int64_t> elems;
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) elems.push_back(kernel_cost(tasks, FamilyId(f), timing).constant_elems);
    return elems;
}

CoreLoads measure_cores(const Tasks& tasks, const Target& target, const PimTiming& timing,
                        std::span<const std::uint16_t> lane_core, const Rhythm& rhythm) {
    CoreLoads loads;
    loads.busy_ns.assign(target.core_count, 0);
    loads.occupied_ns.assign(target.core_count, 0);
    loads.lane_ns.assign(target.core_count, 0);
    loads.crossbars.assign(target.core_count, 0);
    const ActorPlan plan = plan_actors(tasks, lane_core, rhythm);
    std::vector<std::uint32_t> last_family(target.core_count, no_id);
    for (const Actor& actor : plan.actors) {
        const Family& family = tasks.families[actor.family.index()];
        const auto core = actor.core.index();
        for (const Lane& lane : tasks.lanes.subspan(actor.first_lane, actor.lane_count)) {
            loads.lane_ns[core] += static_cast<std::int64_t>(lane.work_ns);
        }
        if (last_family[core] != actor.family.value) loads.crossbars[core] += family.crossbars;
        last_family[core] = actor.family.value;
        const TaskTensor& output = tasks.tensors[family.output];
        if (output.output_port != no_id) {
            for_each_store(family, output, actor.first_tile, actor.tile_count, rhythm.exchange, [&](PositionSpan span) {
                loads.busy_ns[core] += timing.store_ns(actor.core, span_elems(output, span));
            });
        }
    }
    for (const Transfer& transfer : plan.transfers) {
        const RowBuffer& input = plan.inputs[transfer.target];
        const std::uint32_t elems = span_elems(tasks.tensors[input.tensor.index()], transfer.span);
        std::int64_t& busy = loads.busy_ns[input.core.index()];
        busy += delay_stages(plan.exchange, transfer.delays) * timing.copy_ns(elems);
        if (transfer.source == no_id) {
            busy += timing.load_ns(input.core, elems);
        } else if (const CoreId from = plan.outputs[transfer.source].core; from == input.core) {
            busy += timing.copy_ns(elems);
        } else {
            busy += timing.recv_ns(from, input.core, elems);
            loads.busy_ns[from.index()] += timing.send_ns(from, input.core, elems);
            loads.occupied_ns[from.index()] += timing.network_ns(from, input.core, elems);
            const std::uint32_t latency_ps =
                target.link_latency_ps[from.index() * (target.core_count + 1U) + input.core.index()];
            loads.transfer_flits_ps +=
                std::int64_t{ceil_divide(elems, target.network.bus_width_bytes)} * latency_ps;
        }
    }
    for (std::size_t c = 0; c < loads.busy_ns.size(); ++c) {
        loads.busy_ns[c] += loads.lane_ns[c];
        loads.occupied_ns[c] = loads.busy_ns[c] + std::max<std::int64_t>(0, loads.occupied_ns[c] - loads.lane_ns[c] / 8);
    }
    return loads;
}

}  // namespace weft
