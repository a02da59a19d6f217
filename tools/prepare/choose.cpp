#include "prepare/choose.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace weft::preparation {
namespace {

constexpr std::int64_t impossible = std::numeric_limits<std::int64_t>::max() / 4;

/// Resolution of the knapsack.
constexpr std::uint64_t knapsack_units = 2048;

struct Item {
    std::uint64_t units = 0;
    std::int64_t work_ns = 0;
    std::size_t option = 0;
};

/// A layer's options at one interval, without those that another beats in both.
std::vector<Item> items_at(const std::vector<LayerOption>& options, std::int64_t interval_ns, const Budget& budget, std::uint64_t unit) {
    std::vector<Item> items;
    for (std::size_t o = 0; o < options.size(); ++o) {
        items.push_back({ceil_divide(crossbars_at(options[o], interval_ns, budget.crossbars_per_core), unit), options[o].work_ns, o});
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
        return std::tuple(a.units, a.work_ns, a.option) < std::tuple(b.units, b.work_ns, b.option);
    });
    std::vector<Item> kept;
    for (const Item& item : items) {
        if (kept.empty() || item.work_ns < kept.back().work_ns) kept.push_back(item);
    }
    return kept;
}

/// The choice of least work whose crossbars fit, or nothing.
class Knapsack {
public:
    Knapsack(const std::vector<std::vector<LayerOption>>& layers, const Budget& budget) : layers_(layers), budget_(budget) {
        const std::uint64_t capacity = budget.cores * budget.crossbars_per_core * budget.crossbar_percent / 100;
        unit_ = std::max<std::uint64_t>(1, capacity / knapsack_units);
        units_ = static_cast<std::size_t>(capacity / unit_);
    }

    /// Least total work at `interval_ns`, or `impossible`; `choice` receives the options.
    std::int64_t solve(std::int64_t interval_ns, std::vector<std::size_t>& choice) const {
        std::vector<std::int64_t> best(units_ + 1, 0);
        std::vector<std::vector<std::uint16_t>> taken;
        std::vector<std::vector<Item>> items;
        for (const auto& options : layers_) {
            items.push_back(items_at(options, interval_ns, budget_, unit_));
            std::vector<std::int64_t> next(units_ + 1, impossible);
            taken.emplace_back(units_ + 1, 0);
            for (std::size_t i = 0; i < items.back().size(); ++i) {
                const Item& item = items.back()[i];
                for (std::size_t used = item.units; used <= units_; ++used) {
                    const std::int64_t work = best[used - item.units] + item.work_ns;
                    if (work < next[used]) {
                        next[used] = work;
                        taken.back()[used] = static_cast<std::uint16_t>(i);
                    }
                }
            }
            best = std::move(next);
        }
        if (best[units_] >= impossible) return impossible;
        choice.assign(layers_.size(), 0);
        std::size_t left = units_;
        for (std::size_t layer = layers_.size(); layer-- > 0;) {
            const Item& item = items[layer][taken[layer][left]];
            choice[layer] = item.option;
            left -= item.units;
        }
        return best[units_];
    }

private:
    const std::vector<std::vector<LayerOption>>& layers_;
    const Budget& budget_;
    std::uint64_t unit_ = 1;
    std::size_t units_ = 0;
};

std::vector<std::size_t> fewest_crossbars(const std::vector<std::vector<LayerOption>>& layers) {
    std::vector<std::size_t> choice;
    for (const auto& options : layers) {
        const auto least = std::min_element(options.begin(), options.end(), [](const LayerOption& a, const LayerOption& b) { return a.crossbars < b.crossbars; });
        choice.push_back(static_cast<std::size_t>(least - options.begin()));
    }
    return choice;
}

}  // namespace

std::uint64_t crossbars_at(const LayerOption& option, std::int64_t interval_ns, std::uint64_t crossbars_per_core) {
    std::uint64_t sum = 0;
    for (const PartNeed& part : option.parts) {
        const auto cores = static_cast<std::uint64_t>(std::max<std::int64_t>(1, ceil_divide(part.work_ns, interval_ns)));
        const std::uint64_t beside = std::max<std::uint64_t>(1, crossbars_per_core / part.crossbars);
        const bool large = std::uint64_t{part.crossbars} * 4 > crossbars_per_core;
        sum += cores * (large ? crossbars_per_core / beside : part.crossbars);
    }
    return sum;
}

std::vector<std::size_t> choose_options(const std::vector<std::vector<LayerOption>>& layers, const Budget& budget) {
    const Knapsack knapsack(layers, budget);
    std::int64_t least_work_ns = budget.other_work_ns;
    std::int64_t most_work_ns = budget.other_work_ns;
    for (const auto& options : layers) {
        least_work_ns += options.front().work_ns;
        most_work_ns += options.back().work_ns;
    }
    const auto cores = static_cast<std::int64_t>(budget.cores);
    // Below: not even the least work fits the cores. Above: one core could do everything.
    std::int64_t low = std::max<std::int64_t>(1, least_work_ns / cores);
    std::int64_t high = std::max(low + 1, most_work_ns);
    std::vector<std::size_t> best;
    std::vector<std::size_t> trial;
    const auto fits = [&](std::int64_t interval_ns) {
        const std::int64_t work_ns = knapsack.solve(interval_ns, trial);
        return work_ns < impossible && work_ns + budget.other_work_ns <= checked_multiply(interval_ns, cores);
    };
    if (!fits(high)) return fewest_crossbars(layers);
    best = trial;
    while (high - low > std::max<std::int64_t>(1, high / 500)) {
        const std::int64_t middle = low + (high - low) / 2;
        if (fits(middle)) {
            best = trial;
            high = middle;
        } else {
            low = middle;
        }
    }
    return best;
}

namespace {

/// A layer's best option and number of copies at a price per crossbar.
struct Copies {
    std::size_t option = 0;
    std::int64_t time_ns = 0;
    std::uint64_t crossbars = 0;
};

Copies cheapest(const std::vector<LayerOption>& options, std::int64_t exchange_ns, std::int64_t price_ps, const Budget& budget) {
    Copies best;
    std::int64_t best_cost = impossible;
    for (std::size_t o = 0; o < options.size(); ++o) {
        const std::uint64_t parts = options[o].parts.size();
        std::int64_t compute_ns = 0;
        for (const PartNeed& part : options[o].parts) compute_ns += part.work_ns;
        const std::uint64_t most = std::max<std::uint64_t>(1, budget.cores / std::max<std::uint64_t>(1, parts));
        for (std::uint64_t copies = 1; copies <= most; copies += 1 + copies / 8) {
            const auto sharing = static_cast<std::int64_t>(copies);
            const Copies trial{o, compute_ns / (sharing * static_cast<std::int64_t>(parts)) + exchange_ns / sharing, copies * options[o].crossbars};
            const std::int64_t cost = checked_add(checked_multiply(trial.time_ns, std::int64_t{1000}), checked_multiply(static_cast<std::int64_t>(trial.crossbars), price_ps));
            if (cost >= best_cost) continue;
            best_cost = cost;
            best = trial;
        }
    }
    return best;
}

}  // namespace

std::vector<std::size_t> choose_for_latency(const std::vector<std::vector<LayerOption>>& layers, std::span<const std::int64_t> exchange_ns, const Budget& budget) {
    const std::uint64_t capacity = budget.cores * budget.crossbars_per_core * budget.crossbar_percent / 100;
    std::vector<std::size_t> trial;
    const auto fits = [&](std::int64_t price_ps) {
        trial.clear();
        std::uint64_t crossbars = 0;
        for (std::size_t layer = 0; layer < layers.size(); ++layer) {
            const Copies copies = cheapest(layers[layer], exchange_ns[layer], price_ps, budget);
            trial.push_back(copies.option);
            crossbars += copies.crossbars;
        }
        return crossbars <= capacity;
    };
    std::int64_t low_ps = 0;
    std::int64_t high_ps = std::int64_t{1} << 40U;
    if (!fits(high_ps)) return fewest_crossbars(layers);
    std::vector<std::size_t> best = trial;
    while (high_ps - low_ps > 1 + high_ps / 1024) {
        const std::int64_t middle_ps = low_ps + (high_ps - low_ps) / 2;
        if (fits(middle_ps)) {
            best = trial;
            high_ps = middle_ps;
        } else {
            low_ps = middle_ps;
        }
    }
    return best;
}

}  // namespace weft::preparation
