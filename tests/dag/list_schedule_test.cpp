#include "dag/list_schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "dag/bounds.h"
#include "dag/generate.h"
#include "dag/timeline.h"

using namespace weft;

namespace {

constexpr ListAlgorithm algorithms[] = {ListAlgorithm::Peft, ListAlgorithm::Heft, ListAlgorithm::LookAhead, ListAlgorithm::Cpop};

DagColumns random_dag(Random& random, std::uint32_t most_tasks, std::uint32_t most_processors) {
    LayeredOptions layers;
    layers.tasks = 1 + random.below(most_tasks);
    layers.fat_percent = 10 + random.below(80);
    layers.regularity_percent = random.below(100);
    layers.density_percent = 10 + random.below(90);
    layers.jump = 1 + random.below(3);
    CostOptions costs;
    costs.processors = 1 + random.below(most_processors);
    costs.ccr_percent = 10 + random.below(1000);
    costs.beta_percent = 10 + random.below(190);
    return add_costs(layered_topology(layers, random), costs, random);
}

void add_links(DagColumns& columns, Random& random) {
    for (std::uint32_t i = 0; i < columns.processor_count * columns.processor_count; ++i) columns.link_ps.push_back(random.below(60000));
    for (std::size_t e = 0; e < columns.successors.size(); ++e) columns.edge_flits.push_back(random.below(300));
}

/// Every weight fits somewhere, all together hardly.
void add_weights(DagColumns& columns, Random& random) {
    const std::uint32_t weights = 1 + random.below(6);
    for (std::uint32_t w = 0; w < weights; ++w) columns.weight_size.push_back(1 + random.below(8));
    if (random.below(2) == 0) {
        for (std::uint32_t w = 0; w < weights; ++w) columns.weight_limit.push_back(1 + random.below(3));
    }
    columns.capacity.assign(columns.processor_count, 8 + random.below(8));
    for (std::uint32_t t = 0; t < columns.task_count; ++t) {
        columns.task_weight.push_back(random.below(4) == 0 ? no_id : random.below(weights));
    }
}

std::vector<std::uint32_t> shuffled(std::uint32_t count, Random& random) {
    std::vector<std::uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0U);
    for (std::uint32_t i = count; i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
    return numbers;
}

/// Shortest of all schedules, by trying every next task on every processor: starting each as early as its predecessors and the tasks
/// before it on its processor allow reaches an optimum.
class Exhaustive {
public:
    explicit Exhaustive(const Dag& dag)
        : dag_(dag), before_(predecessors_of(dag)), finish_(dag.task_count), processor_(dag.task_count, no_id), idle_(dag.processor_count) {}

    std::int64_t run(std::int64_t known) {
        best_ = known;
        extend(0, 0);
        return best_;
    }

private:
    void extend(std::uint32_t placed, std::int64_t makespan) {
        if (makespan >= best_) return;
        if (placed == dag_.task_count) {
            best_ = makespan;
            return;
        }
        for (std::uint32_t t = 0; t < dag_.task_count; ++t) {
            if (processor_[t] != no_id || !ready(t)) continue;
            for (std::uint32_t p = 0; p < dag_.processor_count; ++p) {
                std::int64_t start = idle_[p];
                for (std::uint32_t i = before_.first[t]; i < before_.first[t + 1]; ++i) {
                    const std::uint32_t from = before_.task[i];
                    start = std::max(start, finish_[from] + dag_.communication_ns(before_.edge[i], processor_[from], p));
                }
                const std::int64_t saved = idle_[p];
                idle_[p] = finish_[t] = start + dag_.costs(t)[p];
                processor_[t] = p;
                extend(placed + 1, std::max(makespan, finish_[t]));
                processor_[t] = no_id;
                idle_[p] = saved;
            }
        }
    }

    bool ready(std::uint32_t task) const {
        const auto first = before_.task.begin() + before_.first[task];
        return std::all_of(first, before_.task.begin() + before_.first[task + 1],
                           [&](std::uint32_t from) { return processor_[from] != no_id; });
    }

    const Dag& dag_;
    Predecessors before_;
    std::vector<std::int64_t> finish_;
    std::vector<std::uint32_t> processor_;
    std::vector<std::int64_t> idle_;
    std::int64_t best_ = 0;
};

}  // namespace

TEST_CASE("schedules of random graphs are sound and not below the bounds") {
    Random random(21);
    for (int round = 0; round < 400; ++round) {
        DagColumns columns = random_dag(random, 80, 9);
        if (round % 2 == 1) add_links(columns, random);
        const Dag dag = view(columns);
        for (const ListAlgorithm algorithm : algorithms) {
            for (const auto links : {OptimisticLinks::Mean, OptimisticLinks::Actual}) {
                ListOptions options;
                options.algorithm = algorithm;
                options.optimistic_links = links;
                const DagSchedule schedule = list_schedule(dag, options);
                CHECK(find_fault(dag, schedule) == "");
                CHECK(schedule.makespan_ns >= lower_bounds(dag).makespan_ns());
            }
        }
    }
}

TEST_CASE("one link cost for all pairs is the same as none") {
    Random random(22);
    for (int round = 0; round < 100; ++round) {
        DagColumns columns = random_dag(random, 60, 6);
        DagColumns linked = columns;
        linked.link_ps.assign(linked.processor_count * linked.processor_count, 2000);
        for (std::int64_t& ns : linked.edge_ns) {
            linked.edge_flits.push_back(static_cast<std::uint32_t>(ns / 4));
            ns -= 2 * (ns / 4);
        }
        for (const ListAlgorithm algorithm : algorithms) {
            ListOptions options;
            options.algorithm = algorithm;
            const DagSchedule a = list_schedule(view(columns), options);
            const DagSchedule b = list_schedule(view(linked), options);
            CHECK(a.processor == b.processor);
            CHECK(a.start_ns == b.start_ns);
        }
    }
}

TEST_CASE("another numbering of the tasks gives the same schedule") {
    Random random(23);
    for (int round = 0; round < 200; ++round) {
        const DagColumns columns = random_dag(random, 60, 6);
        const Dag dag = view(columns);
        // The documented rule: unless two tasks have both ranks equal, and those there are hardly any.
        const auto order = topological_order(dag);
        const auto mean = mean_communication(dag);
        auto up = upward_ranks(dag, order, mean);
        std::sort(up.begin(), up.end());
        if (std::adjacent_find(up.begin(), up.end()) != up.end()) continue;
        const auto number = shuffled(dag.task_count, random);
        const DagColumns other = renumber(dag, number);
        for (const ListAlgorithm algorithm : {ListAlgorithm::Peft, ListAlgorithm::Heft}) {
            ListOptions options;
            options.algorithm = algorithm;
            const DagSchedule a = list_schedule(dag, options);
            const DagSchedule b = list_schedule(view(other), options);
            for (std::uint32_t t = 0; t < dag.task_count; ++t) {
                CHECK(a.processor[t] == b.processor[number[t]]);
                CHECK(a.start_ns[t] == b.start_ns[number[t]]);
            }
        }
    }
}

TEST_CASE("ties go to the lower task, then to the lower processor") {
    DagColumns columns;
    columns.task_count = 3;
    columns.processor_count = 2;
    columns.cost_ns.assign(6, 10);
    set_edges(columns, {});
    for (const ListAlgorithm algorithm : {ListAlgorithm::Peft, ListAlgorithm::Heft, ListAlgorithm::LookAhead}) {
        ListOptions options;
        options.algorithm = algorithm;
        const DagSchedule schedule = list_schedule(view(columns), options);
        CHECK(schedule.order == std::vector<std::uint32_t>{0, 1, 2});
        CHECK(schedule.processor == std::vector<std::uint32_t>{0, 1, 0});
    }
}

TEST_CASE("no schedule beats exhaustive search, and a fair share equals it") {
    Random random(24);
    int equal = 0;
    constexpr int rounds = 60;
    for (int round = 0; round < rounds; ++round) {
        DagColumns columns = random_dag(random, 6, 3);
        if (round % 3 == 2) add_links(columns, random);
        const Dag dag = view(columns);
        const std::int64_t peft = list_schedule(dag).makespan_ns;
        const std::int64_t optimum = Exhaustive(dag).run(peft + 1);   // the search finds a schedule as short by itself
        CHECK(optimum <= peft);
        CHECK(optimum >= lower_bounds(dag).makespan_ns());
        equal += optimum == peft ? 1 : 0;
        for (const ListAlgorithm algorithm : algorithms) {
            ListOptions options;
            options.algorithm = algorithm;
            CHECK(list_schedule(dag, options).makespan_ns >= optimum);
        }
    }
    MESSAGE("PEFT is optimal in " << equal << " of " << rounds << " graphs of at most six tasks");
    CHECK(equal >= rounds / 3);
}

TEST_CASE("the search for idle time equals trying every start") {
    Random random(25);
    for (int round = 0; round < 200; ++round) {
        Timeline timeline;
        std::vector<bool> busy(400, false);
        for (int i = 0; i < 25; ++i) {
            const std::int64_t ready = random.below(150);
            const std::int64_t duration = random.below(9);
            std::int64_t expected = ready;
            const auto idle = [&](std::int64_t start) {
                return std::none_of(busy.begin() + start, busy.begin() + start + duration, [](bool b) { return b; });
            };
            while (!idle(expected)) ++expected;
            const std::int64_t start = timeline.earliest_start(ready, duration);
            if (duration > 0) {
                CHECK(start == expected);
            } else {
                CHECK(start >= expected);   // no time is taken: any border of a busy time will do
            }
            timeline.occupy(start, duration);
            std::fill(busy.begin() + start, busy.begin() + start + duration, true);
        }
    }
}

TEST_CASE("weights stay within capacity and are shared") {
    Random random(26);
    int failures = 0;
    for (int round = 0; round < 400; ++round) {
        DagColumns columns = random_dag(random, 60, 6);
        add_weights(columns, random);
        const Dag dag = view(columns);
        for (const ListAlgorithm algorithm : algorithms) {
            ListOptions options;
            options.algorithm = algorithm;
            const DagSchedule schedule = list_schedule(dag, options);
            if (schedule.failed_task == no_id) {
                CHECK(find_fault(dag, schedule) == "");
                continue;
            }
            // It really had no processor left.
            ++failures;
            const std::uint32_t weight = dag.task_weight[schedule.failed_task];
            std::vector<std::uint32_t> used(dag.processor_count, 0);
            for (const Residence& residence : schedule.residents) {
                CHECK(residence.weight != weight);
                used[residence.processor] += dag.weight_size[residence.weight];
            }
            for (std::uint32_t p = 0; p < dag.processor_count; ++p) CHECK(used[p] + dag.weight_size[weight] > dag.capacity[p]);
        }
    }
    CHECK(failures > 0);
    CHECK(failures < 800);
}

TEST_CASE("reservations hold, and where only they count nothing else is taken") {
    DagColumns columns;
    columns.task_count = 4;
    columns.processor_count = 3;
    columns.cost_ns.assign(12, 10);
    columns.task_weight = {0, 0, 0, 1};
    columns.weight_size = {5, 4};
    columns.capacity = {5, 5, 5};
    set_edges(columns, {});
    const Dag dag = view(columns);
    const DagSchedule greedy = list_schedule(dag);
    CHECK(greedy.failed_task == 3);   // the first weight took all processors
    const Residence reserved[] = {{1, 2}, {0, 1}};
    ListOptions options;
    options.reserved = reserved;
    const DagSchedule kept = list_schedule(dag, options);
    CHECK(find_fault(dag, kept) == "");
    CHECK(kept.processor == std::vector<std::uint32_t>{0, 1, 0, 2});
    options.only_reserved = true;
    const DagSchedule only = list_schedule(dag, options);
    CHECK(find_fault(dag, only) == "");
    CHECK(only.processor == std::vector<std::uint32_t>{1, 1, 1, 2});
    CHECK(only.makespan_ns == 30);
    columns.weight_limit = {2, 1};
    const DagSchedule limited = list_schedule(view(columns));
    CHECK(find_fault(view(columns), limited) == "");
    CHECK(limited.processor == std::vector<std::uint32_t>{0, 1, 0, 2});
    columns.weight_limit = {1, 1};
    CHECK(find_fault(view(columns), limited) == "weight 0 is on more than 1 processors");
}

TEST_CASE("space that tasks keep is respected") {
    Random random(28);
    int placed = 0;
    for (int round = 0; round < 200; ++round) {
        DagColumns columns = random_dag(random, 40, 6);
        std::int64_t total = 0;
        for (std::uint32_t t = 0; t < columns.task_count; ++t) total += columns.task_space.emplace_back(random.below(100));
        columns.space.assign(columns.processor_count, total / columns.processor_count + random.below(120));
        const Dag dag = view(columns);
        for (const ListAlgorithm algorithm : algorithms) {
            ListOptions options;
            options.algorithm = algorithm;
            const DagSchedule schedule = list_schedule(dag, options);
            if (schedule.failed_task == no_id) {
                CHECK(find_fault(dag, schedule) == "");
                ++placed;
                continue;
            }
            std::vector<std::int64_t> left = columns.space;
            for (const std::uint32_t t : schedule.order) left[schedule.processor[t]] -= columns.task_space[t];
            for (const std::int64_t space : left) {
                CHECK(space >= 0);
                CHECK(space < columns.task_space[schedule.failed_task]);
            }
        }
    }
    CHECK(placed > 200);
    CHECK(placed < 800);
}

TEST_CASE("the checker of schedules sees each fault") {
    // Two chains on two processors: 0 -> 1 and 2 -> 3, each at home on one of them; the data of 0 take 7 ns to the other processor.
    DagColumns columns;
    columns.task_count = 4;
    columns.processor_count = 2;
    columns.cost_ns = {10, 90, 90, 10, 90, 10, 90, 10};
    columns.task_weight = {no_id, 0, 0, no_id};
    columns.weight_size = {3};
    columns.capacity = {4, 4};
    set_edges(columns, {{0, 1, 7}, {2, 3, 7}});
    const Dag dag = view(columns);
    const DagSchedule good = list_schedule(dag);
    REQUIRE(find_fault(dag, good) == "");
    const auto fault_after = [&](auto&& change) {
        DagSchedule broken = good;
        change(broken);
        return find_fault(dag, broken);
    };
    REQUIRE(good.processor == std::vector<std::uint32_t>{0, 1, 1, 1});
    REQUIRE(good.start_ns == std::vector<std::int64_t>{0, 17, 0, 27});
    CHECK(fault_after([](auto& s) { s.failed_task = 2; }) == "task 2 is not placed");
    CHECK(fault_after([](auto& s) { s.order.pop_back(); }) == "not all tasks are placed");
    CHECK(fault_after([](auto& s) { s.processor[3] = no_id; }) == "task 3 is on no processor");
    CHECK(fault_after([](auto& s) { s.finish_ns[3] += 1; }) == "task 3 does not take its cost");
    CHECK(fault_after([](auto& s) { s.makespan_ns += 1; }) == "the makespan is not the last finish");
    CHECK(fault_after([](auto& s) { s.start_ns[0] -= 5, s.finish_ns[0] -= 5; }) == "task 0 starts before time zero");
    CHECK(fault_after([](auto& s) { s.start_ns[1] = 16, s.finish_ns[1] = 26; }) == "task 1 starts before the data of task 0 arrive");
    CHECK(fault_after([](auto& s) { s.start_ns[3] = 26, s.finish_ns[3] = s.makespan_ns = 36; }) ==
          "tasks 1 and 3 overlap on processor 1");
    CHECK(fault_after([](auto& s) { s.residents.clear(); }) == "task 1 runs where its weight is not resident");
    CHECK(fault_after([](auto& s) { s.residents.push_back(s.residents.front()); }) == "weight 0 is twice on processor 1");
    columns.task_space = {5, 5, 5, 5};
    columns.space = {5, 14};
    CHECK(find_fault(view(columns), good) == "the tasks of processor 1 need 1 more than its space");
    columns.space = {5, 15};
    CHECK(find_fault(view(columns), good) == "");
    columns.capacity = {4, 2};
    CHECK(find_fault(view(columns), good) == "processor 1 holds 3 of 2");
}
