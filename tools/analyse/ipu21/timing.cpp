#include "analyse/ipu21/timing.h"

#include <algorithm>

#include "base/checked.h"
#include "base/id.h"
#include "ipu21/exchange_counters.h"
#include "ipu21/gemm_exchange.h"

namespace weft::ipu21 {
namespace {

Phase phase_of(const Program& program, const TilePhase& row) {
    Phase phase;
    for (std::uint32_t i = row.first_transfer; i < row.first_transfer + row.transfer_count; ++i) {
        const TileTransfer& transfer = program.tile_transfers[i];
        const auto first = static_cast<std::uint32_t>(phase.receivers.size());
        const auto receivers = program.tile_receivers.subspan(transfer.first_receiver, transfer.receiver_count);
        const auto addresses = program.receiver_addresses.subspan(transfer.first_receiver, transfer.receiver_count);
        phase.receivers.insert(phase.receivers.end(), receivers.begin(), receivers.end());
        phase.receiver_address.insert(phase.receiver_address.end(), addresses.begin(), addresses.end());
        phase.source_address.push_back(transfer.source_address);
        phase.transfers.push_back({transfer.source, first, transfer.receiver_count, transfer.words});
    }
    return phase;
}

std::uint32_t saturated(std::uint64_t words) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(words, no_id)); }

std::uint64_t to_ns(const Target& target, std::uint64_t cycles) {
    return static_cast<std::uint64_t>(
        multiply_divide(static_cast<std::int64_t>(cycles), 1'000'000'000, static_cast<std::int64_t>(target.ipu21.clock_hz)));
}

/// Schedule of a phase as the program holds it.
std::vector<TransferTime> times_of(const Program& program, const TilePhase& row) {
    std::vector<TransferTime> times;
    for (const TileTransfer& transfer : program.tile_transfers.subspan(row.first_transfer, row.transfer_count)) times.push_back({transfer.start, transfer.end, 0, false});
    return times;
}

/// Copies before the phase and kernels after it, up to the phases next to it.
void set_neighbours(const Program& program, std::uint32_t step, TilePhaseTiming& timing) {
    const auto kind = [&](std::uint32_t at) { return static_cast<TileStepKind>(program.tile_steps[at].kind); };
    for (std::uint32_t at = step; at > 0 && kind(at - 1) == TileStepKind::Staging; --at) timing.staging_cycles += program.tile_steps[at - 1].cycles;
    for (std::uint32_t at = step + 1; at < program.tile_steps.size() && kind(at) == TileStepKind::Kernel; ++at) timing.kernel_cycles += program.tile_steps[at].cycles;
}

TilePhaseTiming phase_timing(const Program& program, const Target& target, const Topology& topology, const TilePhase& row) {
    const Phase phase = phase_of(program, row);
    check_phase(phase, topology.tile_count(), target.ipu21.max_transfer_words, "the program");
    const ExchangeCounters counters = count_exchange(topology, phase);
    TilePhaseTiming timing{};
    timing.operator_index = program.tile_steps[row.step].operator_index;
    timing.role = row.role;
    timing.transfers = counters.transfers;
    timing.largest_fan_out = counters.largest_fan_out;
    timing.slots = row.slots;
    timing.tiles_sending_and_receiving = counters.tiles_sending_and_receiving;
    timing.pairs_same_payload = counters.pairs_same_payload;
    timing.pairs_unrelated_payload = counters.pairs_unrelated_payload;
    timing.tile_send_words = saturated(counters.tile_send_words);
    timing.tile_receive_words = saturated(counters.tile_receive_words);
    timing.pair_send_words = saturated(counters.pair_send_words);
    timing.pair_receive_words = saturated(counters.pair_receive_words);
    timing.tile_transfers = counters.tile_transfers;
    timing.chain_transfers = static_cast<std::uint32_t>(critical_chain(phase, times_of(program, row), target.ipu21.discipline).size());
    timing.shortest_route_cycles = counters.shortest_route_cycles;
    timing.longest_route_cycles = counters.longest_route_cycles;
    timing.scheduled_cycles = row.cycles;
    timing.lower_bound_cycles = lower_bound_cycles(target, topology, phase, target.ipu21.discipline);
    timing.boundary_cycles = target.ipu21.measured_boundary_cycles;
    set_neighbours(program, row.step, timing);
    return timing;
}

std::uint64_t total(const TileOperatorTiming& t) { return t.local_cycles + t.exchange_cycles + t.staging_cycles + t.launch_cycles; }
std::uint64_t estimated_total(const TileOperatorTiming& t) {
    return t.estimated_local_cycles + t.estimated_exchange_cycles + t.estimated_staging_cycles + t.estimated_launch_cycles;
}

void add_step(const TileStep& step, const Ipu21& machine, TileOperatorTiming& timing) {
    const auto kind = static_cast<TileStepKind>(step.kind);
    std::uint64_t launch = std::uint64_t{step.launches} * machine.launch_cycles;
    if (kind == TileStepKind::Exchange) {
        ++timing.phases;
        timing.exchange_cycles += step.cycles;
        timing.estimated_exchange_cycles += step.estimated_cycles;
        launch += machine.measured_boundary_cycles;
    } else if (kind == TileStepKind::Kernel) {
        timing.local_cycles += step.cycles;
        timing.estimated_local_cycles += step.estimated_cycles;
    } else {
        timing.staging_cycles += step.cycles;
        timing.estimated_staging_cycles += step.estimated_cycles;
    }
    timing.launch_cycles += launch;
    timing.estimated_launch_cycles += launch;
}

void set_summary(const Target& target, TimingColumns& timing) {
    std::uint64_t compute = 0;
    std::uint64_t exchange = 0;
    for (const TileOperatorTiming& op : timing.tile_operators) {
        compute += op.local_cycles + op.staging_cycles;
        exchange += op.exchange_cycles + op.launch_cycles;
    }
    timing.latency_cycles = compute + exchange;
    timing.latency_ns = std::max<std::uint64_t>(1, to_ns(target, timing.latency_cycles));
    timing.interval_ns = timing.latency_ns;
    timing.alternative_interval_ns = timing.latency_ns;
    timing.inferences_per_round = 1;
    CoreTiming slowest{};
    slowest.local_ns = to_ns(target, compute);
    slowest.communication_ns = to_ns(target, exchange);
    timing.cores.push_back(slowest);
    timing.busiest_core_ns = slowest.local_ns + slowest.communication_ns;
    timing.work_bound_ns = timing.busiest_core_ns;
    timing.local_bound_ns = slowest.local_ns;
}

/// One line per direction; nothing in programs that do not tell.
std::string host_lines(const Program& program) {
    std::string text;
    for (const bool from_tiles : {false, true}) {
        TileHostTransfer sum{};
        std::uint64_t tensors = 0;
        for (const TileHostTransfer& transfer : program.tile_host) {
            if ((transfer.from_tiles != 0) != from_tiles) continue;
            ++tensors;
            sum.tensor_bytes += transfer.tensor_bytes;
            sum.tile_bytes += transfer.tile_bytes;
            sum.packets += transfer.packets;
            sum.rendezvous += transfer.rendezvous;
        }
        if (tensors == 0) continue;
        text += fmt::format("{} host: {} bytes on the tiles, {} of {} tensors, in {} packets and {} rendezvous; not timed\n", from_tiles ? "to the" : "from the",
                            sum.tile_bytes, sum.tensor_bytes, tensors, sum.packets, sum.rendezvous);
    }
    return text;
}

}  // namespace

TimingColumns analyse(const Program& program, const Target& target, Hash128 program_hash) {
    TimingColumns timing;
    timing.program_hash_high = program_hash.high;
    timing.program_hash_low = program_hash.low;
    if (program.tile_steps.empty()) {
        timing.availability = Availability::EmptyProgram;
        timing.reason = "the program holds no steps for tile processors";
        return timing;
    }
    const Topology topology(target);
    for (std::uint32_t op = 0; op < program.labels.size(); ++op) {
        TileOperatorTiming row{};
        row.operator_index = op;
        timing.tile_operators.push_back(row);
    }
    for (const TileStep& step : program.tile_steps) {
        if (step.operator_index >= timing.tile_operators.size()) bad_input("a step belongs to operator {} of {}", step.operator_index, timing.tile_operators.size());
        add_step(step, target.ipu21, timing.tile_operators[step.operator_index]);
    }
    for (const TilePhase& phase : program.tile_phases) timing.tile_phases.push_back(phase_timing(program, target, topology, phase));
    timing.events = program.tile_transfers.size();
    set_summary(target, timing);
    return timing;
}

std::string table(const Program& program, const Target& target, const Timing& timing) {
    std::string text = fmt::format("{:<32} {:>11} {:>11} {:>9} {:>9} {:>11} {:>11} {:>6}\n", "operator", "local", "exchange", "staging", "launch",
                                   "total", "estimated", "phases");
    TileOperatorTiming sum{};
    for (const TileOperatorTiming& op : timing.tile_operators) {
        const std::string_view name = pool_text(program.name_pool, program.labels[op.operator_index]);
        text += fmt::format("{:<32} {:>11} {:>11} {:>9} {:>9} {:>11} {:>11} {:>6}\n", name.substr(0, 32), op.local_cycles, op.exchange_cycles,
                            op.staging_cycles, op.launch_cycles, total(op), estimated_total(op), op.phases);
        sum.local_cycles += op.local_cycles;
        sum.exchange_cycles += op.exchange_cycles;
        sum.staging_cycles += op.staging_cycles;
        sum.launch_cycles += op.launch_cycles;
        sum.estimated_local_cycles += estimated_total(op);
        sum.phases += op.phases;
    }
    text += fmt::format("{:<32} {:>11} {:>11} {:>9} {:>9} {:>11} {:>11} {:>6}\n", "all", sum.local_cycles, sum.exchange_cycles, sum.staging_cycles,
                        sum.launch_cycles, total(sum), sum.estimated_local_cycles, sum.phases);
    text += fmt::format("exchange {} cycles scheduled, {} with the boundary of {} phases; latency {} cycles, {:.3f} ms\n", sum.exchange_cycles,
                        sum.exchange_cycles + std::uint64_t{sum.phases} * target.ipu21.measured_boundary_cycles, sum.phases, timing.latency_cycles,
                        static_cast<double>(timing.latency_cycles) * 1e3 / static_cast<double>(target.ipu21.clock_hz));
    return text + host_lines(program);
}

std::string phase_table(const Program& program, const Timing& timing) {
    std::string text = fmt::format("{:<4} {:<24} {:<12} {:>9} {:>9} {:>6} {:>6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6} {:>6} {:>6} {:>10} {:>9} {:>9}\n", "", "operator",
                                   "moves", "cycles", "bound", "slots", "chain", "fan-out", "tile out", "tile in", "pair out", "pair in", "same", "other",
                                   "both", "frags", "routes", "staging", "kernel");
    for (std::size_t i = 0; i < timing.tile_phases.size(); ++i) {
        const TilePhaseTiming& p = timing.tile_phases[i];
        const std::string_view name = pool_text(program.name_pool, program.labels[p.operator_index]);
        text += fmt::format("{:<4} {:<24} {:<12} {:>9} {:>9} {:>6} {:>6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6} {:>6} {:>6} {:>10} {:>9} {:>9}\n", i, name.substr(0, 24),
                            to_text(static_cast<PhaseRole>(p.role)), p.scheduled_cycles, p.lower_bound_cycles, p.slots, p.chain_transfers, p.largest_fan_out,
                            p.tile_send_words, p.tile_receive_words, p.pair_send_words, p.pair_receive_words, p.pairs_same_payload, p.pairs_unrelated_payload,
                            p.tiles_sending_and_receiving, p.tile_transfers, fmt::format("{}..{}", p.shortest_route_cycles, p.longest_route_cycles),
                            p.staging_cycles, p.kernel_cycles);
    }
    return text;
}

}  // namespace weft::ipu21
