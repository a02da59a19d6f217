// How near partitions into stages come to their lower bound, and what a frontier of eight trade-offs loses.
//   bench_packing TARGET NET.tasks...
#include <cmath>
#include <filesystem>

#include "artifact/artifact.h"
#include "artifact/target.h"
#include "artifact/tasks.h"
#include "base/failure.h"
#include "packing/partition.h"

using namespace weft;

namespace {

/// Products of ratios.
struct GeometricMean {
    double logarithms = 0;
    std::size_t count = 0;
    void add(double ratio) {
        logarithms += std::log(ratio);
        ++count;
    }
    [[nodiscard]] double value() const { return count == 0 ? 1.0 : std::exp(logarithms / static_cast<double>(count)); }
};

int run(int count, char** arguments) {
    const Artifact<Target> target(arguments[1]);
    const PimTiming timing(*target);
    GeometricMean times;
    GeometricMean cuts;
    double worst = 1;
    fmt::print("{:<20}{:>8}{:>8}{:>16}{:>16}{:>16}\n", "network", "stages", "groups", "bottleneck ns", "/ bound", "cut of 8 / all");
    for (int i = 2; i < count; ++i) {
        const Artifact<Tasks> tasks(arguments[i]);
        const FamilyGroups groups = family_groups(*tasks, measure_workload(*tasks, *target, timing));
        for (std::uint32_t stages = 2; stages <= 16; ++stages) {
            PartitionLimits limits{target->core_count, target->core.crossbar_count, stages};
            const auto limited = partition_groups(groups.groups, limits);
            if (limited.empty()) continue;
            limits.frontier = static_cast<std::size_t>(-1);
            const auto unlimited = partition_groups(groups.groups, limits);
            const double ratio = static_cast<double>(limited.front().bottleneck_ns) / static_cast<double>(partition_bound(groups.groups, limits));
            const double cut = static_cast<double>(limited.front().cut_elems + 1) / static_cast<double>(unlimited.front().cut_elems + 1);
            times.add(ratio);
            cuts.add(cut);
            worst = std::max(worst, ratio);
            if (stages % 7 == 2) {
                fmt::print("{:<20}{:>8}{:>8}{:>16}{:>16.4f}{:>16.4f}\n", std::filesystem::path(arguments[i]).stem().string(), stages, groups.groups.size(),
                           limited.front().bottleneck_ns, ratio, cut);
            }
        }
    }
    fmt::print("geometric means of {} partitions: bottleneck / bound {:.4f} (worst {:.4f}), cut with eight trade-offs / with all {:.4f}\n", times.count, times.value(), worst, cuts.value());
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        fmt::print(stderr, "usage: bench_packing CHIP.target NET.tasks...\n");
        return 2;
    }
    try {
        return run(count, arguments);
    } catch (const Failure& failure) {
        fmt::print(stderr, "bench_packing: error: {}\n", failure.what());
        return static_cast<int>(failure.status());
    }
}
