#include "prepare/mapping_search.h"

#include <algorithm>
#include <future>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/id.h"
#include "packing/latency.h"
#include "packing/load_model.h"
#include "packing/packing.h"
#include "packing/refine.h"
#include "prepare/assemble.h"
#include "prepare/choose.h"
#include "prepare/finish.h"
#include "prepare/split.h"

namespace weft::preparation {
namespace {

/// A rough price of everything that has no mapping to choose: pools, moves, pointwise steps.
std::int64_t other_work_ns(const Draft& draft, const ChipFacts& chip) {
    std::int64_t sum = 0;
    for (const DraftFamily& family : draft.families) {
        const TaskTensor& output = draft.tensors[family.row.output];
        const auto row_ns = [&](Opcode op) { return output.rows * chip.timing.vector_ns(op, output.columns * output.channels); };
        sum += static_cast<std::int64_t>(family.steps.size()) * row_ns(Opcode::Vvadd);
        const std::int64_t taps = std::int64_t{family.row.kernel_rows} * family.row.kernel_columns;
        if (family.row.kind == static_cast<std::uint32_t>(FamilyKind::Pool)) sum += taps * row_ns(Opcode::Vvmax);
        if (family.row.kind == static_cast<std::uint32_t>(FamilyKind::Move)) sum += std::int64_t{output.rows} * output.columns * chip.timing.copy_ns(output.channels);
    }
    return sum;
}

/// The options of every matrix family.
std::vector<std::vector<LayerOption>> all_options(const Draft& draft, const ChipFacts& chip, std::uint32_t widest_window) {
    std::vector<std::vector<LayerOption>> layers;
    std::vector<MatrixProblem> problems;
    for (const DraftFamily& family : draft.families) {
        if (family.matrix == no_id) continue;
        problems.push_back(matrix_problem(draft, family));
        // Networks repeat layers.
        const auto same = std::find_if(problems.begin(), problems.end() - 1, [&](const MatrixProblem& other) { return alike(other, problems.back()); });
        const auto index = static_cast<std::size_t>(same - problems.begin());
        layers.push_back(index + 1 < problems.size() ? layers[index] : layer_options(problems.back(), widest_window, chip));
    }
    return layers;
}

std::vector<std::uint32_t> family_sizes(const PrepareOptions& options, const ChipFacts& chip, bool fine) {
    if (options.family_crossbars != 0) return {std::min(options.family_crossbars, chip.crossbars_per_core)};
    std::vector<std::uint32_t> sizes;
    for (const std::uint32_t percent : {95, 80, 55, 38}) {
        if (percent < 80 && !fine) break;
        sizes.push_back(std::max(1U, chip.crossbars_per_core * percent / 100));
    }
    return sizes;
}

std::vector<std::uint32_t> crossbar_shares(const PrepareOptions& options) {
    if (options.crossbar_percent != 0) return {options.crossbar_percent};
    return {90, 80, 70, 60, 50};
}

/// True where the weights alone, without any copies, need more than half of the chip: then small families find room where large ones do not.
bool fill_the_chip(const std::vector<std::vector<LayerOption>>& layers, const ChipFacts& chip) {
    std::uint64_t fewest = 0;
    for (const auto& options : layers) fewest += options.back().crossbars;
    return 2 * fewest > std::uint64_t{chip.core_count} * chip.crossbars_per_core;
}

/// The families of a layer cost the same whenever it is mapped the same way.
class CostMemo {
public:
    /// `families`: a mapped draft's; `choices` of its matrix layers.
    template <class CostOf>
    void set(TasksColumns& columns, std::span<const DraftFamily> families, const std::vector<MappingChoice>& layer_choice, const CostOf& cost_of) {
        std::uint32_t of_layer = 0;
        set_costs(columns, [&](FamilyId id) {
            const std::uint32_t layer = families[id.index()].layer;
            of_layer = id.index() > 0 && families[id.index() - 1].layer == layer ? of_layer + 1 : 0;
            const auto [entry, added] = costs_.try_emplace({layer, layer_choice[layer], of_layer});
            if (added) entry->second = cost_of(id);
            return entry->second;
        });
    }
    void clear() { costs_.clear(); }

private:
    std::map<std::tuple<std::uint32_t, MappingChoice, std::uint32_t>, FamilyCost> costs_;   // layer, choice, number within the layer
};

constexpr std::int64_t no_packing = std::numeric_limits<std::int64_t>::max();

/// Options of every layer, one of which is chosen, and how the whole packs.
struct ChosenOptions {
    std::vector<std::vector<LayerOption>> layers;
    std::vector<std::size_t> chosen;
    std::int64_t score_ns = no_packing;
    std::uint32_t family_crossbars = 0;

    [[nodiscard]] std::vector<MappingChoice> choices() const {
        std::vector<MappingChoice> list;
        for (std::size_t layer = 0; layer < layers.size(); ++layer) list.push_back(layers[layer][chosen[layer]].choice);
        return list;
    }
};

/// What counts in a trial packing. Where everything packs says how well crossbars and time run out together, the mean how much work there
/// is to even out. By estimates both count alike; by exact communication the mean counts three times. Neither is always the better guide.
enum class Score : std::uint8_t { estimated, exact };

/// Moves of a refinement that tells good mappings from better ones. Against 1,000 of them, 30 leave the busiest core up to 12 % busier (mappings of four networks), 120
/// about 1 %, or 5 % where weights fill the chip.
constexpr std::uint32_t judging_trials_per_core = 120;

/// Packs the draft under chosen mappings on trial.
class TrialPacker {
public:
    TrialPacker(const Draft& draft, const ChipFacts& chip, const Target& target, const PrepareOptions& options)
        : draft_(draft), chip_(chip), target_(target), options_(options) {}

    /// no_packing where there is none.
    [[nodiscard]] std::int64_t score(const ChosenOptions& trial, Score score) {
        return pack(trial, [&](const Tasks& tasks, const Workload& workload, const Packing& packing) {
            if (score == Score::estimated) return packing.limit_ns + workload.total_ns / workload.core_count;
            const std::vector<std::uint32_t> levels = dependency_levels(tasks, 1, 2);
            const CoreLoads loads = measure_cores(tasks, target_, chip_.timing, packing.placement, {ExchangePolicy::Woven, 1, levels});
            const std::int64_t sum = std::accumulate(loads.occupied_ns.begin(), loads.occupied_ns.end(), std::int64_t{0});
            return packing.limit_ns + 3 * (sum / workload.core_count);
        });
    }

    /// The busiest core after refinement of the placement, and the mean of all, because more patience would even out more. A woven exchange needs every
    /// buffer twice; where memory is too short for it messages have to stand around the computation, which costs about a twentieth.
    [[nodiscard]] std::int64_t refined_ns(const ChosenOptions& trial) {
        return pack(trial, [&](const Tasks& tasks, const Workload&, const Packing& packing) {
            const std::vector<std::int64_t> constants = constant_elems(tasks, chip_.timing);
            const RefineLimits limits{target_.core.crossbar_count, usable_elems(target_), constants, judging_trials_per_core};
            bool fits = false;
            const auto refined = [&](const Rhythm& rhythm) {
                const LoadModel model(tasks, target_, chip_.timing, refine_placement(tasks, target_, chip_.timing, packing.placement, rhythm, limits), rhythm, constants);
                std::int64_t busiest = 0;
                std::int64_t sum = 0;
                for (std::uint32_t core = 0; core < model.core_count(); ++core) {
                    busiest = std::max(busiest, model.occupied_ns(core));
                    sum += model.occupied_ns(core);
                }
                fits = model.fits(limits.core_elems);
                return busiest + sum / model.core_count();
            };
            const std::vector<std::uint32_t> woven_levels = dependency_levels(tasks, 1, 2);
            const std::int64_t woven_ns = refined({ExchangePolicy::Woven, 1, woven_levels});
            if (fits) return woven_ns;
            const std::vector<std::uint32_t> levels = dependency_levels(tasks);
            const std::int64_t sided_ns = refined({ExchangePolicy::Sided, 1, levels});
            return sided_ns + sided_ns / (fits ? 20 : 2);
        });
    }

    /// The list schedule of one inference; no_packing where there is none or it does not fit the cores' memory.
    [[nodiscard]] std::int64_t latency_ns(const ChosenOptions& trial) {
        return with_tasks(trial, [&](const Tasks& tasks) {
            const auto placed = find_latency_placement(tasks, target_, chip_.timing, {}, constant_elems(tasks, chip_.timing));
            return placed && placed->fits ? placed->makespan_ns : no_packing;
        });
    }

    void cut_lanes_by(std::uint32_t lanes_per_core) { options_.lanes_per_core = lanes_per_core; }
    /// Other limits of families: other parts.
    void forget_costs() { memo_.clear(); }

private:
    template <class Judge>
    std::int64_t pack(const ChosenOptions& trial, const Judge& judge) {
        return with_tasks(trial, [&](const Tasks& tasks) {
            Workload workload = measure_workload(tasks, target_, chip_.timing);
            workload.core_elems = static_cast<std::int64_t>(target_.core.local_memory_bytes) * 2 / 3;
            const auto packing = smallest_packing(tasks, workload, pack_filling);
            return packing ? judge(tasks, workload, *packing) : no_packing;
        });
    }

    /// The draft under the chosen mappings, without the matrices' contents.
    template <class Judge>
    std::int64_t with_tasks(const ChosenOptions& trial, const Judge& judge) {
        Draft draft = draft_;
        const std::vector<MappingChoice> choices = trial.choices();
        std::vector<MappingChoice> layer_choice;
        std::size_t next = 0;
        for (const DraftFamily& family : draft.families) layer_choice.push_back(family.matrix == no_id ? MappingChoice{} : choices[next++]);
        map_matrices(draft, chip_, choices, false);
        TasksColumns columns = assemble(draft);
        memo_.set(columns, draft.families, layer_choice, [&](FamilyId id) { return family_cost(columns, id, chip_); });
        finish_lanes(columns, chip_, options_);
        const Tasks tasks = view(columns);
        return tasks.lanes.empty() ? 0 : judge(tasks);
    }

    const Draft& draft_;
    const ChipFacts& chip_;
    const Target& target_;
    PrepareOptions options_;
    CostMemo memo_;
};

/// Trial packings that one improvement may take, and how many in vain end the search.
constexpr int most_trials = 480;
constexpr int most_vain_trials = 96;

/// Layer by layer, those of most work first, a layer's neighbouring options replace its own where the whole packs into less time.
template <class Pack>
void improve(ChosenOptions& best, const Pack& pack) {
    std::vector<std::size_t> order(best.layers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return best.layers[a][best.chosen[a]].work_ns > best.layers[b][best.chosen[b]].work_ns;
    });
    int trials = 0;
    int vain = 0;
    bool moved = true;
    while (moved) {
        moved = false;
        for (const std::size_t layer : order) {
            const auto own = static_cast<std::ptrdiff_t>(best.chosen[layer]);
            for (const std::ptrdiff_t distance : {1, -1, 2, -2, 3, -3, 4, -4}) {
                const std::ptrdiff_t other = own + distance;
                if (other < 0 || other >= std::ssize(best.layers[layer])) continue;
                if (trials++ == most_trials || vain++ == most_vain_trials) return;
                const std::size_t kept = std::exchange(best.chosen[layer], static_cast<std::size_t>(other));
                const std::int64_t ns = pack(best);
                if (ns >= best.score_ns) {
                    best.chosen[layer] = kept;
                    continue;
                }
                best.score_ns = ns;
                moved = true;
                vain = 0;
            }
        }
    }
}

/// Several ways to share out the chip, distinct, those that pack best first.
std::vector<ChosenOptions> compare_policies(const Draft& draft, ChipFacts chip, const Target& target, const PrepareOptions& options) {
    TrialPacker packer(draft, chip, target, options);
    const std::vector<std::uint32_t> shares = crossbar_shares(options);
    const bool single = options.family_crossbars != 0 && shares.size() == 1;
    std::vector<ChosenOptions> found;
    ChosenOptions trial;
    const auto map_for = [&](std::uint32_t size) {
        trial.family_crossbars = chip.family_crossbars = size;
        trial.layers = all_options(draft, chip, options.widest_window);
        packer.forget_costs();
    };
    const auto compare = [&](std::uint32_t share) {
        trial.chosen = choose_options(trial.layers, {chip.core_count, chip.crossbars_per_core, share, other_work_ns(draft, chip)});
        const bool known = std::any_of(found.begin(), found.end(), [&](const ChosenOptions& other) {
            return other.family_crossbars == trial.family_crossbars && other.chosen == trial.chosen;
        });
        if (known) return;
        trial.score_ns = single ? 0 : packer.score(trial, Score::estimated);
        found.push_back(trial);
    };
    map_for(family_sizes(options, chip, false).front());
    const bool fine = fill_the_chip(trial.layers, chip);
    for (const std::uint32_t size : family_sizes(options, chip, fine)) {
        if (size != trial.family_crossbars) map_for(size);
        for (const std::uint32_t share : shares) compare(share);
    }
    const auto packs_better = [](const ChosenOptions& a, const ChosenOptions& b) { return a.score_ns < b.score_ns; };
    // Weights that nearly fill the chip: families of whole cores leave nothing over.
    if (std::min_element(found.begin(), found.end(), packs_better)->score_ns == no_packing && options.family_crossbars == 0) {
        map_for(chip.crossbars_per_core);
        compare(100);
    }
    std::stable_sort(found.begin(), found.end(), packs_better);
    return found;
}

/// Of how many ways to share out the chip each guide improves the mappings.
constexpr std::size_t most_starts = 2;

/// The best ones and, where there are more than two sizes of families, the best one of each.
std::vector<const ChosenOptions*> starting_points(const std::vector<ChosenOptions>& found) {
    std::set<std::uint32_t> sizes;
    for (const ChosenOptions& one : found) sizes.insert(one.family_crossbars);
    const bool every_size = sizes.size() > 2;
    std::vector<const ChosenOptions*> starts;
    for (const ChosenOptions& one : found) {
        if (one.score_ns == no_packing) break;
        const bool first_of_size = sizes.erase(one.family_crossbars) != 0;
        if (starts.size() < most_starts || (every_size && first_of_size)) starts.push_back(&one);
    }
    return starts;
}

/// The size of families and the mappings with the shortest estimated time of one inference.
ChosenMappings choose_latency_mappings(const Draft& draft, ChipFacts& chip, const PrepareOptions& options, TrialPacker& packer) {
    std::vector<std::uint32_t> sizes;
    for (const std::uint32_t share : {24, 16, 10, 6, 4, 3, 2, 1}) sizes.push_back(std::max(1U, chip.crossbars_per_core * share / 24));
    if (options.family_crossbars != 0) sizes.assign(1, std::min(options.family_crossbars, chip.crossbars_per_core));
    // What the choice leaves goes to further copies.
    std::vector<std::uint32_t> shares{80, 50};
    if (options.crossbar_percent != 0) shares.assign(1, options.crossbar_percent);
    std::uint32_t lanes_per_core = options.lanes_per_core;
    std::vector<std::int64_t> exchange_ns;
    for (const DraftFamily& family : draft.families) {
        if (family.matrix == no_id) continue;
        std::uint32_t elems = 0;
        const auto add = [&](std::uint32_t tensor) { elems += draft.tensors[tensor].rows * draft.tensors[tensor].columns * draft.tensors[tensor].channels; };
        add(family.row.output);
        for (std::uint32_t slot = 0; slot < family.body_inputs; ++slot) add(family.inputs[slot]);
        exchange_ns.push_back(3 * chip.timing.copy_ns(elems));     // read, flits and write
    }
    ChosenOptions best;
    for (const std::uint32_t size : sizes) {
        chip.family_crossbars = size;
        packer.forget_costs();
        ChosenOptions trial{all_options(draft, chip, options.widest_window), {}, no_packing, size};
        for (const std::uint32_t share : shares) {
            trial.chosen = choose_for_latency(trial.layers, exchange_ns, {chip.core_count, chip.crossbars_per_core, share, 0});
            // Fine lanes share out better, and make more messages.
            for (const std::uint32_t fineness : {1U, 3U}) {
                packer.cut_lanes_by(fineness * options.lanes_per_core);
                trial.score_ns = packer.latency_ns(trial);
                if (best.family_crossbars != 0 && trial.score_ns >= best.score_ns) continue;
                best = trial;
                lanes_per_core = fineness * options.lanes_per_core;
            }
        }
    }
    chip.family_crossbars = best.family_crossbars;
    return {best.choices(), lanes_per_core};
}

/// Calls `work` for all of `items` side by side; their results in order.
template <class Item, class Work>
auto side_by_side(const std::vector<Item>& items, const Work& work) {
    std::vector<std::future<decltype(work(items.front()))>> pending;
    for (const Item& item : items) pending.push_back(std::async(std::launch::async | std::launch::deferred, [&work, &item] { return work(item); }));
    std::vector<decltype(work(items.front()))> results;
    for (auto& one : pending) results.push_back(one.get());
    return results;
}

/// For many inferences on their way. Searches with different starts and guides; what refinement makes of their results decides.
ChosenOptions choose_throughput_mappings(const Draft& draft, const ChipFacts& chip, const Target& target, const PrepareOptions& options) {
    struct Search {
        const ChosenOptions* start;
        Score guide;
    };
    const std::vector<ChosenOptions> starts = compare_policies(draft, chip, target, options);
    // Nothing to compare where the options name one policy, or where nothing packs.
    if (starts.front().score_ns == 0 || starts.front().score_ns == no_packing) return starts.front();
    std::vector<Search> searches;
    for (const ChosenOptions* start : starting_points(starts)) {
        for (const Score guide : {Score::estimated, Score::exact}) searches.push_back({start, guide});
    }
    const auto facts_for = [&](const ChosenOptions& chosen) {
        ChipFacts facts = chip;
        facts.family_crossbars = chosen.family_crossbars;
        return facts;
    };
    std::vector<ChosenOptions> found;
    for (ChosenOptions& one : side_by_side(searches, [&](const Search& search) {
             const ChipFacts facts = facts_for(*search.start);
             TrialPacker packer(draft, facts, target, options);
             ChosenOptions improved = *search.start;
             improved.score_ns = packer.score(improved, search.guide);
             improve(improved, [&](const ChosenOptions& trial) { return packer.score(trial, search.guide); });
             return improved;
         })) {
        const bool known = std::any_of(found.begin(), found.end(), [&](const ChosenOptions& other) {
            return other.family_crossbars == one.family_crossbars && other.chosen == one.chosen;
        });
        if (!known) found.push_back(std::move(one));
    }
    const std::vector<std::int64_t> refined_ns = side_by_side(found, [&](const ChosenOptions& chosen) {
        const ChipFacts facts = facts_for(chosen);
        return TrialPacker(draft, facts, target, options).refined_ns(chosen);
    });
    return found[static_cast<std::size_t>(std::min_element(refined_ns.begin(), refined_ns.end()) - refined_ns.begin())];
}

}  // namespace

ChosenMappings choose_mappings(const Draft& draft, ChipFacts& chip, const Target& target, const PrepareOptions& options) {
    if (options.mode == PrepareMode::latency) {
        TrialPacker packer(draft, chip, target, options);
        return choose_latency_mappings(draft, chip, options, packer);
    }
    const ChosenOptions best = choose_throughput_mappings(draft, chip, target, options);
    chip.family_crossbars = best.family_crossbars;
    return {best.choices(), options.lanes_per_core};
}

}  // namespace weft::preparation
