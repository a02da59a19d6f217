// Partitions against exhaustive search, recovery against exact bin packing, and what each rung alone can do.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "packing/partition.h"
#include "packing/recovery.h"
#include "placed_network.h"

using namespace weft;
using namespace weft::testing;

namespace {

std::vector<PartitionGroup> random_groups(Random& random, std::size_t count) {
    std::vector<PartitionGroup> groups;
    for (std::size_t g = 0; g < count; ++g) groups.push_back({1 + static_cast<std::int64_t>(random.below(1000)), random.below(40), static_cast<std::int64_t>(random.below(500))});
    return groups;
}

struct Best {
    std::int64_t bottleneck_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t cut_elems = 0;
};

/// The least time of a partition, over all ways to share out the cores; none where the crossbars do not suffice.
std::int64_t least_bottleneck(const std::vector<PartitionGroup>& groups, const std::vector<std::uint32_t>& ends, const PartitionLimits& limits) {
    std::vector<std::int64_t> work;
    std::vector<std::uint32_t> cores;
    std::uint32_t begin = 0;
    for (const std::uint32_t end : ends) {
        std::uint64_t crossbars = 0;
        work.push_back(0);
        for (; begin < end; ++begin) {
            work.back() += groups[begin].work_ns;
            crossbars += groups[begin].crossbars;
        }
        cores.push_back(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (crossbars + limits.core_crossbars - 1) / limits.core_crossbars)));
    }
    std::uint32_t used = std::accumulate(cores.begin(), cores.end(), 0U);
    if (used > limits.cores) return std::numeric_limits<std::int64_t>::max();
    const auto time = [&](std::size_t s) { return (work[s] + cores[s] - 1) / cores[s]; };
    const auto slowest = [&] {
        std::size_t worst = 0;
        for (std::size_t s = 0; s < work.size(); ++s) worst = time(s) > time(worst) ? s : worst;
        return worst;
    };
    for (; used < limits.cores; ++used) ++cores[slowest()];
    return time(slowest());
}

/// Calls function(ends) for every partition into the stages.
void for_each_partition(std::uint32_t groups, std::uint32_t stages, std::vector<std::uint32_t>& ends, const std::function<void()>& function) {
    if (stages == 1) {
        ends.push_back(groups);
        function();
        ends.pop_back();
        return;
    }
    for (std::uint32_t end = (ends.empty() ? 0 : ends.back()) + 1; end + stages - 1 <= groups; ++end) {
        ends.push_back(end);
        for_each_partition(groups, stages - 1, ends, function);
        ends.pop_back();
    }
}

std::int64_t cut_of(const std::vector<PartitionGroup>& groups, const std::vector<std::uint32_t>& ends) {
    std::int64_t cut = 0;
    for (std::size_t s = 0; s + 1 < ends.size(); ++s) cut += groups[ends[s] - 1].cut_elems;
    return cut;
}

/// Exact packing of few items: depth first, with nothing in common with the rungs but the task.
bool can_pack(const std::vector<std::uint32_t>& sizes, std::size_t item, std::vector<std::uint32_t>& room) {
    if (item == sizes.size()) return true;
    for (std::uint32_t& left : room) {
        if (left < sizes[item]) continue;
        left -= sizes[item];
        const bool found = can_pack(sizes, item + 1, room);
        left += sizes[item];
        if (found) return true;
    }
    return false;
}

void check_fit(const std::vector<std::uint32_t>& sizes, std::uint32_t cores, std::uint32_t capacity, const Recovery& recovery) {
    REQUIRE(recovery.core_of.size() == sizes.size());
    std::vector<std::uint64_t> used(cores, 0);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        REQUIRE(recovery.core_of[i] < cores);
        used[recovery.core_of[i]] += sizes[i];
    }
    for (const std::uint64_t crossbars : used) CHECK(crossbars <= capacity);
}

}  // namespace

TEST_CASE("partitions equal exhaustive search with an unlimited frontier") {
    Random random(3);
    unsigned infeasible = 0;
    unsigned lost = 0;
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        const auto groups = random_groups(random, 12);
        PartitionLimits limits{static_cast<std::uint32_t>(3 + random.below(20)), 30, static_cast<std::uint32_t>(1 + random.below(6)), 1000};
        Best best;
        std::vector<std::uint32_t> ends;
        for_each_partition(12, limits.stages, ends, [&] { best.bottleneck_ns = std::min(best.bottleneck_ns, least_bottleneck(groups, ends, limits)); });
        best.cut_elems = std::numeric_limits<std::int64_t>::max();
        for_each_partition(12, limits.stages, ends, [&] {
            if (least_bottleneck(groups, ends, limits) <= best.bottleneck_ns) best.cut_elems = std::min(best.cut_elems, cut_of(groups, ends));
        });
        const auto found = partition_groups(groups, limits);
        if (best.bottleneck_ns == std::numeric_limits<std::int64_t>::max()) {
            CHECK(found.empty());
            ++infeasible;
            continue;
        }
        REQUIRE(!found.empty());
        CHECK(found.front().bottleneck_ns == best.bottleneck_ns);
        CHECK(found.front().cut_elems == best.cut_elems);
        CHECK(best.bottleneck_ns >= partition_bound(groups, limits));
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Partition& partition = found[i];
            CHECK(partition.stage_end.size() == limits.stages);
            CHECK(partition.stage_end.back() == 12);
            CHECK(std::accumulate(partition.stage_cores.begin(), partition.stage_cores.end(), 0U) == limits.cores);
            CHECK(partition.bottleneck_ns == least_bottleneck(groups, partition.stage_end, limits));
            CHECK(partition.cut_elems == cut_of(groups, partition.stage_end));
            if (i > 0) CHECK(partition.cut_elems < found[i - 1].cut_elems);      // none dominates another
            if (i > 0) CHECK(partition.bottleneck_ns > found[i - 1].bottleneck_ns);
        }
        // Eight trade-offs lose nothing of the time, and some of the cut.
        limits.frontier = 8;
        const auto limited = partition_groups(groups, limits);
        CHECK(limited.front().bottleneck_ns == best.bottleneck_ns);
        CHECK(limited.front().cut_elems >= best.cut_elems);
        lost += limited.front().cut_elems > best.cut_elems ? 1 : 0;
    }
    CHECK(infeasible > 10);
    CHECK(infeasible < 200);
    CHECK(lost < 60);
}

TEST_CASE("groups of families carry all work, and what passes their borders") {
    const TargetColumns target = small_target(12, 24);
    const TasksColumns columns = small_network(5, target);
    const Tasks tasks = view(columns);
    const PimTiming timing(view(target));
    const Workload workload = measure_workload(tasks, view(target), timing);
    const FamilyGroups groups = family_groups(tasks, workload);
    std::int64_t work = 0;
    for (const PartitionGroup& group : groups.groups) work += group.work_ns;
    std::int64_t charged = 0;
    for (std::size_t l = 0; l < tasks.lanes.size(); ++l) charged += workload.followers.follows(tasks.lanes[l].family) ? 0 : workload.charge_ns[l];
    CHECK(work == charged);
    CHECK(groups.groups.back().cut_elems == 0);
    CHECK(groups.groups.front().cut_elems > 0);
    CHECK(std::is_sorted(groups.families.begin(), groups.families.end()));
    // Every stage on its own cores.
    const auto partitions = partition_groups(groups.groups, {12, 24, 3});
    REQUIRE(!partitions.empty());
    const auto packing = smallest_packing(tasks, workload, [&](const Tasks& all, const Workload& load, std::int64_t limit_ns) {
        return pack_partition(all, load, groups.families, partitions.front(), limit_ns);
    });
    REQUIRE(packing.has_value());
    for (std::size_t g = 0; g < groups.families.size(); ++g) {
        const Family& family = tasks.families[groups.families[g]];
        std::size_t stage = 0;
        while (partitions.front().stage_end[stage] <= g) ++stage;
        const std::uint32_t first = std::accumulate(partitions.front().stage_cores.begin(), partitions.front().stage_cores.begin() + static_cast<std::ptrdiff_t>(stage), 0U);
        for (std::uint32_t l = family.first_lane; l < family.first_lane + family.lane_count; ++l) {
            CHECK(packing->placement[l] >= first);
            CHECK(packing->placement[l] < first + partitions.front().stage_cores[stage]);
        }
    }
}

TEST_CASE("whatever exact search fits with twelve items is fitted") {
    Random random(11);
    unsigned solvable = 0;
    unsigned impossible = 0;
    for (int round = 0; round < 4000; ++round) {
        CAPTURE(round);
        const auto capacity = static_cast<std::uint32_t>(6 + random.below(40));
        std::vector<std::uint32_t> sizes;
        for (int i = 0; i < 12; ++i) sizes.push_back(static_cast<std::uint32_t>(1 + random.below(capacity)));
        // As few cores as could do.
        const std::uint32_t cores = (std::accumulate(sizes.begin(), sizes.end(), 0U) + capacity - 1) / capacity;
        std::vector<std::uint32_t> largest_first = sizes;
        std::sort(largest_first.rbegin(), largest_first.rend());
        std::vector<std::uint32_t> room(cores, capacity);
        // Depth first without symmetry takes long where nothing fits; small instances only.
        const bool exact = cores <= 6 && can_pack(largest_first, 0, room);
        const Recovery recovery = fit_weights(sizes, cores, capacity);
        CHECK(recovery.checks <= 65536);
        if (!recovery.core_of.empty()) check_fit(sizes, cores, capacity, recovery);
        if (cores > 6) continue;
        CHECK(recovery.core_of.empty() == !exact);
        if (!exact) CHECK(recovery.exhausted);
        ++(exact ? solvable : impossible);
    }
    CHECK(solvable > 200);
    CHECK(impossible > 200);
}

TEST_CASE("every rung of recovery has an instance that only it solves") {
    struct Instance {
        Rung rung;
        std::uint32_t cores;
        std::uint32_t capacity;
        std::vector<std::uint32_t> sizes;
    };
    const std::vector<Instance> instances{
        {Rung::in_order, 28, 11, {1, 11, 8, 10, 2, 8, 11, 1, 9, 4, 5, 10, 4, 2, 5, 5, 2, 2, 2, 1, 3, 6, 8, 6, 9, 5, 11, 11, 11, 2, 6, 10, 9, 2, 8, 8, 3, 5, 3, 3, 5, 4, 3, 6, 5, 7, 4, 2, 11, 4, 9, 2, 4, 5, 2}},
        {Rung::largest_first, 40, 15, {3, 2, 6, 3, 8, 2, 4, 10, 15, 3, 3, 2, 8, 3, 15, 7, 5, 8, 2, 10, 13, 10, 13, 1, 7, 11, 2, 1, 15, 4, 2, 2, 9, 6, 2, 4, 3, 9, 3, 3, 8, 15, 2, 3, 10, 3, 9, 3, 9, 3, 12, 1, 6,
                                       1, 4, 11, 5, 6, 1, 8, 2, 3, 12, 1, 3, 8, 10, 8, 10, 3, 10, 2, 1, 3, 2, 10, 2, 8, 6, 7, 2, 7, 3, 3, 7, 7, 2, 15, 6, 4, 3, 4, 2, 2, 7, 5, 5, 2, 15, 4, 3, 1, 15, 2, 4}},
        {Rung::reverse, 21, 11, {2, 2, 4, 9, 11, 3, 4, 10, 11, 4, 2, 3, 10, 2, 9, 8, 8, 3, 3, 2, 9, 2, 1, 4, 4, 5, 10, 4, 5, 2, 2, 5, 4, 8, 8, 4, 3, 2, 9, 11, 4, 11}},
        {Rung::deviation, 14, 37, {6, 17, 7, 23, 3, 16, 34, 17, 33, 34, 8, 18, 17, 2, 36, 12, 7, 14, 9, 25, 21, 5, 26, 13, 21, 13, 14, 6, 12, 37, 4}},
        {Rung::search, 12, 32, {31, 12, 28, 8, 10, 22, 12, 30, 20, 16, 10, 30, 7, 7, 12, 10, 17, 2, 8, 24, 22, 18, 15, 6}}};
    REQUIRE(instances.size() == rung_count);
    for (const Instance& instance : instances) {
        CAPTURE(std::string(rung_name(instance.rung)));
        const Recovery recovery = fit_weights(instance.sizes, instance.cores, instance.capacity);
        check_fit(instance.sizes, instance.cores, instance.capacity, recovery);
        CHECK(recovery.rung == instance.rung);
        RecoveryLimits without;
        without.skipped[static_cast<std::size_t>(instance.rung)] = true;
        CHECK(fit_weights(instance.sizes, instance.cores, instance.capacity, without).core_of.empty());
    }
}

TEST_CASE("recovery never checks more than it may") {
    Random random(17);
    for (const std::uint64_t checks : {0U, 1U, 100U, 5000U}) {
        for (int round = 0; round < 50; ++round) {
            std::vector<std::uint32_t> sizes;
            for (int i = 0; i < 60; ++i) sizes.push_back(static_cast<std::uint32_t>(1 + random.below(30)));
            RecoveryLimits limits;
            limits.checks = checks;
            const Recovery recovery = fit_weights(sizes, 30, 30, limits);
            CHECK(recovery.checks <= checks);
            if (recovery.core_of.empty()) CHECK(recovery.checks == checks);
            CHECK(!recovery.exhausted);
        }
    }
}

TEST_CASE("weights that only fit whole are placed whole") {
    const TargetColumns target = small_target(12, 24);
    const TasksColumns columns = small_network(5, target);
    const Tasks tasks = view(columns);
    const Workload workload = measure_workload(tasks, view(target), PimTiming(view(target)));
    Recovery recovery;
    const auto placement = pack_whole_families(tasks, workload, recovery);
    REQUIRE(placement.has_value());
    std::vector<std::uint64_t> used(12, 0);
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        const Family& family = tasks.families[f];
        if (workload.followers.follows(f)) continue;
        const auto lanes = std::span(*placement).subspan(family.first_lane, family.lane_count);
        CHECK(std::all_of(lanes.begin(), lanes.end(), [&](std::uint16_t core) { return core == lanes.front(); }));
        used[lanes.front()] += family.crossbars;
    }
    for (const std::uint64_t crossbars : used) CHECK(crossbars <= 24);
}
