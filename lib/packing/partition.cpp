#include "packing/partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/checked.h"
#include "base/id.h"

namespace weft {
namespace {

/// A partition of the first groups into the first stages.
struct State {
    std::uint64_t cores = 0;
    std::int64_t cut_elems = 0;
    std::uint32_t begin = 0;        ///< of the last stage
    std::uint32_t before = no_id;   ///< row of the state that it continues
};

bool is_less(const State& a, const State& b) { return std::tuple(a.cores, a.cut_elems, a.begin) < std::tuple(b.cores, b.cut_elems, b.begin); }

/// Non-dominated states by cores, at most `most`: both ends, and between them evenly.
void keep_frontier(std::vector<State>& states, std::size_t most) {
    std::sort(states.begin(), states.end(), is_less);
    std::vector<State> kept;
    for (const State& state : states) {
        if (kept.empty() || state.cut_elems < kept.back().cut_elems) kept.push_back(state);
    }
    if (kept.size() > most) {
        std::vector<State> chosen;
        for (std::size_t i = 0; i < most; ++i) chosen.push_back(kept[most == 1 ? 0 : i * (kept.size() - 1) / (most - 1)]);
        kept = std::move(chosen);
    }
    states = std::move(kept);
}

class Partitioner {
public:
    Partitioner(std::span<const PartitionGroup> groups, const PartitionLimits& limits) : groups_(groups), limits_(limits), work_(groups.size() + 1, 0), crossbars_(groups.size() + 1, 0) {
        for (std::size_t g = 0; g < groups.size(); ++g) {
            work_[g + 1] = checked_add(work_[g], groups[g].work_ns);
            crossbars_[g + 1] = checked_add(crossbars_[g], groups[g].crossbars);
        }
    }

    [[nodiscard]] std::int64_t total_ns() const { return work_.back(); }

    /// Cores of groups [first, end) as one stage that works for `ns`.
    [[nodiscard]] std::uint64_t cores_of(std::uint32_t first, std::uint32_t end, std::int64_t ns) const {
        const auto busy = static_cast<std::uint64_t>(ceil_divide(work_[end] - work_[first], ns));
        return std::max({std::uint64_t{1}, busy, ceil_divide(crossbars_[end] - crossbars_[first], std::uint64_t{limits_.core_crossbars})});
    }

    /// All stages within `ns`: the frontier of the last state, states that fit the chip only.
    [[nodiscard]] const std::vector<State>& run(std::int64_t ns, std::size_t frontier) {
        const auto count = static_cast<std::uint32_t>(groups_.size());
        table_.assign(std::size_t{limits_.stages + 1} * (count + 1), {});
        at(0, 0).push_back({});
        std::vector<State> states;
        for (std::uint32_t stage = 1; stage <= limits_.stages; ++stage) {
            // Every later stage needs a group.
            for (std::uint32_t end = stage; end + (limits_.stages - stage) <= count; ++end) {
                states.clear();
                for (std::uint32_t begin = end; begin-- > stage - 1;) {
                    const std::uint64_t cores = cores_of(begin, end, ns);
                    if (cores > limits_.cores) break;
                    const std::int64_t cut = begin == 0 ? 0 : groups_[begin - 1].cut_elems;
                    const std::vector<State>& before = at(stage - 1, begin);
                    for (std::uint32_t row = 0; row < before.size(); ++row) {
                        if (before[row].cores + cores <= limits_.cores) states.push_back({before[row].cores + cores, before[row].cut_elems + cut, begin, row});
                    }
                }
                keep_frontier(states, frontier);
                at(stage, end) = states;
            }
        }
        return at(limits_.stages, count);
    }

    /// Of the last run.
    [[nodiscard]] Partition partition(std::uint32_t row, std::int64_t ns) {
        Partition result;
        auto end = static_cast<std::uint32_t>(groups_.size());
        for (std::uint32_t stage = limits_.stages; stage > 0; --stage) {
            const State& state = at(stage, end)[row];
            if (stage == limits_.stages) result.cut_elems = state.cut_elems;
            result.stage_end.push_back(end);
            result.stage_cores.push_back(narrow<std::uint32_t>(cores_of(state.begin, end, ns)));
            end = state.begin;
            row = state.before;
        }
        std::reverse(result.stage_end.begin(), result.stage_end.end());
        std::reverse(result.stage_cores.begin(), result.stage_cores.end());
        share_spare_cores(result);
        return result;
    }

private:
    [[nodiscard]] std::vector<State>& at(std::uint32_t stage, std::uint32_t end) { return table_[stage * (groups_.size() + 1) + end]; }

    /// What is left goes, core by core, to the slowest stage.
    void share_spare_cores(Partition& result) const {
        const auto stage_ns = [&](std::size_t stage) {
            const std::uint32_t first = stage == 0 ? 0 : result.stage_end[stage - 1];
            return ceil_divide(work_[result.stage_end[stage]] - work_[first], std::int64_t{result.stage_cores[stage]});
        };
        std::uint32_t spare = limits_.cores - std::accumulate(result.stage_cores.begin(), result.stage_cores.end(), 0U);
        const auto slowest = [&] {
            std::size_t worst = 0;
            for (std::size_t stage = 1; stage < result.stage_cores.size(); ++stage) worst = stage_ns(stage) > stage_ns(worst) ? stage : worst;
            return worst;
        };
        for (; spare > 0; --spare) ++result.stage_cores[slowest()];
        result.bottleneck_ns = stage_ns(slowest());
    }

    std::span<const PartitionGroup> groups_;
    const PartitionLimits& limits_;
    std::vector<std::int64_t> work_;            // before each group
    std::vector<std::uint64_t> crossbars_;
    std::vector<std::vector<State>> table_;     // (stages, groups)
};

}  // namespace

std::int64_t partition_bound(std::span<const PartitionGroup> groups, const PartitionLimits& limits) {
    std::int64_t total = 0;
    for (const PartitionGroup& group : groups) total = checked_add(total, group.work_ns);
    return std::max<std::int64_t>(1, ceil_divide(total, std::int64_t{limits.cores}));
}

std::vector<Partition> partition_groups(std::span<const PartitionGroup> groups, const PartitionLimits& limits) {
    WEFT_CHECK(limits.cores > 0 && limits.core_crossbars > 0 && limits.stages > 0 && limits.frontier > 0, "limits of a partition are zero");
    if (groups.size() < limits.stages) return {};
    Partitioner partitioner(groups, limits);
    std::int64_t fails = partition_bound(groups, limits) - 1;
    std::int64_t works = std::max<std::int64_t>(1, partitioner.total_ns());
    if (partitioner.run(works, 1).empty()) return {};
    while (works - fails > 1) {
        const std::int64_t middle = fails + (works - fails) / 2;
        (partitioner.run(middle, 1).empty() ? fails : works) = middle;
    }
    std::vector<Partition> found;
    for (const std::int64_t percent : {100, 101, 102, 104, 108, 112}) {
        const std::int64_t ns = multiply_divide(works, percent, 100);
        const auto states = narrow<std::uint32_t>(partitioner.run(ns, limits.frontier).size());
        // Spare cores shorten what the time allows, so every trade-off is a partition of its own.
        for (std::uint32_t row = 0; row < states; ++row) found.push_back(partitioner.partition(row, ns));
    }
    std::stable_sort(found.begin(), found.end(), [](const Partition& a, const Partition& b) {
        return std::pair(a.bottleneck_ns, a.cut_elems) < std::pair(b.bottleneck_ns, b.cut_elems);
    });
    std::vector<Partition> kept;
    for (Partition& partition : found) {
        if (kept.empty() || partition.cut_elems < kept.back().cut_elems) kept.push_back(std::move(partition));
    }
    return kept;
}

FamilyGroups family_groups(const Tasks& tasks, const Workload& workload) {
    FamilyGroups result;
    std::vector<std::uint32_t> group_of(tasks.families.size(), no_id);
    std::vector<std::int64_t> charge(tasks.families.size(), 0);
    for (std::size_t l = 0; l < tasks.lanes.size(); ++l) charge[tasks.lanes[l].family] += workload.charge_ns[l];
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        // A follower stands where the last of its leaders does.
        if (workload.followers.follows(f)) {
            group_of[f] = group_of[workload.followers.leaders[workload.followers.first_leader[f + 1] - 1]];
            continue;
        }
        group_of[f] = narrow<std::uint32_t>(result.groups.size());
        result.families.push_back(f);
        result.groups.push_back({charge[f], workload.families[f].crossbars, 0});
    }
    // A tensor passes every border between its producer's group and its last reader's.
    std::vector<std::uint32_t> last(tasks.tensors.size(), 0);
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        const Family& family = tasks.families[f];
        for (const std::uint32_t tensor : tasks.inputs.subspan(family.first_input, family.input_count)) last[tensor] = std::max(last[tensor], group_of[f]);
    }
    std::vector<std::int64_t> change(result.groups.size() + 1, 0);
    for (std::uint32_t t = 0; t < tasks.tensors.size(); ++t) {
        const TaskTensor& tensor = tasks.tensors[t];
        if (tensor.producer == no_id || last[t] <= group_of[tensor.producer]) continue;
        const std::int64_t elems = std::int64_t{tensor.rows} * tensor.columns * tensor.channels;
        change[group_of[tensor.producer]] += elems;
        change[last[t]] -= elems;
    }
    std::int64_t open = 0;
    for (std::size_t g = 0; g < result.groups.size(); ++g) result.groups[g].cut_elems = open += change[g];
    return result;
}

}  // namespace weft
