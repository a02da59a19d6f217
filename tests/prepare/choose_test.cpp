#include <doctest/doctest.h>

#include <random>

#include "interpreter.h"
#include "prepare/choose.h"

using namespace weft;
using namespace weft::testing;
using namespace weft::preparation;

namespace {

/// Least interval at which a combination fits: both sides of the budget only relax as the interval grows.
std::int64_t least_interval(const std::vector<std::vector<LayerOption>>& layers, const std::vector<std::size_t>& choice, const Budget& budget) {
    const auto fits = [&](std::int64_t interval_ns) {
        std::int64_t work_ns = budget.other_work_ns;
        std::uint64_t crossbars = 0;
        for (std::size_t layer = 0; layer < layers.size(); ++layer) {
            work_ns += layers[layer][choice[layer]].work_ns;
            crossbars += crossbars_at(layers[layer][choice[layer]], interval_ns, budget.crossbars_per_core);
        }
        return work_ns <= interval_ns * static_cast<std::int64_t>(budget.cores) && crossbars <= budget.cores * budget.crossbars_per_core * budget.crossbar_percent / 100;
    };
    std::int64_t low = 0;
    std::int64_t high = 1'000'000'000;
    if (!fits(high)) return high;
    while (high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        (fits(middle) ? high : low) = middle;
    }
    return high;
}

}  // namespace

TEST_CASE("the choice for all layers together is the best of all combinations") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        CAPTURE(round);
        const Budget budget{2 + random() % 5, 8 + random() % 40, 80, static_cast<std::int64_t>(random() % 5000)};
        std::vector<std::vector<LayerOption>> layers(3);
        for (auto& options : layers) {
            std::int64_t work_ns = 1000 + static_cast<std::int64_t>(random() % 20000);
            std::uint32_t crossbars = 1 + static_cast<std::uint32_t>(random() % budget.crossbars_per_core);
            for (std::size_t o = 0; o < 4 && crossbars > 0; ++o) {
                LayerOption option;
                option.work_ns = work_ns;
                option.crossbars = crossbars;
                option.parts = {{work_ns, crossbars}};
                options.push_back(option);
                work_ns += 1 + static_cast<std::int64_t>(random() % 20000);
                crossbars /= 2;
            }
        }
        const auto chosen = choose_options(layers, budget);
        const std::int64_t actual = least_interval(layers, chosen, budget);
        std::int64_t best = 1'000'000'000;
        for (std::size_t a = 0; a < layers[0].size(); ++a)
            for (std::size_t b = 0; b < layers[1].size(); ++b)
                for (std::size_t c = 0; c < layers[2].size(); ++c) best = std::min(best, least_interval(layers, {a, b, c}, budget));
        // The bisection stops at one part in five hundred.
        CHECK(actual <= best + best / 400 + 1);
    }
}

TEST_CASE("for latency the choice fits, and no combination with other copies is much faster") {
    // One part an option: the time is (work + exchange) / copies.
    std::mt19937 random(8);
    const auto time_ns = [](const LayerOption& option, std::int64_t exchange_ns, std::uint64_t copies) { return (option.work_ns + exchange_ns) / static_cast<std::int64_t>(copies); };
    int fitting = 0;
    std::int64_t all_actual = 0;
    std::int64_t all_best = 0;
    for (int round = 0; round < 200; ++round) {
        CAPTURE(round);
        const Budget budget{2 + random() % 4, 8 + random() % 24, 80, 0};
        const std::uint64_t capacity = budget.cores * budget.crossbars_per_core * budget.crossbar_percent / 100;
        std::vector<std::vector<LayerOption>> layers(2);
        std::vector<std::int64_t> exchange_ns;
        for (auto& options : layers) {
            exchange_ns.push_back(static_cast<std::int64_t>(random() % 3000));
            for (std::size_t o = 0; o < 3; ++o) {
                LayerOption option;
                option.work_ns = 1000 + static_cast<std::int64_t>(random() % 20000);
                option.crossbars = 1 + random() % budget.crossbars_per_core;
                option.parts = {{option.work_ns, static_cast<std::uint32_t>(option.crossbars)}};
                options.push_back(option);
            }
        }
        // The least time of given options, with as many copies of each as fit together; nothing where not even one does.
        const auto least_ns = [&](std::size_t a, std::size_t b) {
            std::int64_t least = -1;
            for (std::uint64_t i = 1; i <= budget.cores; ++i) {
                for (std::uint64_t j = 1; j <= budget.cores; ++j) {
                    if (i * layers[0][a].crossbars + j * layers[1][b].crossbars > capacity) continue;
                    const std::int64_t ns = time_ns(layers[0][a], exchange_ns[0], i) + time_ns(layers[1][b], exchange_ns[1], j);
                    if (least < 0 || ns < least) least = ns;
                }
            }
            return least;
        };
        std::int64_t best = -1;
        for (std::size_t a = 0; a < 3; ++a) {
            for (std::size_t b = 0; b < 3; ++b) {
                if (const std::int64_t ns = least_ns(a, b); ns >= 0 && (best < 0 || ns < best)) best = ns;
            }
        }
        const auto chosen = choose_for_latency(layers, exchange_ns, budget);
        const std::int64_t actual = least_ns(chosen[0], chosen[1]);
        CHECK((actual >= 0) == (best >= 0));
        if (best < 0) continue;
        ++fitting;
        // A multiplier leaves gaps where few copies fit.
        CHECK(actual <= best + best / 2);
        all_actual += actual;
        all_best += best;
    }
    CHECK(fitting > 100);
    CHECK(all_actual <= all_best + all_best / 50);
}

TEST_CASE("no option of a layer is beaten in both work and crossbars") {
    const TargetColumns target = small_target(4, 96);
    const ChipFacts chip(view(target));
    for (const std::uint32_t groups : {1U, 64U}) {
        MatrixProblem problem;
        problem.spec = {0, groups, 64 / groups, 64 / groups, 0, 0, 64};
        problem.window.kernel_rows = problem.window.kernel_columns = 3;
        problem.window.stride_rows = problem.window.stride_columns = 1;
        problem.window.dilation_rows = problem.window.dilation_columns = 1;
        problem.spec.column_stride = problem.spec.inputs_per_group * 64;
        problem.spec.row_stride = problem.spec.column_stride * 3;
        problem.input_channels = {64};
        problem.output_rows = problem.output_columns = 28;
        const auto options = layer_options(problem, 16, chip);
        CHECK(options.size() > 2);
        for (std::size_t o = 1; o < options.size(); ++o) {
            CHECK(options[o - 1].work_ns < options[o].work_ns);
            CHECK(options[o - 1].crossbars > options[o].crossbars);
        }
        for (const LayerOption& option : options) {
            for (const PartNeed& part : option.parts) CHECK(part.crossbars <= 96);
        }
    }
}
