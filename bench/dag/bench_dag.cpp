// Quality and speed of list scheduling: bench_dag [layered graphs, default 10,000]. Prints two tables of geometric means of makespans
// and the time of large graphs; ends with status 1 where a schedule is unsound. The graphs are the same on every machine.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>

#include "dag/bounds.h"
#include "dag/generate.h"
#include "dag/list_schedule.h"

namespace {

using namespace weft;

constexpr std::uint32_t ccr_percents[] = {10, 50, 80, 100, 200, 500, 1000};
constexpr std::uint32_t beta_percents[] = {10, 20, 50, 100, 200};
constexpr std::uint32_t processor_counts[] = {4, 8, 16, 32};

/// One line of a table: logarithms are added, so that the mean is geometric.
struct Tally {
    std::uint64_t graphs = 0;
    std::uint64_t better = 0;
    std::uint64_t worse = 0;
    double log_ratio = 0;         // PEFT / HEFT
    double log_peft_bound = 0;    // makespan / lower bound
    double log_heft_bound = 0;

    void add(std::int64_t peft, std::int64_t heft, std::int64_t bound) {
        ++graphs;
        better += peft < heft ? 1U : 0U;
        worse += peft > heft ? 1U : 0U;
        log_ratio += std::log(static_cast<double>(peft) / static_cast<double>(heft));
        log_peft_bound += std::log(static_cast<double>(peft) / static_cast<double>(bound));
        log_heft_bound += std::log(static_cast<double>(heft) / static_cast<double>(bound));
    }

    void print(const std::string& name) const {
        const auto count = static_cast<double>(graphs);
        fmt::print("{:<14}{:>8}{:>12.4f}{:>10.1f} %{:>8.1f} %{:>13.3f}{:>13.3f}\n", name, graphs, std::exp(log_ratio / count),
                   100.0 * static_cast<double>(better) / count, 100.0 * static_cast<double>(worse) / count,
                   std::exp(log_peft_bound / count), std::exp(log_heft_bound / count));
    }

    void merge(const Tally& other) {
        graphs += other.graphs;
        better += other.better;
        worse += other.worse;
        log_ratio += other.log_ratio;
        log_peft_bound += other.log_peft_bound;
        log_heft_bound += other.log_heft_bound;
    }
};

std::int64_t sound_makespan(const Dag& dag, ListAlgorithm algorithm) {
    ListOptions options;
    options.algorithm = algorithm;
    const DagSchedule schedule = list_schedule(dag, options);
    if (const std::string fault = find_fault(dag, schedule); !fault.empty()) {
        fmt::print("unsound schedule: {}\n", fault);
        std::exit(1);
    }
    return schedule.makespan_ns;
}

void compare(const DagTopology& topology, const CostOptions& costs, Random& random, Tally& tally) {
    const DagColumns columns = add_costs(topology, costs, random);
    const Dag dag = view(columns);
    const std::int64_t bound = lower_bounds(dag).makespan_ns();
    const std::int64_t peft = sound_makespan(dag, ListAlgorithm::Peft);
    const std::int64_t heft = sound_makespan(dag, ListAlgorithm::Heft);
    if (peft < bound || heft < bound) {
        fmt::print("a makespan is below its lower bound\n");
        std::exit(1);
    }
    tally.add(peft, heft, bound);
}

template <class T, std::size_t n>
T any_of(const T (&values)[n], Random& random) {
    return values[random.below(n)];
}

void print_header(const char* first) {
    fmt::print("{:<14}{:>8}{:>12}{:>12}{:>10}{:>13}{:>13}\n", first, "graphs", "PEFT/HEFT", "better", "worse", "PEFT/bound", "HEFT/bound");
}

/// The published grid of parameters, sampled.
Tally layered_table(std::uint32_t graphs) {
    constexpr std::uint32_t sizes[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500};
    constexpr std::uint32_t fats[] = {10, 40, 80};
    constexpr std::uint32_t two[] = {20, 80};
    constexpr std::uint32_t jumps[] = {1, 2, 4};
    Random random(2014);
    std::map<std::uint32_t, Tally> by_ccr;
    for (std::uint32_t i = 0; i < graphs; ++i) {
        LayeredOptions layers;
        layers.tasks = any_of(sizes, random);
        layers.fat_percent = any_of(fats, random);
        layers.density_percent = any_of(two, random);
        layers.regularity_percent = any_of(two, random);
        layers.jump = any_of(jumps, random);
        CostOptions costs{any_of(processor_counts, random), ccr_percents[i % std::size(ccr_percents)], any_of(beta_percents, random)};
        compare(layered_topology(layers, random), costs, random, by_ccr[costs.ccr_percent]);
    }
    fmt::print("Layered random graphs, 10 to 500 tasks on 4 to 32 processors; geometric means\n");
    print_header("CCR");
    Tally all;
    for (const auto& [ccr, tally] : by_ccr) {
        tally.print(fmt::format("{}", ccr / 100.0));
        all.merge(tally);
    }
    all.print("all");
    return all;
}

Tally shapes_table(std::uint32_t graphs_per_shape) {
    Random random(2015);
    fmt::print("\nShapes of applications\n");
    print_header("shape");
    Tally all;
    const auto row = [&](const char* name, auto&& draw) {
        Tally tally;
        for (std::uint32_t i = 0; i < graphs_per_shape; ++i) {
            CostOptions costs{any_of(processor_counts, random), ccr_percents[i % std::size(ccr_percents)], any_of(beta_percents, random)};
            compare(draw(), costs, random, tally);
        }
        tally.print(name);
        all.merge(tally);
    };
    row("FFT", [&] { return fourier_topology(4U << random.below(4)); });
    row("elimination", [&] { return elimination_topology(5 + random.below(16)); });
    row("Montage", [&] { return montage_topology(5 + random.below(21), random); });
    row("Epigenomics", [&] { return epigenomics_topology(1 + random.below(3), 4 + random.below(9)); });
    all.print("all");
    return all;
}

/// Processor time, the best of a few runs, in milliseconds.
double best_time(const Dag& dag, const ListOptions& options) {
    double best = 1e300;
    for (int run = 0; run < 3; ++run) {
        const std::clock_t start = std::clock();
        const DagSchedule schedule = list_schedule(dag, options);
        const double time = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        if (schedule.makespan_ns > 0) best = std::min(best, time);
    }
    return best;
}

void time_large(std::uint32_t tasks, std::uint32_t processors, std::uint32_t fat_percent) {
    Random random(2016);
    LayeredOptions layers;
    layers.tasks = tasks;
    layers.fat_percent = fat_percent;
    layers.density_percent = 8;
    layers.regularity_percent = 80;
    layers.jump = 2;
    DagColumns columns = add_costs(layered_topology(layers, random), {processors, 100, 100}, random);
    const auto edges = columns.successors.size();
    const double peft = best_time(view(columns), {});
    ListOptions heft_options;
    heft_options.algorithm = ListAlgorithm::Heft;
    const double heft = best_time(view(columns), heft_options);
    for (std::uint32_t i = 0; i < processors * processors; ++i) columns.link_ps.push_back(1000 + random.below(30000));
    for (std::size_t e = 0; e < edges; ++e) columns.edge_flits.push_back(random.below(200));
    const double linked = best_time(view(columns), {});
    fmt::print("{:>8}{:>9}{:>12}{:>10.0f} ms{:>10.0f} ms{:>14.0f} ms\n", tasks, edges, processors, peft, heft, linked);
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint32_t graphs = argc > 1 ? static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10)) : 10000;
    if (graphs < 10) {
        fmt::print("usage: bench_dag [layered graphs, at least 10]\n");
        return 2;
    }
    Tally all = layered_table(graphs);
    all.merge(shapes_table(graphs / 10));
    fmt::print("\n");
    all.print("both tables");
    fmt::print("\nProcessor time\n{:>8}{:>9}{:>12}{:>13}{:>13}{:>17}\n", "tasks", "edges", "processors", "PEFT", "HEFT", "PEFT, links");
    time_large(1000, 168, 50);
    time_large(10000, 168, 50);
    time_large(50000, 168, 50);
    time_large(10000, 1024, 50);
    return 0;
}
