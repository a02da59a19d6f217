#pragma once

#include "base/random.h"
#include "packing/packing.h"
#include "prepare/check_network.h"

namespace weft::testing {

/// A residual block behind a strided convolution, with a skip that waits for several levels, a grouped layer, a pool, a concatenation and two
/// outputs.
inline TasksColumns small_network(unsigned seed, const TargetColumns& target) {
    Network network(seed);
    const auto x = network.unary(OperatorKind::Relu, network.conv(network.input({1, 3, 17, 13}), 24, {3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}}));
    const auto a = network.unary(OperatorKind::Relu, network.conv(x, 24));
    const auto depthwise = network.conv(a, 24, {}, 24);
    const auto sum = network.binary(OperatorKind::Add, network.conv(depthwise, 24), x);
    const auto joined = network.concat({sum, depthwise}, 1);
    const auto y = network.conv(joined, 16, {1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}});
    return network.tasks({network.pool(OperatorKind::MaxPool, y, {3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}}), depthwise}, target);
}

/// Lanes anywhere, neighbours often together.
inline LanePlacement random_placement(std::size_t lanes, std::uint32_t cores, Random& random) {
    LanePlacement placement;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const bool beside = lane > 0 && random.below(3) != 0;
        placement.push_back(beside ? placement.back() : static_cast<std::uint16_t>(random.below(cores)));
    }
    return placement;
}

/// Constants of the families that have lanes on a core.
inline std::int64_t constants_on(const Tasks& tasks, const PimTiming& timing, const LanePlacement& placement, std::uint32_t core) {
    const std::vector<std::int64_t> elems = constant_elems(tasks, timing);
    std::int64_t sum = 0;
    for (const Family& family : tasks.families) {
        const auto lanes = std::span(placement).subspan(family.first_lane, family.lane_count);
        if (std::find(lanes.begin(), lanes.end(), core) != lanes.end()) sum += elems[static_cast<std::size_t>(&family - tasks.families.data())];
    }
    return sum;
}

struct TestRhythm {
    std::vector<std::uint32_t> levels;
    ExchangePolicy exchange = ExchangePolicy::Burst;
    std::uint32_t slots_per_round = 1;

    [[nodiscard]] Rhythm get() const { return {exchange, slots_per_round, levels}; }
};

/// All exchanges; a burst one with several slots as well.
inline std::vector<TestRhythm> all_rhythms(const Tasks& tasks) {
    return {{dependency_levels(tasks), ExchangePolicy::Burst, 1},
            {dependency_levels(tasks), ExchangePolicy::Burst, 3},
            {dependency_levels(tasks), ExchangePolicy::Sided, 1},
            {dependency_levels(tasks, 1, 2), ExchangePolicy::Woven, 1}};
}

}  // namespace weft::testing
