#include "dag/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace weft {

DagBounds lower_bounds(const Dag& dag) {
    DagBounds bounds;
    std::vector<std::int64_t> path(dag.task_count, 0);   // up to the start of the task
    std::int64_t work = 0;
    for (const std::uint32_t task : topological_order(dag)) {
        const auto costs = dag.costs(task);
        const std::int64_t least = *std::min_element(costs.begin(), costs.end());
        work = checked_add(work, least);
        const std::int64_t done = checked_add(path[task], least);
        bounds.critical_path_ns = std::max(bounds.critical_path_ns, done);
        for (std::uint32_t e = dag.successor_first[task]; e < dag.successor_first[task + 1U]; ++e) {
            std::int64_t& next = path[dag.successors[e]];
            next = std::max(next, done);
        }
    }
    bounds.work_ns = ceil_divide<std::int64_t>(work, dag.processor_count);
    return bounds;
}

namespace {

std::string find_time_fault(const Dag& dag, const DagSchedule& schedule) {
    std::int64_t last = 0;
    for (std::uint32_t t = 0; t < dag.task_count; ++t) {
        if (schedule.processor[t] >= dag.processor_count) return fmt::format("task {} is on no processor", t);
        if (schedule.start_ns[t] < 0) return fmt::format("task {} starts before time zero", t);
        if (schedule.finish_ns[t] - schedule.start_ns[t] != dag.costs(t)[schedule.processor[t]]) {
            return fmt::format("task {} does not take its cost", t);
        }
        last = std::max(last, schedule.finish_ns[t]);
        for (std::uint32_t e = dag.successor_first[t]; e < dag.successor_first[t + 1U]; ++e) {
            const std::uint32_t next = dag.successors[e];
            if (schedule.processor[next] >= dag.processor_count) continue;   // reported when its turn comes
            const std::int64_t delay = dag.communication_ns(e, schedule.processor[t], schedule.processor[next]);
            if (schedule.start_ns[next] < schedule.finish_ns[t] + delay) {
                return fmt::format("task {} starts before the data of task {} arrive", next, t);
            }
        }
    }
    return last == schedule.makespan_ns ? std::string() : "the makespan is not the last finish";
}

std::string find_overlap(const Dag& dag, const DagSchedule& schedule) {
    std::vector<std::uint32_t> tasks(dag.task_count);
    std::iota(tasks.begin(), tasks.end(), 0U);
    std::erase_if(tasks, [&](std::uint32_t t) { return schedule.start_ns[t] == schedule.finish_ns[t]; });
    std::sort(tasks.begin(), tasks.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (schedule.processor[a] != schedule.processor[b]) return schedule.processor[a] < schedule.processor[b];
        return schedule.start_ns[a] != schedule.start_ns[b] ? schedule.start_ns[a] < schedule.start_ns[b] : a < b;
    });
    for (std::size_t i = 1; i < tasks.size(); ++i) {
        const bool together = schedule.processor[tasks[i - 1]] == schedule.processor[tasks[i]];
        if (together && schedule.finish_ns[tasks[i - 1]] > schedule.start_ns[tasks[i]]) {
            return fmt::format("tasks {} and {} overlap on processor {}", tasks[i - 1], tasks[i], schedule.processor[tasks[i]]);
        }
    }
    return {};
}

std::string find_space_fault(const Dag& dag, const DagSchedule& schedule) {
    if (dag.task_space.empty()) return {};
    std::vector<std::int64_t> left(dag.space.begin(), dag.space.end());
    for (std::uint32_t t = 0; t < dag.task_count; ++t) left[schedule.processor[t]] -= dag.task_space[t];
    for (std::uint32_t p = 0; p < dag.processor_count; ++p) {
        if (left[p] < 0) return fmt::format("the tasks of processor {} need {} more than its space", p, -left[p]);
    }
    return {};
}

std::string find_capacity_fault(const Dag& dag, const DagSchedule& schedule) {
    if (dag.task_weight.empty()) return {};
    std::vector<std::uint64_t> used(dag.processor_count, 0);
    std::vector<std::uint32_t> copies(dag.weight_size.size(), 0);
    std::vector<bool> resident(dag.weight_size.size() * dag.processor_count, false);
    for (const Residence& residence : schedule.residents) {
        if (resident[std::size_t{residence.weight} * dag.processor_count + residence.processor]) {
            return fmt::format("weight {} is twice on processor {}", residence.weight, residence.processor);
        }
        resident[std::size_t{residence.weight} * dag.processor_count + residence.processor] = true;
        used[residence.processor] += dag.weight_size[residence.weight];
        if (!dag.weight_limit.empty() && ++copies[residence.weight] > dag.weight_limit[residence.weight]) {
            return fmt::format("weight {} is on more than {} processors", residence.weight, dag.weight_limit[residence.weight]);
        }
    }
    for (std::uint32_t p = 0; p < dag.processor_count; ++p) {
        if (used[p] > dag.capacity[p]) return fmt::format("processor {} holds {} of {}", p, used[p], dag.capacity[p]);
    }
    for (std::uint32_t t = 0; t < dag.task_count; ++t) {
        const std::uint32_t weight = dag.task_weight[t];
        if (weight != no_id && !resident[std::size_t{weight} * dag.processor_count + schedule.processor[t]]) {
            return fmt::format("task {} runs where its weight is not resident", t);
        }
    }
    return {};
}

}  // namespace

std::string find_fault(const Dag& dag, const DagSchedule& schedule) {
    if (schedule.failed_task != no_id) return fmt::format("task {} is not placed", schedule.failed_task);
    if (schedule.processor.size() != dag.task_count || schedule.order.size() != dag.task_count) return "not all tasks are placed";
    if (auto fault = find_time_fault(dag, schedule); !fault.empty()) return fault;
    if (auto fault = find_overlap(dag, schedule); !fault.empty()) return fault;
    if (auto fault = find_space_fault(dag, schedule); !fault.empty()) return fault;
    return find_capacity_fault(dag, schedule);
}

}  // namespace weft
