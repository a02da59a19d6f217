// The tile processor's planner: speed on networks of real size, and how far each of its heuristics is from what an exhaustive
// search, or a bound, would give. Times are processor time, so that a busy machine does not count.
//
//   bench_ipu21              # everything, about a minute
//   bench_ipu21 speed        # one part: speed, retention, exchange, estimates, placement
#include <sys/resource.h>

#include <array>
#include <ctime>
#include <iterator>

#include "arena/exact_placement.h"
#include "base/failure.h"
#include "frontier/random_problem.h"
#include "ipu21/chain.h"
#include "ipu21/exchange_cases.h"
#include "ipu21/graphs.h"
#include "ipu21/machine.h"

namespace {

using namespace weft;
using namespace weft::ipu21;

double seconds_of(const auto& body) {
    const std::clock_t start = std::clock();
    body();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double ratio(std::uint64_t a, std::uint64_t b) { return static_cast<double>(a) / static_cast<double>(std::max<std::uint64_t>(b, 1)); }

/// Mean and worst of a number of ratios.
struct Ratios {
    double sum = 0;
    double worst = 0;
    int count = 0;
    int exact = 0;   ///< ratios of exactly one
    void add(double value) {
        sum += value;
        worst = std::max(worst, value);
        ++count;
        exact += value == 1 ? 1 : 0;
    }
    void print(std::string_view name) const {
        fmt::print("  {:<52} mean {:.4f}, worst {:.4f}, exactly 1 in {} of {}\n", name, count == 0 ? 0 : sum / count, worst, exact, count);
    }
};

struct Workload {
    std::string name;
    GraphColumns graph;
};

std::vector<Workload> workloads() {
    std::vector<Workload> list;
    list.push_back({"SigLIP MLP 4 x 729", test::mlp_graph(4, 729, 1152, 4608)});
    list.push_back({"SigLIP attention 729", test::attention_graph(729, 1152, 16)});
    list.push_back({"ViT-B/16 block 197", test::block_graph(197, 768, 3072, 12)});
    list.push_back({"BERT-base block 384", test::block_graph(384, 768, 3072, 12)});
    list.push_back({"GPT-2 block 1024", test::block_graph(1024, 768, 3072, 12)});
    list.push_back({"Mixer-B/16 block 196", test::mixer_graph(196, 768, 384, 3072)});
    list.push_back({"efficient attention 197", test::efficient_attention_graph(197, 768, 12)});
    return list;
}

/// Planning is prepare and schedule; the whole chain adds lowering, placement and analysis.
void speed() {
    fmt::print("speed on 1,472 tiles, seconds of one processor (the issue's limits: MLP planned in 5, blocks in 10):\n");
    fmt::print("  {:<22} {:>9} {:>9} {:>7} {:>7} {:>9} {:>11} {:>9} {:>12}\n", "workload", "prepare", "schedule", "lower", "analyse", "plans", "states",
               "capped", "cycles");
    const TargetColumns target = test::c600();
    for (const Workload& workload : workloads()) {
        TasksColumns tasks;
        PrepareFigures figures;
        std::vector<ScheduleColumns> schedules;
        PlannerCounts counts;
        LoweredProgram lowered;
        TimingColumns timing;
        const double preparing = seconds_of([&] { tasks = prepare(view(workload.graph), view(target), {}, &figures); });
        const double scheduling = seconds_of([&] { schedules = make_schedules(view(tasks), view(target), {}, {}, &counts); });
        const double lowering = seconds_of([&] { lowered = lower(view(tasks), view(schedules[0]), view(target)); });
        if (lowered.failure) refuse("{}: {}", workload.name, lowered.failure->text);
        const double analysing = seconds_of([&] { timing = analyse(view(lowered.program), view(target), {}); });
        fmt::print("  {:<22} {:9.2f} {:9.2f} {:7.2f} {:7.2f} {:>9} {:>11} {:>9} {:>12}\n", workload.name, preparing, scheduling, lowering, analysing,
                   figures.counts.enumerated, counts.expanded, counts.retention.capped, timing.latency_cycles);
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("  peak memory {:.0f} MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

void retention() {
    fmt::print("retention, cycles over the best of an exhaustive search, 1,000 random graphs:\n");
    for (const std::size_t width : {std::size_t{1} << 30U, std::size_t{128}, std::size_t{64}, std::size_t{8}, std::size_t{4}, std::size_t{2}, std::size_t{1}}) {
        Random random(1);
        Ratios ratios;
        int lost = 0;
        for (int round = 0; round < 1000; ++round) {
            test::RandomProblem instance(random, 2 + random.below(3), 2 + random.below(3));
            PlannerOptions options;
            options.width = width;
            options.finalists = 1;
            const auto best = test::Exhaustive(instance).best();
            if (!best) continue;
            const auto plans = plan_graph(instance.problem, [&](const PlanObjectives& o) { return instance.fits(o); }, options);
            if (plans.empty()) ++lost;
            else ratios.add(ratio(plans[0].objectives.cycles, *best));
        }
        ratios.print(width > 1U << 20U ? "no cap" : fmt::format("cap {}{}", width, width == 128 ? " (the least default)" : ""));
        if (lost != 0) fmt::print("    no plan found though one exists: {}\n", lost);
    }
    fmt::print("retention on real networks, cycles over the best of the caps shown:\n");
    const TargetColumns target = test::c600();
    for (const Workload& workload : workloads()) {
        const TasksColumns tasks = prepare(view(workload.graph), view(target), {});
        constexpr std::array<std::size_t, 5> widths{0, 512, 64, 16, 4};
        std::vector<std::uint64_t> cycles;
        for (const std::size_t width : widths) {
            PlanningOptions options;
            options.planner.width = width;
            cycles.push_back(make_schedules(view(tasks), view(target), options, {})[0].tile_estimate[0].cycles);
        }
        const std::uint64_t best = *std::ranges::min_element(cycles);
        std::string text = fmt::format("  {:<22} default ({}): {:.4f}", workload.name, automatic_width(tasks.tile_operators.size()), ratio(cycles[0], best));
        for (std::size_t i = 1; i < widths.size(); ++i) text += fmt::format(", {}: {:.4f}", widths[i], ratio(cycles[i], best));
        fmt::print("{}\n", text);
    }
}

void exchange() {
    fmt::print("exchange, greedy schedules over the best of all orders, up to seven transfers:\n");
    const TargetColumns columns = test::c600();
    const Target target = view(columns);
    const Topology topology(target);
    Random random(3);
    Ratios exclusive;
    Ratios duplex;
    for (int round = 0; round < 120; ++round) {
        const test::Shape shape{3 + random.below(6), 2 + random.below(round < 20 ? 6U : 5U), 1 + random.below(3), round % 2 == 0 ? 1U + random.below(2000) : 1000};
        const Phase phase = test::random_phase(random, shape, false);
        exclusive.add(ratio(schedule_exclusive(target, topology, phase).cycles, test::shortest_phase(target, topology, phase, true)));
        duplex.add(ratio(schedule_full_duplex(target, topology, phase).cycles, test::shortest_phase(target, topology, phase, false)));
    }
    exclusive.print("exclusive");
    duplex.print("full duplex");
    fmt::print("exchange, phases of real programs over their lower bound:\n");
    for (const ExchangeDiscipline discipline : {ExchangeDiscipline::Exclusive, ExchangeDiscipline::FullDuplex}) {
        const TargetColumns chosen = test::c600(discipline);
        for (const Workload& workload : workloads()) {
            const test::Chain chain(workload.graph, chosen);
            Ratios ratios;
            for (const TilePhaseTiming& phase : chain.timing.tile_phases) ratios.add(ratio(phase.scheduled_cycles, phase.lower_bound_cycles));
            ratios.print(fmt::format("{} {}", discipline == ExchangeDiscipline::Exclusive ? "exclusive  " : "full duplex", workload.name));
        }
    }
}

/// What the plans expected against the finished programs, per component.
void estimates() {
    fmt::print("estimates, final cycles over expected cycles of the chosen plans:\n");
    const TargetColumns target = test::c600();
    for (const Workload& workload : workloads()) {
        const test::Chain chain(workload.graph, target);
        std::uint64_t expected = 0;
        std::uint64_t exchange_final = 0;
        std::uint64_t exchange_expected = 0;
        for (const TileOperatorTiming& op : chain.timing.tile_operators) {
            expected += op.estimated_local_cycles + op.estimated_exchange_cycles + op.estimated_staging_cycles + op.estimated_launch_cycles;
            exchange_final += op.exchange_cycles;
            exchange_expected += op.estimated_exchange_cycles;
        }
        fmt::print("  {:<22} all {:.4f}, exchange {:.4f}\n", workload.name, ratio(chain.timing.latency_cycles, expected),
                   ratio(exchange_final, exchange_expected));
    }
}

void placement() {
    Random random(1);
    int possible = 0;
    int missed = 0;
    Ratios tops;
    for (int round = 0; round < 2000; ++round) {
        const test::SmallPlacement small(random);
        std::vector<std::uint64_t> addresses;
        if (!test::can_be_placed(small.requests, small.arena, addresses)) continue;
        ++possible;
        const auto placed = place_in_arenas(small.requests, std::span(&small.arena, 1));
        if (!placed) {
            ++missed;
            continue;
        }
        std::uint64_t top = 0;
        for (std::size_t i = 0; i < placed->size(); ++i) top = std::max(top, (*placed)[i] + small.requests[i].bytes);
        tops.add(ratio(top, most_alive_bytes(small.requests)));
    }
    fmt::print("placement, random lifetimes in arenas with at most one byte to spare: {} of {} placeable instances missed ({:.2f} %)\n", missed, possible,
               100 * ratio(static_cast<std::uint64_t>(missed), static_cast<std::uint64_t>(possible)));
    tops.print("bytes used over bytes alive");
    fmt::print("placement of real programs, bytes used over bytes alive at the busiest step, all tiles:\n");
    const TargetColumns target = test::c600();
    for (const Workload& workload : workloads()) {
        const test::Chain chain(workload.graph, target);
        const ProgramColumns& program = chain.lowered.program;
        Ratios ratios;
        for (std::uint32_t tile = 0; tile < target.core_count; tile += 23) {
            std::vector<std::vector<std::uint64_t>> alive(2, std::vector<std::uint64_t>(program.tile_steps.size(), 0));
            std::vector<std::uint64_t> top(2, 0);
            for (const TileBuffer& buffer : program.tile_buffers) {
                for (std::uint32_t i = buffer.first_allocation; i < buffer.first_allocation + buffer.allocation_count; ++i) {
                    const TileAllocation& a = program.allocations[i];
                    if (a.tile != tile) continue;
                    for (std::uint32_t step = buffer.first_step; step <= buffer.last_step; ++step) alive[buffer.memory][step] += a.bytes;
                    // Standard data behind the interleaved data is left out of the count: it lies above on purpose.
                    const bool standard_region = a.address < target.ipu21.interleaved_begin;
                    const std::uint32_t begin = standard_region ? target.ipu21.standard_begin : target.ipu21.interleaved_begin;
                    if (buffer.memory == 1 || standard_region) top[buffer.memory] = std::max<std::uint64_t>(top[buffer.memory], a.address + a.bytes - begin);
                }
            }
            const std::uint64_t most = *std::ranges::max_element(alive[1]);
            if (most != 0) ratios.add(ratio(top[1], most));
        }
        ratios.print(fmt::format("interleaved, {}", workload.name));
    }
}

int run(std::string_view part) {
    const bool all = part.empty();
    const auto wanted = [&](std::string_view name) { return all || part == name; };
    if (!all && part != "speed" && part != "retention" && part != "exchange" && part != "estimates" && part != "placement") {
        fmt::print(stderr, "bench_ipu21: error: no part '{}'; parts are speed, retention, exchange, estimates, placement\n", part);
        return 2;
    }
    if (wanted("speed")) speed();
    if (wanted("retention")) retention();
    if (wanted("exchange")) exchange();
    if (wanted("estimates")) estimates();
    if (wanted("placement")) placement();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "");
    } catch (const Failure& failure) {
        fmt::print(stderr, "bench_ipu21: error: {}\n", failure.what());
        return static_cast<int>(failure.status());
    }
}
