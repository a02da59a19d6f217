#include "frontier/graph_planner.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/failure.h"

namespace weft {
namespace {

constexpr std::uint32_t most_inputs = 8;

/// What a remembered format change or size is of; only ever looked up, never walked over.
struct ChangeKey {
    std::uint32_t value = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    bool operator==(const ChangeKey&) const = default;
};
struct ChangeHash {
    std::size_t operator()(const ChangeKey& key) const {
        const std::uint64_t mixed = (key.value * 0x9e3779b97f4a7c15ULL ^ key.from) * 0x9e3779b97f4a7c15ULL ^ key.to;
        return static_cast<std::size_t>(mixed * 0x9e3779b97f4a7c15ULL >> 16U);
    }
};

/// One decision of a state's history.
struct Step {
    std::uint32_t parent = no_id;
    std::uint32_t plan = no_id;
    std::uint32_t first_conversion = 0;
    std::uint32_t conversion_count = 0;
};

struct State {
    PlanObjectives objectives;
    std::uint32_t step = no_id;
    std::uint32_t first_format = 0;   // into the layer's formats: one per live value
};

/// States after one operator: a format per live value each.
struct Layer {
    std::vector<std::uint32_t> live;      // values, ascending
    std::vector<State> states;
    std::vector<std::uint32_t> formats;   // states x live

    [[nodiscard]] std::span<const std::uint32_t> formats_of(const State& state) const {
        return std::span(formats).subspan(state.first_format, live.size());
    }
};

class GraphPlanner {
public:
    GraphPlanner(const PlanProblem& problem, const PlanFits& fits, const PlannerOptions& options)
        : problem_(problem), fits_(fits), options_(options), last_use_(problem.value_producer.size(), 0) {
        for (std::uint32_t op = 0; op < problem_.operator_count(); ++op) {
            const auto inputs = inputs_of(op);
            WEFT_CHECK(inputs.size() <= most_inputs);
            for (const std::uint32_t value : inputs) last_use_[value] = op;
        }
    }

    std::vector<GraphPlan> run() {
        Layer layer;
        for (std::uint32_t value = 0; value < last_use_.size(); ++value) {
            if (problem_.value_producer[value] == no_id) layer.live.push_back(value);
        }
        layer.formats.assign(layer.live.size(), any_format);
        layer.states.push_back({});
        for (std::uint32_t op = 0; op < problem_.operator_count(); ++op) {
            layer = advance(layer, op);
            counts.widest = std::max(counts.widest, static_cast<std::uint32_t>(layer.states.size()));
            if (layer.states.empty()) {
                counts.stuck_operator = op;
                return {};
            }
        }
        return finish(layer);
    }

    PlannerCounts counts;

private:
    [[nodiscard]] std::span<const std::uint32_t> inputs_of(std::uint32_t op) const {
        return std::span(problem_.inputs).subspan(problem_.first_input[op], problem_.first_input[op + 1] - problem_.first_input[op]);
    }

    [[nodiscard]] bool lives_after(std::uint32_t value, std::uint32_t op) const {
        return problem_.value_kept[value] != 0 || last_use_[value] > op;
    }

    const FormatChange& change(std::uint32_t value, std::uint32_t from, std::uint32_t to) {
        const auto [at, added] = changes_.try_emplace(ChangeKey{value, from, to});
        if (added) {
            at->second = problem_.change(value, from, to);
            ++counts.changes;
        }
        return at->second;
    }

    MemoryBytes bytes(std::uint32_t value, std::uint32_t format) {
        if (format == any_format) return {};
        const auto [at, added] = bytes_.try_emplace(ChangeKey{value, format, 0});
        if (added) at->second = problem_.bytes(value, format);
        return at->second;
    }

    Layer advance(const Layer& before, std::uint32_t op);
    void expand(const Layer& before, const State& state, std::uint32_t op, std::uint32_t plan, Layer& after);
    void prune(Layer& layer, std::size_t cap);
    std::vector<GraphPlan> finish(const Layer& layer) const;

    const PlanProblem& problem_;
    const PlanFits& fits_;
    const PlannerOptions& options_;
    std::vector<std::uint32_t> last_use_;
    std::unordered_map<ChangeKey, FormatChange, ChangeHash> changes_;
    std::unordered_map<ChangeKey, MemoryBytes, ChangeHash> bytes_;
    std::vector<Step> steps_;
    std::vector<ChosenConversion> conversions_;
    // Scratch of expand().
    std::vector<std::uint32_t> formats_;
};

struct Peak {
    MemoryBytes now;
    void add(MemoryBytes bytes) {
        now.first += bytes.first;
        now.second += bytes.second;
        now.large += bytes.large;
    }
    void remove(MemoryBytes bytes) {
        now.first -= bytes.first;
        now.second -= bytes.second;
        now.large -= bytes.large;
    }
    void note(PlanObjectives& objectives, MemoryBytes temporary) const {
        objectives.peak_first = std::max(objectives.peak_first, now.first + temporary.first);
        objectives.peak_second = std::max(objectives.peak_second, now.second + temporary.second);
        objectives.peak_large = std::max(objectives.peak_large, now.large + temporary.large);
        objectives.peak_both =
            std::max(objectives.peak_both, now.first + now.second + temporary.first + temporary.second);
    }
};

void GraphPlanner::expand(const Layer& before, const State& state, std::uint32_t op, std::uint32_t plan_row, Layer& after) {
    const OperatorPlan& plan = problem_.plans[plan_row];
    const auto inputs = inputs_of(op);
    const auto old_formats = before.formats_of(state);
    formats_.assign(old_formats.begin(), old_formats.end());
    PlanObjectives objectives = state.objectives;
    Peak peak;
    for (std::size_t i = 0; i < before.live.size(); ++i) peak.add(bytes(before.live[i], formats_[i]));

    // Inputs that must change format, each distinct (value, format) once.
    struct Pending {
        std::uint32_t slot;
        std::size_t live_index;
        std::uint32_t to;
        bool choice;   // later consumers exist: keep the old format or replace it
    };
    std::array<Pending, most_inputs> pending{};
    std::uint32_t pending_count = 0;
    std::uint32_t choices = 0;
    for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
        const std::uint32_t to = problem_.plan_formats[plan.first_format + slot];
        const auto at = static_cast<std::size_t>(std::ranges::lower_bound(before.live, inputs[slot]) - before.live.begin());
        if (to == any_format || formats_[at] == to) continue;
        if (formats_[at] == any_format) {   // a network input takes the first format that is asked for
            formats_[at] = to;
            peak.add(bytes(inputs[slot], to));
            continue;
        }
        const bool repeated = std::any_of(pending.begin(), pending.begin() + pending_count,
                                          [&](const Pending& p) { return p.live_index == at && p.to == to; });
        if (repeated) continue;
        const FormatChange& cost = change(inputs[slot], formats_[at], to);
        if (!cost.possible) return;
        const bool choice = lives_after(inputs[slot], op);
        choices += choice ? 1 : 0;
        pending[pending_count++] = {slot, at, to, choice};
    }
    peak.note(objectives, {});
    for (std::uint32_t i = 0; i < pending_count; ++i) {
        const std::uint32_t value = before.live[pending[i].live_index];
        const FormatChange& cost = change(value, formats_[pending[i].live_index], pending[i].to);
        objectives.cycles += cost.cycles;
        objectives.row_bytes += cost.row_bytes;
        objectives.largest = std::max(objectives.largest, cost.largest);
        peak.add(bytes(value, pending[i].to));
        peak.note(objectives, cost.temporary);
    }
    objectives.cycles += plan.cycles;
    objectives.row_bytes += plan.row_bytes;
    objectives.largest = std::max(objectives.largest, plan.largest);
    objectives.resident_first += plan.resident.first;
    objectives.resident_second += plan.resident.second;
    objectives.resident_large += plan.resident.large;

    for (std::uint32_t mask = 0; mask < (1U << choices); ++mask) {
        ++counts.expanded;
        PlanObjectives result = objectives;
        Peak running = peak;
        std::vector<std::uint32_t> formats = formats_;
        std::uint32_t bit = 0;
        Step step{state.step, plan_row, static_cast<std::uint32_t>(conversions_.size()), pending_count};
        for (std::uint32_t i = 0; i < pending_count; ++i) {
            const Pending& p = pending[i];
            const std::uint32_t from = formats_[p.live_index];
            const bool replace = p.choice ? ((mask >> bit++) & 1U) != 0 : true;
            if (replace && formats[p.live_index] == from) {
                // The old copy goes as soon as the new one is there; the last one asked for stays.
                running.remove(bytes(before.live[p.live_index], from));
                formats[p.live_index] = p.to;
            }
            conversions_.push_back({op, p.slot, from, p.to, replace ? 1U : 0U});
        }
        running.add(bytes(problem_.output[op], plan.output_format));
        running.note(result, plan.temporary);
        if (!fits_(result)) {
            ++counts.infeasible;
            conversions_.resize(step.first_conversion);
            PlanObjectives& least = counts.stuck_least;
            if (counts.stuck_operator != op) {
                counts.stuck_operator = op;
                least = result;
            }
            least.cycles = std::min(least.cycles, result.cycles);
            least.peak_first = std::min(least.peak_first, result.peak_first);
            least.peak_second = std::min(least.peak_second, result.peak_second);
            least.peak_both = std::min(least.peak_both, result.peak_both);
            least.largest = std::min(least.largest, result.largest);
            least.row_bytes = std::min(least.row_bytes, result.row_bytes);
            least.resident_first = std::min(least.resident_first, result.resident_first);
            least.resident_second = std::min(least.resident_second, result.resident_second);
            least.peak_large = std::min(least.peak_large, result.peak_large);
            least.resident_large = std::min(least.resident_large, result.resident_large);
            continue;
        }
        const auto first = static_cast<std::uint32_t>(after.formats.size());
        for (const std::uint32_t value : after.live) {
            if (value == problem_.output[op]) {
                after.formats.push_back(plan.output_format);
                continue;
            }
            const auto at = static_cast<std::size_t>(std::ranges::lower_bound(before.live, value) - before.live.begin());
            after.formats.push_back(formats[at]);
        }
        steps_.push_back(step);
        after.states.push_back({result, static_cast<std::uint32_t>(steps_.size() - 1), first});
    }
}

Layer GraphPlanner::advance(const Layer& before, std::uint32_t op) {
    Layer after;
    for (const std::uint32_t value : before.live) {
        if (lives_after(value, op)) after.live.push_back(value);
    }
    after.live.insert(std::ranges::lower_bound(after.live, problem_.output[op]), problem_.output[op]);
    // Many plans times many states: prune in between, so that the layer stays small. Dominance is transitive, so this
    // changes nothing but the memory needed.
    constexpr std::size_t chunk = 1U << 16U;
    std::size_t pruned_at = chunk;
    for (const State& state : before.states) {
        for (std::uint32_t plan = problem_.first_plan[op]; plan < problem_.first_plan[op + 1]; ++plan) expand(before, state, op, plan, after);
        if (options_.retention && after.states.size() > pruned_at) {
            prune(after, after.states.size());
            pruned_at = 2 * after.states.size() + chunk;
        }
    }
    const bool last_operator = op + 1 == problem_.operator_count();
    if (options_.retention) prune(after, last_operator ? std::max(options_.width, options_.finalists) : options_.width);
    return after;
}

void GraphPlanner::prune(Layer& layer, std::size_t cap) {
    // Dense signatures by content: equal formats of all live values. Their numbers carry no order.
    const auto formats = [&](std::uint32_t index) { return layer.formats_of(layer.states[index]); };
    const auto hash = [&](std::uint32_t index) {
        std::uint64_t mixed = 0;
        for (const std::uint32_t format : formats(index)) mixed = (mixed ^ format) * 0x9e3779b97f4a7c15ULL ^ mixed >> 29U;
        return static_cast<std::size_t>(mixed);
    };
    const auto equal = [&](std::uint32_t a, std::uint32_t b) { return std::ranges::equal(formats(a), formats(b)); };
    std::unordered_map<std::uint32_t, std::uint32_t, decltype(hash), decltype(equal)> signatures(1024, hash, equal);   // first state with these formats
    std::vector<std::uint32_t> signature(layer.states.size(), 0);
    std::vector<std::uint32_t> family(layer.states.size(), 0);
    std::vector<std::uint32_t> family_of_signature;
    std::map<std::vector<std::uint32_t>, std::uint32_t> families;
    // States of one family of formats that leave much or little memory to later operators are no alternatives to each other.
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> levels;
    for (std::uint32_t index = 0; index < layer.states.size(); ++index) {
        const auto [at, added] = signatures.try_emplace(index, static_cast<std::uint32_t>(family_of_signature.size()));
        if (added) {
            std::vector<std::uint32_t> key;
            for (const std::uint32_t format : formats(index)) key.push_back(format == any_format ? no_id : problem_.format_family[format]);
            family_of_signature.push_back(families.try_emplace(std::move(key), static_cast<std::uint32_t>(families.size())).first->second);
        }
        signature[index] = at->second;
        const PlanObjectives& o = layer.states[index].objectives;
        const std::uint64_t level = options_.resident_step == 0 ? 0 : (o.resident_first + o.resident_second) / options_.resident_step;
        family[index] = levels.try_emplace({family_of_signature[at->second], level}, static_cast<std::uint32_t>(levels.size())).first->second;
    }
    std::vector<std::uint64_t> objectives;
    objectives.reserve(layer.states.size() * PlanObjectives::count);
    for (const State& state : layer.states) {
        for (const std::uint64_t value : state.objectives.array()) objectives.push_back(value);
    }
    const std::vector<std::uint32_t> kept = retain({objectives, PlanObjectives::count, signature, family}, cap, &counts.retention);
    Layer smaller;
    smaller.live = layer.live;
    for (const std::uint32_t index : kept) {
        State state = layer.states[index];
        const auto of_state = layer.formats_of(state);
        state.first_format = static_cast<std::uint32_t>(smaller.formats.size());
        smaller.formats.insert(smaller.formats.end(), of_state.begin(), of_state.end());
        smaller.states.push_back(state);
    }
    layer = std::move(smaller);
}

std::vector<GraphPlan> GraphPlanner::finish(const Layer& layer) const {
    std::vector<std::uint32_t> order(layer.states.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t index) { return layer.states[index].objectives; });
    if (order.size() > options_.finalists) order.resize(options_.finalists);
    std::vector<GraphPlan> plans;
    for (const std::uint32_t index : order) {
        GraphPlan plan;
        plan.objectives = layer.states[index].objectives;
        for (std::uint32_t at = layer.states[index].step; at != no_id; at = steps_[at].parent) {
            plan.plan.push_back(steps_[at].plan);
            for (std::uint32_t i = steps_[at].conversion_count; i > 0; --i) {
                plan.conversions.push_back(conversions_[steps_[at].first_conversion + i - 1]);
            }
        }
        std::ranges::reverse(plan.plan);
        std::ranges::reverse(plan.conversions);
        plans.push_back(std::move(plan));
    }
    return plans;
}

}  // namespace

std::vector<GraphPlan> plan_graph(const PlanProblem& problem, const PlanFits& fits, const PlannerOptions& options, PlannerCounts* counts) {
    GraphPlanner planner(problem, fits, options);
    std::vector<GraphPlan> plans = planner.run();
    if (!plans.empty()) planner.counts.stuck_operator = no_id;
    if (counts != nullptr) *counts = planner.counts;
    return plans;
}

}  // namespace weft
