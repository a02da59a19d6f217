#include "table.h"

#include <algorithm>
#include <numeric>

#include "report.h"

namespace weft {
namespace {

double ratio(double a, double b) { return b == 0 ? 0.0 : a / b; }

double ratio(std::uint64_t a, std::uint64_t b) { return ratio(static_cast<double>(a), static_cast<double>(b)); }

std::uint64_t sum(const TimingColumns& timing, std::uint64_t CoreTiming::*field) {
    return std::accumulate(timing.cores.begin(), timing.cores.end(), std::uint64_t{0},
                           [&](std::uint64_t total, const CoreTiming& core) { return total + core.*field; });
}

/// The certified period and what its critical cycle consists of.
std::string recurrence_line(const Analysis& analysis) {
    const Recurrence& recurrence = analysis.recurrence;
    if (!recurrence.unavailable.empty()) return fmt::format("{:<28}none: {}\n", "recurrence", recurrence.unavailable);
    if (recurrence.numerator_ps == 0) return {};
    const std::string fraction = recurrence.denominator == 1 ? "" : fmt::format(" ({}/{} ps)", recurrence.numerator_ps, recurrence.denominator);
    return fmt::format("{:<28}{:>16.3f} ns   {:.1f} % of the interval{}; critical cycle: {} edges over {} cores and {} rounds, certified\n", "recurrence",
                       recurrence.interval_ns(), 100 * ratio(recurrence.interval_ns(), analysis.interval_ns), fraction, recurrence.witness_edges,
                       recurrence.witness_cores.size(), recurrence.witness_distance);
}

/// "core 7 (85 %)": whom a core mostly waits for, where that was looked at.
std::string blamed(const Analysis& analysis, std::size_t id) {
    if (id >= analysis.accounting.cores.size()) return {};
    const CoreWaits& waits = analysis.accounting.cores[id];
    const double all = waits.partner + waits.own_queue + waits.memory + waits.tokens;
    if (all == 0) return "-";
    const double peer = waits.peers.empty() ? 0 : waits.peers.front().wait;
    double known = 0;
    for (const PeerWait& one : waits.peers) known += one.wait;
    const double anonymous = std::max(0.0, waits.partner + waits.tokens - known);   // tokens of counters with several producers
    const double largest = std::max({peer, waits.memory, waits.own_queue, anonymous});
    const auto share = [&](std::string_view name) { return fmt::format("{} ({:.0f} %)", name, 100 * largest / all); };
    if (largest == peer) return share(fmt::format("core {}", waits.peers.front().core));
    if (largest == waits.memory) return share("memory");
    return share(largest == waits.own_queue ? "own switch" : "tokens");
}

std::string core_rows(const Analysis& analysis, std::size_t count) {
    const TimingColumns& timing = analysis.timing;
    std::vector<std::size_t> order(timing.cores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto busy = [&](std::size_t core) { return timing.cores[core].local_ns + timing.cores[core].communication_ns; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return busy(a) > busy(b); });
    order.resize(std::min(order.size(), count));
    std::string text = fmt::format("\n{:>6} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>9} {:>9}\n", "core", "local ns", "comm. ns", "wait ns", "switch ns",
                                   "memory wait", "instructions", "messages", "crossbars");
    if (!analysis.accounting.cores.empty()) text.insert(text.size() - 1, "  waits mostly for");
    for (const std::size_t id : order) {
        const CoreTiming& core = timing.cores[id];
        text += fmt::format("{:>6} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>9} {:>9}  {}\n", id, core.local_ns, core.communication_ns, core.wait_ns,
                            core.switch_ns, core.memory_wait_ns, core.instructions, core.messages, core.crossbars, blamed(analysis, id));
    }
    return text;
}

/// Shares of the busy time of all cores.
std::string work_line(const WorkShares& shares) {
    const auto total = std::accumulate(shares.unit.begin(), shares.unit.end(), shares.communication);
    const auto percent = [&](Picoseconds part) { return total == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(total); };
    const auto unit = [&](LocalUnit which) { return percent(shares.unit[static_cast<std::size_t>(which)]); };
    return fmt::format("{:<28}matrix {:.1f} %, vector {:.1f} %, copies {:.1f} %, scalars {:.1f} %, communication {:.1f} %\n", "work is",
                       unit(LocalUnit::Matrix), unit(LocalUnit::Vector), unit(LocalUnit::Copy), unit(LocalUnit::Scalar), percent(shares.communication));
}

}  // namespace

std::string table(const Analysis& analysis, std::size_t cores) {
    const TimingColumns& timing = analysis.timing;
    if (timing.availability != Availability::Available) {
        return fmt::format("timing unavailable: {}\n{}{}", availability_name(timing.availability), timing.reason,
                           timing.reason.empty() || timing.reason.back() == '\n' ? "" : "\n");
    }
    const auto bounds = bounds_of(analysis);
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
    text += work_line(analysis.shares);
    line("busiest core", timing.busiest_core_ns, fmt::format("core {}, interval / it = {:.4f}", analysis.busiest_core, ratio(timing.interval_ns, timing.busiest_core_ns)));
    if (analysis.overlapping && !analysis.unit.unit.empty()) {
        const auto unit = static_cast<std::uint64_t>((analysis.unit.time + 500) / 1000);
        line("busiest unit", unit, fmt::format("core {}, {}; interval / it = {:.4f}", analysis.unit.core, analysis.unit.unit, ratio(timing.interval_ns, unit)));
    }
    line("global memory service", timing.memory_bound_ns, fmt::format("{:.1f} % of the interval", 100 * ratio(timing.memory_bound_ns, timing.interval_ns)));
    line("busiest switch", timing.switch_bound_ns, fmt::format("core {}, {:.1f} % of the interval", analysis.busiest_switch, 100 * ratio(timing.switch_bound_ns, timing.interval_ns)));
    line("longest wait at the memory", timing.maximum_request_wait_ns, "");
    text += recurrence_line(analysis);
    text += fmt::format("{:<28}{} ({:.4f} of the interval), then {}\n", "largest bound", bounds[0].name, ratio(bounds[0].nanoseconds, analysis.interval_ns), bounds[1].name);
    text += fmt::format("{:<28}{:>16}      {} messages a round, {} rounds and {} events executed\n", "instructions a round",
                        sum(timing, &CoreTiming::instructions),
                        std::accumulate(timing.cores.begin(), timing.cores.end(), std::uint64_t{0}, [](std::uint64_t total, const CoreTiming& core) { return total + core.messages; }),
                        timing.generations, timing.events);
    if (cores > 0) text += core_rows(analysis, cores);
    for (const std::string& note : analysis.notes) text += "note: " + note + "\n";
    return text;
}

}  // namespace weft
