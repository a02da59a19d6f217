#include "dag/list_schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>

#include "base/checked.h"
#include "dag/residency.h"
#include "dag/timeline.h"

namespace weft {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;

struct Priority {
    std::int64_t rank = 0;
    std::int64_t upward = 0;
    std::uint32_t task = 0;

    bool operator<(const Priority& other) const {   // the greatest is taken first
        if (rank != other.rank) return rank < other.rank;
        if (upward != other.upward) return upward < other.upward;
        return task > other.task;
    }
};

struct Choice {
    std::uint32_t processor = no_id;
    std::int64_t start = 0;
    std::int64_t finish = never;
    std::int64_t objective = never;
};

class ListScheduler {
public:
    ListScheduler(const Dag& dag, const ListOptions& options)
        : dag_(dag),
          options_(options),
          before_(predecessors_of(dag)),
          timelines_(dag.processor_count),
          residency_(dag, options.reserved, options.only_reserved),
          ready_at_(dag.processor_count),
          child_ready_(dag.processor_count) {
        schedule_.processor.assign(dag.task_count, no_id);
        schedule_.start_ns.assign(dag.task_count, 0);
        schedule_.finish_ns.assign(dag.task_count, 0);
        schedule_.order.reserve(dag.task_count);
        rank_tasks();
    }

    DagSchedule run() {
        std::priority_queue<Priority> ready;
        std::vector<std::uint32_t> missing(dag_.task_count);
        for (std::uint32_t t = 0; t < dag_.task_count; ++t) {
            missing[t] = before_.first[t + 1U] - before_.first[t];
            if (missing[t] == 0) ready.push({rank_[t], upward_[t], t});
        }
        while (!ready.empty()) {
            const std::uint32_t task = ready.top().task;
            ready.pop();
            const Choice choice = choose(task);
            if (choice.processor == no_id) {
                schedule_.failed_task = task;
                break;
            }
            place(task, choice);
            for (std::uint32_t e = dag_.successor_first[task]; e < dag_.successor_first[task + 1U]; ++e) {
                const std::uint32_t next = dag_.successors[e];
                if (--missing[next] == 0) ready.push({rank_[next], upward_[next], next});
            }
        }
        schedule_.residents = residency_.take();
        return std::move(schedule_);
    }

private:
    void rank_tasks() {
        const std::vector<std::uint32_t> order = topological_order(dag_);
        const std::vector<std::int64_t> mean = mean_communication(dag_);
        upward_ = upward_ranks(dag_, order, mean);
        switch (options_.algorithm) {
            case ListAlgorithm::Peft:
                table_ = optimistic_cost_table(dag_, order, mean, options_.optimistic_links);
                rank_ = optimistic_ranks(dag_, table_);
                return;
            case ListAlgorithm::Heft:
            case ListAlgorithm::LookAhead:
                rank_ = upward_;
                return;
            case ListAlgorithm::Cpop:
                rank_ = downward_ranks(dag_, order, mean);
                for (std::size_t t = 0; t < rank_.size(); ++t) rank_[t] += upward_[t];
                mark_critical_path(mean);
                return;
        }
        WEFT_CHECK(false, "no such algorithm");
    }

    /// From the entry task of highest priority along successors of the same priority; the sums are exact, so equality is.
    void mark_critical_path(std::span<const std::int64_t> mean) {
        critical_.assign(dag_.task_count, 0);
        if (dag_.task_count == 0) return;
        std::uint32_t task = no_id;
        for (std::uint32_t t = 0; t < dag_.task_count; ++t) {
            const bool entry = before_.first[t] == before_.first[t + 1U];
            if (entry && (task == no_id || rank_[t] > rank_[task])) task = t;
        }
        std::vector<std::int64_t> total(dag_.processor_count, 0);
        while (task != no_id) {
            critical_[task] = 1;
            const auto costs = dag_.costs(task);
            std::transform(total.begin(), total.end(), costs.begin(), total.begin(), std::plus<>());
            const std::int64_t own = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
            std::uint32_t next = no_id;
            for (std::uint32_t e = dag_.successor_first[task]; e < dag_.successor_first[task + 1U] && next == no_id; ++e) {
                const std::uint32_t to = dag_.successors[e];
                // The edge itself lies on a longest path, not only both of its ends.
                if (upward_[task] == own + mean[e] * dag_.processor_count + upward_[to]) next = to;
            }
            task = next;
        }
        critical_processor_ = static_cast<std::uint32_t>(std::min_element(total.begin(), total.end()) - total.begin());
    }

    /// ready_at[p]: when the data of all placed predecessors are on p. Returns how many predecessors are placed.
    void data_ready(std::uint32_t task, std::vector<std::int64_t>& ready_at) const {
        const std::uint32_t first = before_.first[task];
        const std::uint32_t end = before_.first[task + 1U];
        if (!dag_.link_ps.empty()) {
            std::fill(ready_at.begin(), ready_at.end(), 0);
            for (std::uint32_t i = first; i < end; ++i) raise_by_links(before_.task[i], before_.edge[i], ready_at);
            return;
        }
        // One distance: only the processor from which the last data come can be ready earlier than all others.
        std::int64_t last = 0;
        std::uint32_t source = no_id;
        for (std::uint32_t i = first; i < end; ++i) {
            const std::uint32_t from = before_.task[i];
            if (schedule_.processor[from] == no_id) continue;
            const std::int64_t arrival = schedule_.finish_ns[from] + dag_.edge_ns[before_.edge[i]];
            if (source == no_id || arrival > last) {
                last = arrival;
                source = schedule_.processor[from];
            }
        }
        std::fill(ready_at.begin(), ready_at.end(), last);
        if (source == no_id) return;
        std::int64_t& at_source = ready_at[source];
        at_source = 0;
        for (std::uint32_t i = first; i < end; ++i) {
            const std::uint32_t from = before_.task[i];
            if (schedule_.processor[from] == no_id) continue;
            const bool local = schedule_.processor[from] == source;
            at_source = std::max(at_source, schedule_.finish_ns[from] + (local ? 0 : dag_.edge_ns[before_.edge[i]]));
        }
    }

    void raise_by_links(std::uint32_t from, std::uint32_t edge, std::vector<std::int64_t>& ready_at) const {
        const std::uint32_t source = schedule_.processor[from];
        if (source == no_id) return;
        const std::int64_t local = std::max(ready_at[source], schedule_.finish_ns[from]);
        const std::int64_t sent = schedule_.finish_ns[from] + dag_.edge_ns[edge];
        const std::uint64_t flits = dag_.edge_flits[edge];
        const std::uint32_t* const link = dag_.link_ps.data() + std::size_t{source} * dag_.processor_count;
        for (std::size_t p = 0; p < ready_at.size(); ++p) {
            ready_at[p] = std::max(ready_at[p], sent + static_cast<std::int64_t>((flits * link[p] + 999U) / 1000U));
        }
        ready_at[source] = local;   // what does not leave the processor takes no time
    }

    Choice choose(std::uint32_t task) {
        data_ready(task, ready_at_);
        if (!critical_.empty() && critical_[task] != 0 && residency_.admits(task, critical_processor_)) {
            Choice pinned;
            consider(task, critical_processor_, 0, pinned);
            return pinned;
        }
        Choice best;
        const std::int64_t* const bonus =
            options_.algorithm == ListAlgorithm::Peft ? table_.data() + std::size_t{task} * dag_.processor_count : nullptr;
        for (std::uint32_t p = 0; p < dag_.processor_count; ++p) {
            if (!residency_.admits(task, p)) continue;
            if (options_.algorithm == ListAlgorithm::LookAhead) {
                look_ahead(task, p, best);
            } else {
                consider(task, p, bonus == nullptr ? 0 : bonus[p], best);
            }
        }
        return best;
    }

    void consider(std::uint32_t task, std::uint32_t processor, std::int64_t bonus, Choice& best) const {
        const std::int64_t cost = dag_.costs(task)[processor];
        // Even without waiting for an idle time it would lose: the search can be left out.
        if (ready_at_[processor] + cost + bonus > best.objective) return;
        const std::int64_t start = timelines_[processor].earliest_start(ready_at_[processor], cost);
        take_better({processor, start, start + cost, start + cost + bonus}, best);
    }

    static void take_better(const Choice& choice, Choice& best) {
        if (choice.objective != best.objective ? choice.objective < best.objective : choice.finish < best.finish) best = choice;
    }

    /// The task is put on the processor for a moment; each child then looks for its own earliest finish.
    void look_ahead(std::uint32_t task, std::uint32_t processor, Choice& best) {
        const std::int64_t cost = dag_.costs(task)[processor];
        Choice choice;
        choice.processor = processor;
        choice.start = timelines_[processor].earliest_start(ready_at_[processor], cost);
        choice.finish = choice.start + cost;
        choice.objective = choice.finish;
        const Timeline saved = timelines_[processor];
        timelines_[processor].occupy(choice.start, cost);
        schedule_.processor[task] = processor;
        schedule_.finish_ns[task] = choice.finish;
        for (std::uint32_t e = dag_.successor_first[task]; e < dag_.successor_first[task + 1U]; ++e) {
            choice.objective = std::max(choice.objective, earliest_finish(dag_.successors[e]));
        }
        schedule_.processor[task] = no_id;
        timelines_[processor] = saved;
        take_better(choice, best);
    }

    /// Of a task that need not be ready; 0 where no processor has capacity for it.
    std::int64_t earliest_finish(std::uint32_t task) {
        data_ready(task, child_ready_);
        std::int64_t least = never;
        for (std::uint32_t p = 0; p < dag_.processor_count; ++p) {
            const std::int64_t cost = dag_.costs(task)[p];
            if (child_ready_[p] + cost >= least || !residency_.admits(task, p)) continue;
            least = std::min(least, timelines_[p].earliest_start(child_ready_[p], cost) + cost);
        }
        return least == never ? 0 : least;
    }

    void place(std::uint32_t task, const Choice& choice) {
        schedule_.processor[task] = choice.processor;
        schedule_.start_ns[task] = choice.start;
        schedule_.finish_ns[task] = choice.finish;
        schedule_.order.push_back(task);
        schedule_.makespan_ns = std::max(schedule_.makespan_ns, choice.finish);
        timelines_[choice.processor].occupy(choice.start, choice.finish - choice.start);
        residency_.settle(task, choice.processor);
    }

    const Dag& dag_;
    const ListOptions& options_;
    Predecessors before_;
    std::vector<std::int64_t> table_;
    std::vector<std::int64_t> rank_;
    std::vector<std::int64_t> upward_;
    std::vector<std::uint8_t> critical_;
    std::uint32_t critical_processor_ = 0;
    std::vector<Timeline> timelines_;
    Residency residency_;
    std::vector<std::int64_t> ready_at_;      // of the task that is placed now
    std::vector<std::int64_t> child_ready_;   // of a child looked ahead to
    DagSchedule schedule_;
};

}  // namespace

DagSchedule list_schedule(const Dag& dag, const ListOptions& options) {
    check_dag(dag);
    return ListScheduler(dag, options).run();
}

}  // namespace weft
