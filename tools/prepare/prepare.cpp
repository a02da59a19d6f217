#include "prepare/prepare.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/id.h"
#include "packing/packing.h"
#include "pim/kernel.h"
#include "pim/tiles.h"
#include "prepare/assemble.h"
#include "prepare/choose.h"
#include "prepare/cost.h"
#include "prepare/fusion.h"
#include "prepare/host_split.h"
#include "prepare/lanes.h"
#include "prepare/split.h"

namespace weft {
namespace {

using namespace preparation;

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

void set_costs(TasksColumns& columns, const ChipFacts& chip) {
    for (std::uint32_t id = 0; id < columns.families.size(); ++id) {
        const KernelCost cost = kernel_cost(view(columns), FamilyId(id), chip.timing);
        Family& family = columns.families[id];
        const TaskTensor& output = columns.tensors[family.output];
        const auto tiles = static_cast<std::int64_t>(TileGrid(family, output).tile_count());
        family.tile_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(1, ceil_divide(cost.total_ns, tiles)));
        family.scratch_elems = static_cast<std::uint32_t>(cost.scratch_elems);
    }
}

std::uint64_t total_work_ns(const TasksColumns& columns) {
    std::uint64_t sum = 0;
    for (const Family& family : columns.families) {
        const TaskTensor& output = columns.tensors[family.output];
        sum = checked_add(sum, checked_multiply(TileGrid(family, output).tile_count(), family.tile_ns));
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

/// One way to share out the chip: its crossbars, and how large families may be.
struct Policy {
    std::uint32_t crossbar_percent = 0;
    std::uint32_t family_crossbars = 0;
};

std::vector<Policy> policies(const PrepareOptions& options, const ChipFacts& chip) {
    std::vector<std::uint32_t> sizes{std::max(1U, chip.crossbars_per_core * 95 / 100), std::max(1U, chip.crossbars_per_core * 80 / 100)};
    if (options.family_crossbars != 0) sizes.assign(1, std::min(options.family_crossbars, chip.crossbars_per_core));
    std::vector<std::uint32_t> shares{90, 80, 70, 60, 50};
    if (options.crossbar_percent != 0) shares.assign(1, options.crossbar_percent);
    std::vector<Policy> list;
    for (const std::uint32_t size : sizes) {
        for (const std::uint32_t share : shares) list.push_back({share, size});
    }
    return list;
}

/// Windows of a pool that hang over the edge have fewer inputs, so that lanes of equally many positions differ.
void set_pool_work(TasksColumns& columns, const ChipFacts& chip) {
    for (Lane& lane : columns.lanes) {
        if (columns.families[lane.family].kind != static_cast<std::uint32_t>(FamilyKind::Pool)) continue;
        lane.work_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(1, kernel_ns(view(columns), FamilyId(lane.family), lane.first_tile, lane.tile_count, chip.timing)));
    }
}

/// Tasks without matrices' contents or lanes become tasks with lanes.
std::uint64_t finish_lanes(TasksColumns& columns, const ChipFacts& chip, const PrepareOptions& options) {
    set_costs(columns, chip);
    const std::uint64_t work_ns = total_work_ns(columns);
    const std::uint64_t default_lane_ns = work_ns / chip.core_count / std::max(1U, options.lanes_per_core);
    cut_lanes(columns, options.lane_ns != 0 ? options.lane_ns : default_lane_ns);
    set_pool_work(columns, chip);
    return work_ns;
}

constexpr std::int64_t no_packing = std::numeric_limits<std::int64_t>::max();

/// The busiest core of a packing of the draft under these choices and the mean of all cores, added: what packs well but makes more work leaves
/// less to even out. Very much where there is no packing.
std::int64_t packed_ns(Draft draft, const ChipFacts& chip, const Target& target, const PrepareOptions& options, const std::vector<MappingChoice>& choices) {
    map_matrices(draft, chip, choices, false);
    TasksColumns columns = assemble(std::move(draft));
    finish_lanes(columns, chip, options);
    const Tasks tasks = view(columns);
    if (tasks.lanes.empty()) return 0;
    Workload workload = measure_workload(tasks, target, chip.timing);
    workload.core_elems = static_cast<std::int64_t>(target.core.local_memory_bytes) * 2 / 3;
    const auto packing = smallest_packing(tasks, workload, pack_filling);
    return packing ? packing->limit_ns + workload.total_ns / workload.core_count : no_packing;
}

/// Options of every layer, one of which is chosen, and how the whole packs.
struct ChosenOptions {
    std::vector<std::vector<LayerOption>> layers;
    std::vector<std::size_t> chosen;
    std::int64_t packed_ns = 0;
    std::uint32_t family_crossbars = 0;

    [[nodiscard]] std::vector<MappingChoice> choices() const {
        std::vector<MappingChoice> list;
        for (std::size_t layer = 0; layer < layers.size(); ++layer) list.push_back(layers[layer][chosen[layer]].choice);
        return list;
    }
};

/// Trial packings that one improvement may take, and how many in vain end the search.
constexpr int most_trials = 240;
constexpr int most_vain_trials = 48;

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
                if (ns >= best.packed_ns) {
                    best.chosen[layer] = kept;
                    continue;
                }
                best.packed_ns = ns;
                moved = true;
                vain = 0;
            }
        }
    }
}

/// A mapping for every matrix family: of several ways to share out the chip the one that packs into the least time, improved layer by
/// layer. Least work alone misleads: crossbars and time have to run out together on every core. `chip` gets the size of families.
std::vector<MappingChoice> choose_mappings(const Draft& draft, ChipFacts& chip, const Target& target, const PrepareOptions& options) {
    const std::vector<Policy> list = policies(options, chip);
    const auto pack = [&](const ChosenOptions& trial) { return packed_ns(draft, chip, target, options, trial.choices()); };
    ChosenOptions best;
    ChosenOptions trial;
    std::vector<std::vector<std::size_t>> tried;
    const auto compare = [&](const Policy& policy) {
        if (trial.layers.empty() || policy.family_crossbars != chip.family_crossbars) {
            trial.family_crossbars = chip.family_crossbars = policy.family_crossbars;
            trial.layers = all_options(draft, chip, options.widest_window);
            tried.clear();
        }
        trial.chosen = choose_options(trial.layers, {chip.core_count, chip.crossbars_per_core, policy.crossbar_percent, other_work_ns(draft, chip)});
        if (std::find(tried.begin(), tried.end(), trial.chosen) != tried.end()) return;
        tried.push_back(trial.chosen);
        trial.packed_ns = list.size() == 1 ? 0 : pack(trial);
        if (best.family_crossbars == 0 || trial.packed_ns < best.packed_ns) best = trial;
    };
    for (const Policy& policy : list) compare(policy);
    // Weights that nearly fill the chip: families of whole cores leave nothing over.
    if (best.packed_ns == no_packing && options.family_crossbars == 0) compare({100, chip.crossbars_per_core});
    chip.family_crossbars = best.family_crossbars;
    if (list.size() > 1) improve(best, pack);
    return best.choices();
}

}  // namespace

TasksColumns prepare(const Graph& graph, const Target& target, const PrepareOptions& options) {
    const GraphIndex index(graph);
    ChipFacts chip(target, options.kernels);
    const HostSplit split = split_host(index, options.allow_host);
    Draft draft = draft_families(index, split);
    set_gaps(draft);
    build_moves(draft);
    const auto choices = choose_mappings(draft, chip, target, options);
    map_matrices(draft, chip, choices);
    TasksColumns columns = assemble(std::move(draft));
    const std::uint64_t work_ns = finish_lanes(columns, chip, options);
    columns.host_head = split.head;
    columns.host_tail = split.tail;
    columns.graph_hash_high = options.graph_hash.high;
    columns.graph_hash_low = options.graph_hash.low;
    columns.work_bound_ns = ceil_divide(work_ns, std::uint64_t{chip.core_count});
    return columns;
}

TaskFigures task_figures(const Tasks& tasks, const Target& target) {
    const ChipFacts chip(target);
    TaskFigures figures;
    figures.families = tasks.families.size();
    figures.strips = tasks.strips.size();
    figures.lanes = tasks.lanes.size();
    figures.demands = tasks.demands.size();
    figures.crossbars_available = std::uint64_t{chip.core_count} * chip.crossbars_per_core;
    for (std::uint32_t id = 0; id < tasks.families.size(); ++id) {
        const KernelCost cost = kernel_cost(tasks, FamilyId(id), chip.timing);
        figures.crossbars += tasks.families[id].crossbars;
        figures.mvmul_ns += static_cast<std::uint64_t>(cost.mvmul_ns);
        figures.copy_ns += static_cast<std::uint64_t>(cost.copy_ns);
        figures.other_ns += static_cast<std::uint64_t>(cost.total_ns - cost.mvmul_ns - cost.copy_ns);
    }
    for (const Lane& lane : tasks.lanes) figures.work_ns += lane.work_ns;
    return figures;
}

}  // namespace weft
