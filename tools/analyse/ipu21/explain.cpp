#include "analyse/ipu21/explain.h"

#include <algorithm>

#include "base/checked.h"
#include "ipu21/check_choice.h"
#include "ipu21/exchange_counters.h"
#include "ipu21/gemm_cost.h"
#include "ipu21/gemm_kernels.h"
#include "ipu21/row_exchange.h"

namespace weft::ipu21 {
namespace {

std::int64_t to_signed(std::uint64_t cycles) { return static_cast<std::int64_t>(cycles); }

class Explainer {
public:
    Explainer(const Tasks& tasks, const Schedule& schedule, const Target& target)
        : tasks_(tasks), schedule_(schedule), target_(target), topology_(target), model_(target, nullptr) {
        if (target.family != TargetFamily::Ipu21 || schedule_.tile_estimate.empty()) bad_input("the schedule is not one for tile processors");
        check_choice(tasks_, schedule_, target_);
    }

    Explanation run() {
        Explanation result;
        result.cycles = schedule_.tile_estimate[0].cycles;
        std::int64_t sum = 0;
        for (std::uint32_t op = 0; op < tasks_.tile_operators.size(); ++op) {
            const TileOperator& row = tasks_.tile_operators[op];
            const TilePlan& plan = tasks_.tile_plans[schedule_.plan_choice[op]];
            parts_.clear();
            add_conversions(op);
            if (static_cast<TileOperatorKind>(row.kind) == TileOperatorKind::Gemm) add_gemm(op, row, plan);
            else add_other(op, plan);
            for (const CostPart& part : parts_) sum += part.cycles;
            result.operators.push_back({std::string(pool_text(tasks_.name_pool, row.name)), std::string(pool_text(tasks_.name_pool, plan.key)), std::move(parts_)});
        }
        if (sum != to_signed(result.cycles)) bad_input("the parts add up to {} cycles and the schedule's estimate is {}: it was made by other rules", sum, result.cycles);
        return result;
    }

private:
    void add(CostComponent component, std::string_view name, std::int64_t cycles, std::string drivers) {
        if (cycles == 0) return;
        parts_.push_back({component, std::string(name), cycles, std::move(drivers)});
    }

    [[nodiscard]] std::uint64_t exchange_of(std::uint32_t op, const TilePlan& plan) const {
        return schedule_.plan_exchange_cycles.empty() ? plan.exchange_cycles : schedule_.plan_exchange_cycles[op];
    }

    void add_launches(const TilePlan& plan) {
        const std::uint64_t launches = std::uint64_t{plan.calls} * target_.ipu21.launch_cycles;
        add(CostComponent::Launch, "kernel launches", to_signed(launches), fmt::format("{} of {}", plan.calls, target_.ipu21.launch_cycles));
        add(CostComponent::Launch, "phase boundaries", to_signed(plan.launch_cycles - launches), fmt::format("{} phases", plan.phases));
    }

    void add_conversions(std::uint32_t op) {
        for (std::size_t row = 0; row < schedule_.conversions.size(); ++row) {
            const TileConversion& c = schedule_.conversions[row];
            if (c.operator_index != op) continue;
            const std::uint32_t value = tasks_.tile_inputs[tasks_.tile_operators[op].first_input + c.input];
            const MatrixShape shape{tasks_.tile_values[value].rows, tasks_.tile_values[value].columns};
            const TileLayout& from = tasks_.tile_layouts[c.from_layout];
            const TileLayout& to = tasks_.tile_layouts[c.to_layout];
            const ConversionCost cost = estimate_conversion(target_, shape, from, to);
            const std::uint64_t exchange = schedule_.conversion_cycles.empty() ? cost.exchange_cycles : schedule_.conversion_cycles[row];
            const std::string change = fmt::format("{} x {} x {} to {} x {} x {} parts", from.row_parts, from.column_parts, from.replicas, to.row_parts,
                                                   to.column_parts, to.replicas);
            add(CostComponent::Exchange, "input moved", to_signed(exchange), fmt::format("{}{}", change, phase_drivers(cost, shape, from, to)));
            add(CostComponent::Staging, "input repacked", to_signed(cost.staging_cycles), fmt::format("{} bytes a tile", shard_bytes(to, shape)));
            add(CostComponent::Launch, "moves of inputs", to_signed(cost.launch_cycles), fmt::format("{} phases", cost.phases));
        }
    }

    [[nodiscard]] std::string phase_drivers(const ConversionCost& cost, MatrixShape shape, const TileLayout& from, const TileLayout& to) const {
        if (cost.phases == 0) return "";
        return ": " + phase_text(conversion_phase(target_, shape, from, to));
    }

    [[nodiscard]] std::string phase_text(const Phase& phase) const {
        const ExchangeCounters counters = count_exchange(topology_, phase);
        return fmt::format("{} transfers to at most {} tiles, a tile receives {} words and sends {}, {} tiles do both", counters.transfers,
                           counters.largest_fan_out, counters.tile_receive_words, counters.tile_send_words, counters.tiles_sending_and_receiving);
    }

    void add_gemm(std::uint32_t op, const TileOperator& row, const TilePlan& plan) {
        const TileLayout& input = tasks_.tile_layouts[tasks_.plan_layouts[plan.first_layout]];
        const GemmPlan gemm = gemm_plan(row, plan, input, target_.ipu21.amp_columns);
        add_gemm_local(row, plan, gemm);
        add_exchange(op, plan);
        add_launches(plan);
    }

    void add_gemm_local(const TileOperator& row, const TilePlan& plan, const GemmPlan& gemm) {
        std::uint64_t calls = 0;
        GemmCycles sum;
        std::string products;
        std::uint64_t known = 0;
        std::uint64_t staged = 0;
        std::string stages;
        for (const KernelUse& use : gemm_kernels(gemm, plan.staged_weights != 0)) {
            if (use.kind == KernelUse::Kind::Product) {
                const GemmCycles one = model_.analytical_gemm(use.call);
                calls += use.times;
                sum.call += one.call * use.times;
                sum.feed += one.feed * use.times;
                sum.load += one.load * use.times;
                products = fmt::format("{} of {} rows x K {} x {} columns", calls, use.call.rows, use.call.inner, use.call.columns);
            } else if (use.kind == KernelUse::Kind::Stage) {
                staged += model_.stage(use.bytes).cycles * use.times;
                stages = fmt::format("{} of {} bytes", use.times, use.bytes);
            } else {
                const std::uint64_t cycles = model_.reduce(use.bytes).cycles * use.times;
                known += cycles;
                add(CostComponent::Local, "partial sums added", to_signed(cycles), fmt::format("{} of {} bytes", use.times, use.bytes));
            }
        }
        add(CostComponent::Local, "kernel calls", to_signed(sum.call), products);
        add(CostComponent::Local, "rows pass the unit", to_signed(sum.feed), products);
        add(CostComponent::Local, "operand is loaded", to_signed(sum.load), fmt::format("{}, {} memory", products, loads_interleaved(gemm, plan) ? "interleaved" : "standard"));
        known += sum.total();
        if (row.constant_elems != 0) {
            const std::uint64_t elems = shard_bytes(output_layout(gemm, TileMemory::Interleaved), {gemm.m, gemm.n}) / gemm.elem_bytes;
            const std::uint64_t bias = model_.pointwise(elems, gemm.elem_bytes).cycles;
            known += bias;
            add(CostComponent::Local, "bias added", to_signed(bias), fmt::format("{} elements", elems));
        }
        add(CostComponent::Local, "measured less modelled", to_signed(plan.local_cycles) - to_signed(known), "from the kernel records");
        add(CostComponent::Staging, "panel copies", to_signed(staged), stages);
        add(CostComponent::Staging, "copies measured less modelled", to_signed(plan.staging_cycles) - to_signed(staged), "from the kernel records");
    }

    static bool loads_interleaved(const GemmPlan& gemm, const TilePlan& plan) {
        return gemm.interleaved_weights || plan.staged_weights != 0 || gemm.distribution != Distribution::ParallelReduction;
    }

    /// Phases by what they move; what the plan was charged beyond its schedules stands apart.
    void add_exchange(std::uint32_t op, const TilePlan& plan) {
        const std::uint64_t charged = exchange_of(op, plan);
        if (charged == 0) return;
        const std::vector<PlannedPhase> phases = operator_phases(tasks_, op, plan, target_);
        std::uint64_t scheduled = 0;
        for (const PhaseRole role : {PhaseRole::Weights, PhaseRole::Reduction, PhaseRole::Attention}) {
            std::uint64_t cycles = 0;
            std::uint64_t count = 0;
            std::string text;
            for (const PlannedPhase& planned : phases) {
                if (planned.role != role) continue;
                cycles += schedule_phase(target_, topology_, planned.phase).cycles;
                ++count;
                if (text.empty()) text = phase_text(planned.phase);
            }
            if (count == 0) continue;
            scheduled += cycles;
            add(CostComponent::Exchange, to_text(role), to_signed(cycles), fmt::format("{} phases, the first: {}", count, text));
        }
        add(CostComponent::Exchange, "estimated less scheduled", to_signed(charged) - to_signed(scheduled), "closed form, not scheduled");
    }

    void add_other(std::uint32_t op, const TilePlan& plan) {
        add(CostComponent::Local, "kernel", to_signed(plan.local_cycles), fmt::format("on {} tiles", plan.tiles));
        add_exchange(op, plan);
        add(CostComponent::Staging, "copies", to_signed(plan.staging_cycles), "");
        add_launches(plan);
    }

    const Tasks& tasks_;
    const Schedule& schedule_;
    const Target& target_;
    Topology topology_;
    KernelCosts model_;
    std::vector<CostPart> parts_;
};

/// Parts of both sides under one name and component, in the order of first appearance.
struct Pair {
    CostComponent component;
    std::string name;
    std::array<std::int64_t, 2> cycles{};
    std::array<std::string, 2> drivers;
};

std::vector<Pair> paired(const OperatorParts* mine, const OperatorParts* other) {
    std::vector<Pair> pairs;
    const std::array<const OperatorParts*, 2> sides{mine, other};
    for (const CostComponent component : {CostComponent::Local, CostComponent::Exchange, CostComponent::Staging, CostComponent::Launch}) {
        for (std::size_t side = 0; side < 2; ++side) {
            if (sides[side] == nullptr) continue;
            for (const CostPart& part : sides[side]->parts) {
                if (part.component != component) continue;
                auto at = std::ranges::find_if(pairs, [&](const Pair& p) { return p.component == component && p.name == part.name; });
                if (at == pairs.end()) at = pairs.insert(pairs.end(), Pair{component, part.name, {}, {}});
                at->cycles[side] += part.cycles;
                if (!at->drivers[side].empty()) at->drivers[side] += "; ";
                at->drivers[side] += part.drivers;
            }
        }
    }
    return pairs;
}

const OperatorParts* find_operator(const Explanation& explanation, const std::string& name) {
    const auto at = std::ranges::find(explanation.operators, name, &OperatorParts::name);
    return at == explanation.operators.end() ? nullptr : &*at;
}

}  // namespace

std::string_view to_text(CostComponent component) {
    switch (component) {
        case CostComponent::Local: return "local";
        case CostComponent::Exchange: return "exchange";
        case CostComponent::Staging: return "staging";
        case CostComponent::Launch: return "launch";
    }
    return "?";
}

std::int64_t Explanation::component(CostComponent wanted) const {
    std::int64_t sum = 0;
    for (const OperatorParts& op : operators) {
        for (const CostPart& part : op.parts) sum += part.component == wanted ? part.cycles : 0;
    }
    return sum;
}

Explanation explain(const Tasks& tasks, const Schedule& schedule, const Target& target) { return Explainer(tasks, schedule, target).run(); }

std::string explanation_table(const Explanation& explanation) {
    std::string text;
    for (const OperatorParts& op : explanation.operators) {
        text += fmt::format("{}: {}\n", op.name, op.plan);
        for (const Pair& pair : paired(&op, nullptr)) {
            text += fmt::format("  {:<9} {:<30} {:>11}  {}\n", to_text(pair.component), pair.name, pair.cycles[0], pair.drivers[0]);
        }
    }
    return text + fmt::format("all: {} cycles estimated = {} local + {} exchange + {} staging + {} launch\n", explanation.cycles,
                              explanation.component(CostComponent::Local), explanation.component(CostComponent::Exchange),
                              explanation.component(CostComponent::Staging), explanation.component(CostComponent::Launch));
}

std::string comparison_table(const Explanation& mine, const Explanation& other) {
    std::string text;
    std::vector<std::string> names;
    for (const Explanation* side : {&mine, &other}) {
        for (const OperatorParts& op : side->operators) {
            if (std::ranges::find(names, op.name) == names.end()) names.push_back(op.name);
        }
    }
    std::int64_t sum = 0;
    for (const std::string& name : names) {
        const OperatorParts* left = find_operator(mine, name);
        const OperatorParts* right = find_operator(other, name);
        text += fmt::format("{}\n  this:  {}\n  other: {}\n", name, left == nullptr ? "-" : left->plan, right == nullptr ? "-" : right->plan);
        text += fmt::format("  {:<9} {:<30} {:>11} {:>11} {:>11}\n", "component", "part", "this", "other", "difference");
        for (const Pair& pair : paired(left, right)) {
            const std::int64_t difference = pair.cycles[0] - pair.cycles[1];
            sum += difference;
            text += fmt::format("  {:<9} {:<30} {:>11} {:>11} {:>+11}\n", to_text(pair.component), pair.name, pair.cycles[0], pair.cycles[1], difference);
            for (std::size_t side = 0; side < 2; ++side) {
                if (!pair.drivers[side].empty()) text += fmt::format("  {:>45}  {}\n", side == 0 ? "this:" : "other:", pair.drivers[side]);
            }
        }
    }
    WEFT_CHECK(sum == to_signed(mine.cycles) - to_signed(other.cycles));
    text += "all\n";
    for (const CostComponent component : {CostComponent::Local, CostComponent::Exchange, CostComponent::Staging, CostComponent::Launch}) {
        const std::int64_t a = mine.component(component);
        const std::int64_t b = other.component(component);
        text += fmt::format("  {:<9} {:<30} {:>11} {:>11} {:>+11}\n", to_text(component), "", a, b, a - b);
    }
    return text + fmt::format("  {:<40} {:>11} {:>11} {:>+11}  (the sum of all parts)\n", "estimate", mine.cycles, other.cycles, sum);
}

nlohmann::ordered_json explanation_json(const Explanation& explanation) {
    nlohmann::ordered_json operators = nlohmann::ordered_json::array();
    for (const OperatorParts& op : explanation.operators) {
        nlohmann::ordered_json parts = nlohmann::ordered_json::array();
        for (const CostPart& part : op.parts) {
            parts.push_back({{"component", to_text(part.component)}, {"part", part.name}, {"cycles", part.cycles}, {"drivers", part.drivers}});
        }
        operators.push_back({{"operator", op.name}, {"plan", op.plan}, {"parts", parts}});
    }
    return {{"cycles", explanation.cycles}, {"operators", operators}};
}

}  // namespace weft::ipu21
