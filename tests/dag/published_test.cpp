#include <doctest/doctest.h>

#include <array>

#include "dag/bounds.h"
#include "dag/list_schedule.h"

using namespace weft;

namespace {

using Costs = std::array<std::array<std::int64_t, 3>, 10>;

DagColumns example(const Costs& costs, const std::vector<DagEdge>& edges) {
    DagColumns columns;
    columns.task_count = 10;
    columns.processor_count = 3;
    for (const auto& row : costs) columns.cost_ns.insert(columns.cost_ns.end(), row.begin(), row.end());
    set_edges(columns, edges);
    return columns;
}

/// The example of the PEFT paper: ten tasks, three processors.
DagColumns peft_example() {
    return example({{{22, 21, 36}, {22, 18, 18}, {32, 27, 43}, {7, 10, 4}, {29, 27, 35}, {26, 17, 24}, {14, 25, 30}, {29, 23, 36},
                     {15, 21, 8}, {13, 16, 33}}},
                   {{0, 1, 17}, {0, 2, 31}, {0, 3, 29}, {0, 4, 13}, {0, 5, 7}, {1, 7, 3}, {1, 8, 30}, {2, 6, 16}, {3, 7, 11},
                    {3, 8, 7}, {4, 8, 57}, {5, 7, 5}, {6, 9, 9}, {7, 9, 42}, {8, 9, 7}});
}

/// The example of the HEFT paper: ten tasks, three processors.
DagColumns heft_example() {
    return example({{{14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17}, {12, 13, 10}, {13, 16, 9}, {7, 15, 11}, {5, 11, 14},
                     {18, 12, 20}, {21, 7, 16}}},
                   {{0, 1, 18}, {0, 2, 12}, {0, 3, 9}, {0, 4, 11}, {0, 5, 14}, {1, 7, 19}, {1, 8, 16}, {2, 6, 23}, {3, 7, 27},
                    {3, 8, 23}, {4, 8, 13}, {5, 7, 15}, {6, 9, 17}, {7, 9, 11}, {8, 9, 13}});
}

std::int64_t makespan(const DagColumns& columns, ListAlgorithm algorithm) {
    const Dag dag = view(columns);
    ListOptions options;
    options.algorithm = algorithm;
    const DagSchedule schedule = list_schedule(dag, options);
    CHECK(find_fault(dag, schedule) == "");
    return schedule.makespan_ns;
}

/// A mean of three with one decimal, rounded as in the paper: 218 / 3 -> 727.
std::vector<std::int64_t> tenths(const std::vector<std::int64_t>& sums) {
    std::vector<std::int64_t> result;
    for (const std::int64_t sum : sums) result.push_back((sum * 20 + 3) / 6);
    return result;
}

std::vector<std::int64_t> floors(const std::vector<std::int64_t>& sums) {
    std::vector<std::int64_t> result;
    for (const std::int64_t sum : sums) result.push_back(sum / 3);
    return result;
}

}  // namespace

TEST_CASE("the example of the PEFT paper") {
    const DagColumns columns = peft_example();
    const Dag dag = view(columns);
    const auto order = topological_order(dag);
    const auto mean = mean_communication(dag);
    CHECK(tenths(optimistic_ranks(dag, optimistic_cost_table(dag, order, mean))) ==
          std::vector<std::int64_t>{727, 410, 370, 437, 310, 417, 170, 207, 163, 0});
    CHECK(floors(upward_ranks(dag, order, mean)) == std::vector<std::int64_t>{169, 114, 102, 110, 129, 119, 52, 92, 42, 20});
    CHECK(makespan(columns, ListAlgorithm::Peft) == 122);
    CHECK(makespan(columns, ListAlgorithm::LookAhead) == 127);
    CHECK(makespan(columns, ListAlgorithm::Heft) == 133);
}

TEST_CASE("the example of the HEFT paper") {
    const DagColumns columns = heft_example();
    const Dag dag = view(columns);
    const auto order = topological_order(dag);
    // The third is 43/3 + 23 + 128/3 = 80 exactly, as the paper prints it; in binary floating point it comes out just below, so that
    // programs that take the floor of such a sum print 79.
    CHECK(floors(upward_ranks(dag, order, mean_communication(dag))) ==
          std::vector<std::int64_t>{108, 77, 80, 80, 69, 63, 42, 35, 44, 14});
    CHECK(makespan(columns, ListAlgorithm::Heft) == 80);
    CHECK(makespan(columns, ListAlgorithm::Cpop) == 86);
}
