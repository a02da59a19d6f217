#include "schedule/ipu21/graph_planning.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/checked.h"
#include "ipu21/gemm_cost.h"
#include "ipu21/gemm_memory.h"
#include "ipu21/operand.h"
#include "ipu21/row_exchange.h"

namespace weft::ipu21 {
namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return ceil_divide(bytes, unit) * unit; }

/// Layouts are alike for the cap's diversity where only partition counts differ.
std::vector<std::uint32_t> format_families(const Tasks& tasks) {
    std::vector<std::uint32_t> families;
    for (const TileLayout& layout : tasks.tile_layouts) {
        const std::uint32_t shape = (layout.row_parts > 1 ? 1U : 0U) | (layout.column_parts > 1 ? 2U : 0U) | (layout.replicas > 1 ? 4U : 0U);
        const std::uint32_t order = layout.row_stride < layout.column_stride ? 1 : 0;
        families.push_back((((layout.order * 2 + layout.memory) * 8 + shape) * 2 + order) * 8 + layout.elem_bytes);
    }
    return families;
}

std::uint64_t plan_cycles(const TilePlan& plan) {
    return plan.local_cycles + plan.exchange_cycles + plan.staging_cycles + plan.launch_cycles;
}

/// Expected error of a finalist in cycles: the operators' errors are taken as independent.
std::uint64_t expected_error(const Tasks& tasks, const GraphPlan& plan, const std::vector<std::uint32_t>& row_of) {
    double squares = 0;
    for (const std::uint32_t row : plan.plan) {
        const TilePlan& chosen = tasks.tile_plans[row_of[row]];
        const double error = static_cast<double>(chosen.local_cycles) * chosen.error_ppm / 1e6;
        squares += error * error;
    }
    return static_cast<std::uint64_t>(std::llround(std::sqrt(squares)));
}

/// Moves the best known of the finalists that tie with the first one to the front.
void break_ties(const Tasks& tasks, const std::vector<std::uint32_t>& row_of, std::uint32_t tie_percent, std::vector<GraphPlan>& plans) {
    if (plans.empty()) return;
    std::size_t best = 0;
    const std::uint64_t first_error = expected_error(tasks, plans[0], row_of);
    std::uint64_t least = first_error;
    for (std::size_t i = 1; i < plans.size(); ++i) {
        const std::uint64_t error = expected_error(tasks, plans[i], row_of);
        const double combined = std::sqrt(static_cast<double>(first_error) * static_cast<double>(first_error) +
                                          static_cast<double>(error) * static_cast<double>(error));
        const double difference = static_cast<double>(plans[i].objectives.cycles - plans[0].objectives.cycles);
        if (difference * 100 > combined * tie_percent || error >= least) continue;
        least = error;
        best = i;
    }
    std::rotate(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(best), plans.begin() + static_cast<std::ptrdiff_t>(best) + 1);
}

/// Exchange of chosen plans, scheduled once each, phase by phase.
class PlanCosts {
public:
    PlanCosts(const Tasks& tasks, const Target& target) : tasks_(tasks), target_(target), topology_(target), known_(tasks.tile_plans.size(), unknown) {
        for (std::size_t row = 0; row < known_.size(); ++row) exchange_.push_back(tasks.tile_plans[row].exchange_cycles);
    }
    [[nodiscard]] std::uint64_t exchange_cycles(std::uint32_t row) const { return exchange_[row]; }
    [[nodiscard]] std::uint64_t cycles(std::uint32_t row) const {
        const TilePlan& plan = tasks_.tile_plans[row];
        return plan.local_cycles + exchange_[row] + plan.staging_cycles + plan.launch_cycles;
    }
    /// False where it was scheduled before or exchanges nothing.
    bool schedule(std::uint32_t op_id, std::uint32_t row) {
        const TilePlan& plan = tasks_.tile_plans[row];
        if (known_[row] != unknown || plan.phases == 0) return false;
        exchange_[row] = 0;
        for (const PlannedPhase& planned : operator_phases(tasks_, op_id, plan, target_)) exchange_[row] += schedule_phase(target_, topology_, planned.phase).cycles;
        known_[row] = scheduled;
        return exchange_[row] != plan.exchange_cycles;
    }

private:
    static constexpr std::uint8_t unknown = 0;
    static constexpr std::uint8_t scheduled = 1;
    const Tasks& tasks_;
    const Target& target_;
    Topology topology_;
    std::vector<std::uint64_t> exchange_;
    std::vector<std::uint8_t> known_;
};

ScheduleColumns schedule_of(const GraphPlan& plan, const std::vector<std::uint32_t>& row_of, const Tasks& tasks, const Target& target,
                            ConversionCosts& costs, const PlanCosts& exchanges, Hash128 tasks_hash, std::size_t rank) {
    ScheduleColumns schedule;
    schedule.mode = ScheduleMode::Latency;
    schedule.strategy = rank == 0 ? "least-estimate" : fmt::format("finalist-{}", rank);
    for (const std::uint32_t row : plan.plan) {
        schedule.plan_choice.push_back(row_of[row]);
        schedule.plan_exchange_cycles.push_back(exchanges.exchange_cycles(row_of[row]));
    }
    for (const ChosenConversion& c : plan.conversions) {
        schedule.conversions.push_back({c.operator_index, c.input, c.from, c.to, c.replaces});
        const std::uint32_t value = tasks.tile_inputs[tasks.tile_operators[c.operator_index].first_input + c.input];
        schedule.conversion_cycles.push_back(costs.exchange_cycles(value, c.from, c.to));
    }
    const PlanObjectives& o = plan.objectives;
    schedule.tile_estimate.push_back({o.cycles, o.peak_first + o.resident_first, o.peak_second + o.resident_second,
                                      o.peak_both + o.resident_first + o.resident_second, o.largest, o.row_bytes});
    const auto ns = static_cast<std::uint64_t>(multiply_divide(static_cast<std::int64_t>(o.cycles), 1'000'000'000, static_cast<std::int64_t>(target.ipu21.clock_hz)));
    schedule.core_work_ns.push_back(ns);
    schedule.core_crossbars.push_back(0);
    schedule.core_first = {0, 0};
    schedule.critical_path_ns = ns;
    schedule.completion_ns = ns;
    schedule.slots_per_round = 1;
    schedule.stage_count = 1;
    schedule.tasks_hash_high = tasks_hash.high;
    schedule.tasks_hash_low = tasks_hash.low;
    return schedule;
}

[[noreturn]] void refuse_stuck(const Tasks& tasks, const Target& target, const PlannerCounts& counts) {
    const PlanObjectives& o = counts.stuck_least;
    const TileOperator& op = tasks.tile_operators[counts.stuck_operator];
    refuse("no choice of plans fits the tiles: after operator '{}' a tile needs at least {} bytes standard and {} interleaved ({} together) "
           "besides {} bytes of exchange rows; it has {} standard, {} interleaved",
           pool_text(tasks.name_pool, op.name), o.peak_first + o.resident_first, o.peak_second + o.resident_second,
           o.peak_both + o.resident_first + o.resident_second, o.row_bytes,
           whole_room(target.ipu21), interleaved_room(target.ipu21));
}

}  // namespace

bool fits_tile(const Target& target, const PlanObjectives& o) {
    const Ipu21& machine = target.ipu21;
    const std::uint64_t interleaved = round_up(o.peak_second + o.resident_second, machine.interleaved_element_bytes);
    if (o.peak_second + o.resident_second > interleaved_room(machine)) return false;
    // Standard data may also lie behind the interleaved data, which ends at an element boundary.
    const std::uint64_t behind = interleaved_room(machine) > interleaved ? interleaved_room(machine) - interleaved : 0;
    if (o.row_bytes > standard_room(machine)) return false;
    const std::uint64_t room = standard_room(machine) - o.row_bytes;
    return o.peak_first + o.resident_first <= room + behind && o.largest <= std::max(room, behind) && o.peak_large + o.resident_large <= behind;
}

namespace {

/// Rows of an operator's plans that may be chosen, by cycles and then by key: what the planner does with ties does not depend on the order
/// in which plans stand in the file.
std::vector<std::uint32_t> allowed_plans(const Tasks& tasks, const TileOperator& op, const std::vector<std::pair<std::string, std::string>>& forbidden,
                                         const std::vector<std::pair<std::string, std::string>>& required) {
    const std::string_view name = pool_text(tasks.name_pool, op.name);
    const auto key = [&](std::uint32_t row) { return pool_text(tasks.name_pool, tasks.tile_plans[row].key); };
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = op.first_plan; row < op.first_plan + op.plan_count; ++row) {
        if (std::ranges::any_of(forbidden, [&](const auto& entry) { return entry.first == name && entry.second == key(row); })) continue;
        if (std::ranges::any_of(required, [&](const auto& entry) { return entry.first == name && entry.second != key(row); })) continue;
        rows.push_back(row);
    }
    std::ranges::sort(rows, {}, [&](std::uint32_t row) { return std::tuple(plan_cycles(tasks.tile_plans[row]), key(row), row); });
    return rows;
}

/// A block of standard memory where the standard region cannot hold it, else nothing.
std::uint64_t large_part(const Target& target, std::uint64_t bytes) {
    return bytes > standard_room(target.ipu21) ? bytes : 0;
}

std::uint64_t large_temporaries(const Tasks& tasks, const TileOperator& op, const TilePlan& plan, const Target& target) {
    if (large_part(target, plan.temporary_standard) == 0) return 0;
    std::uint64_t known = 0;
    std::uint64_t large = 0;
    if (static_cast<TileOperatorKind>(op.kind) == TileOperatorKind::Gemm) {
        const TileLayout& input = tasks.tile_layouts[tasks.plan_layouts[plan.first_layout]];
        for (const GemmBuffer& buffer : gemm_buffers(target.ipu21, gemm_plan(op, plan, input, target.ipu21.amp_columns), plan.staged_weights != 0)) {
            if (buffer.memory != TileMemory::Standard) continue;
            const std::uint64_t bytes = padded_bytes(target.ipu21, buffer.bytes);
            known += bytes * buffer.count;
            large += large_part(target, bytes) * buffer.count;
        }
    }
    return large + large_part(target, plan.temporary_standard - std::min<std::uint64_t>(known, plan.temporary_standard));
}

}  // namespace

PlanProblem planning_problem(const Tasks& tasks, const Target& target, std::shared_ptr<ConversionCosts> costs,
                             const std::vector<std::pair<std::string, std::string>>& forbidden,
                             const std::vector<std::pair<std::string, std::string>>& required, std::vector<std::uint32_t>& row_of) {
    PlanProblem problem;
    for (const TileValue& value : tasks.tile_values) {
        problem.value_producer.push_back(value.producer);
        problem.value_kept.push_back(value.is_output != 0 ? 1 : 0);
    }
    problem.first_input.push_back(0);
    problem.first_plan.push_back(0);
    row_of.clear();
    for (const TileOperator& op : tasks.tile_operators) {
        for (std::uint32_t slot = 0; slot < op.input_count; ++slot) problem.inputs.push_back(tasks.tile_inputs[op.first_input + slot]);
        problem.first_input.push_back(static_cast<std::uint32_t>(problem.inputs.size()));
        problem.output.push_back(op.output);
        for (const std::uint32_t row : allowed_plans(tasks, op, forbidden, required)) {
            const TilePlan& plan = tasks.tile_plans[row];
            problem.plans.push_back({plan.first_layout, plan.output_layout, plan_cycles(plan), plan.row_bytes,
                                     {plan.resident_standard, plan.resident_interleaved, large_part(target, plan.resident_standard)},
                                     {plan.temporary_standard, plan.temporary_interleaved, large_temporaries(tasks, op, plan, target)}, plan.largest_standard});
            row_of.push_back(row);
        }
        problem.first_plan.push_back(static_cast<std::uint32_t>(problem.plans.size()));
    }
    problem.plan_formats.assign(tasks.plan_layouts.begin(), tasks.plan_layouts.end());
    problem.format_family = format_families(tasks);
    problem.change = [costs](std::uint32_t value, std::uint32_t from, std::uint32_t to) { return costs->change(value, from, to); };
    problem.bytes = [&tasks, &target](std::uint32_t value, std::uint32_t format) {
        const TileLayout& layout = tasks.tile_layouts[format];
        const std::uint64_t bytes = operand_bytes(target.ipu21, layout, matrix_shape(tasks, value));
        return layout.memory == static_cast<std::uint32_t>(TileMemory::Standard) ? MemoryBytes{bytes, 0, large_part(target, bytes)} : MemoryBytes{0, bytes, 0};
    };
    return problem;
}

namespace {

/// Searches, schedules what its best choices exchange, and searches again with what came out. Every search leans towards choices whose
/// estimates are too low; so all choices that were found are compared once everything in them is scheduled.
class Refiner {
public:
    Refiner(const Tasks& tasks, const Target& target, PlanProblem& problem, const std::vector<std::uint32_t>& row_of, ConversionCosts& conversions, PlanCosts& exchanges)
        : tasks_(tasks), target_(target), problem_(problem), row_of_(row_of), conversions_(conversions), exchanges_(exchanges) {}

    std::vector<GraphPlan> run(const PlanningOptions& options, PlannerCounts& found) {
        constexpr std::size_t refined_plans = 128;   // more at a time need fewer rounds
        PlannerOptions wide = options.planner;
        if (wide.width == 0) wide.width = automatic_width(tasks_.tile_operators.size());
        wide.finalists = std::max(wide.finalists, options.refinements == 0 ? 0 : refined_plans);
        for (std::uint32_t round = 0;; ++round) {
            PlannerCounts counts;
            std::vector<GraphPlan> plans = plan_graph(problem_, [&](const PlanObjectives& o) { return fits_tile(target_, o); }, wide, &counts);
            if (round == 0) found = counts;
            if (options.refinements == 0) {
                all_ = std::move(plans);
                break;
            }
            if (!take(std::move(plans)) || round == options.refinements) break;
        }
        if (options.refinements != 0) recombine(wide, options.refinements);
        for (GraphPlan& plan : all_) plan.objectives.cycles = cycles_of(plan);
        std::ranges::stable_sort(all_, {}, [](const GraphPlan& plan) { return plan.objectives; });
        if (all_.size() > options.planner.finalists) all_.resize(options.planner.finalists);
        return std::move(all_);
    }

private:
    /// Searches among the plans that some choice has, which are few: so many states of them fit that the cap loses little, and what they exchange
    /// is soon all scheduled.
    void recombine(PlannerOptions wide, std::uint32_t rounds) {
        constexpr std::size_t recombined_states = 1024;
        wide.width = std::max(wide.width, recombined_states);
        bool fresh = true;
        for (std::uint32_t round = 0; fresh && round < rounds; ++round) {
            std::vector<std::uint32_t> original;
            const PlanProblem problem = found_problem(original);
            std::vector<GraphPlan> plans = plan_graph(problem, [&](const PlanObjectives& o) { return fits_tile(target_, o); }, wide);
            for (GraphPlan& plan : plans) {
                for (std::uint32_t& row : plan.plan) row = original[row];
            }
            fresh = take(std::move(plans));
        }
    }

    /// The problem with the plans that some choice has; `original` gets their rows in the whole one.
    [[nodiscard]] PlanProblem found_problem(std::vector<std::uint32_t>& original) const {
        std::vector<std::uint8_t> found(problem_.plans.size(), 0);
        for (const GraphPlan& plan : all_) {
            for (const std::uint32_t row : plan.plan) found[row] = 1;
        }
        PlanProblem problem = problem_;
        problem.plans.clear();
        for (std::uint32_t op = 0; op < problem_.operator_count(); ++op) {
            problem.first_plan[op] = static_cast<std::uint32_t>(problem.plans.size());
            for (std::uint32_t row = problem_.first_plan[op]; row < problem_.first_plan[op + 1]; ++row) {
                if (found[row] == 0) continue;
                problem.plans.push_back(problem_.plans[row]);
                original.push_back(row);
            }
        }
        problem.first_plan.back() = static_cast<std::uint32_t>(problem.plans.size());
        return problem;
    }

    /// Schedules what choices exchange and keeps them; whether any of it was new.
    bool take(std::vector<GraphPlan> plans) {
        bool fresh = false;
        for (GraphPlan& plan : plans) {
            fresh = schedule(plan) || fresh;
            keep(std::move(plan));
        }
        return fresh;
    }

    /// Schedules what a choice exchanges; whether any of it was new.
    bool schedule(const GraphPlan& plan) {
        bool fresh = false;
        for (const ChosenConversion& c : plan.conversions) fresh = conversions_.schedule(value_of(c), c.from, c.to) || fresh;
        for (std::uint32_t op = 0; op < plan.plan.size(); ++op) {
            fresh = exchanges_.schedule(op, row_of_[plan.plan[op]]) || fresh;
            problem_.plans[plan.plan[op]].cycles = exchanges_.cycles(row_of_[plan.plan[op]]);
        }
        return fresh;
    }

    void keep(GraphPlan plan) {
        const auto same = [&](const GraphPlan& other) { return other.plan == plan.plan && other.conversions == plan.conversions; };
        if (std::ranges::none_of(all_, same)) all_.push_back(std::move(plan));
    }

    [[nodiscard]] std::uint32_t value_of(const ChosenConversion& c) const {
        return tasks_.tile_inputs[tasks_.tile_operators[c.operator_index].first_input + c.input];
    }

    [[nodiscard]] std::uint64_t cycles_of(const GraphPlan& plan) const {
        std::uint64_t cycles = 0;
        for (const std::uint32_t row : plan.plan) cycles += exchanges_.cycles(row_of_[row]);
        for (const ChosenConversion& c : plan.conversions) cycles += conversions_.change(value_of(c), c.from, c.to).cycles;
        return cycles;
    }

    const Tasks& tasks_;
    const Target& target_;
    PlanProblem& problem_;
    const std::vector<std::uint32_t>& row_of_;
    ConversionCosts& conversions_;
    PlanCosts& exchanges_;
    std::vector<GraphPlan> all_;   // of all searches
};

}  // namespace

std::vector<ScheduleColumns> make_schedules(const Tasks& tasks, const Target& target, const PlanningOptions& options, Hash128 tasks_hash,
                                            PlannerCounts* counts) {
    if (tasks.tile_operators.empty()) refuse("the .tasks holds no operators for tile processors; prepare it for this target");
    std::vector<std::uint32_t> row_of;
    const auto costs = std::make_shared<ConversionCosts>(tasks, target);
    PlanProblem problem = planning_problem(tasks, target, costs, options.forbidden, options.required, row_of);
    for (std::uint32_t op = 0; op < problem.operator_count(); ++op) {
        if (problem.first_plan[op] == problem.first_plan[op + 1]) {
            refuse("every plan of operator '{}' is forbidden by constraints, or the required one is not in the .tasks", pool_text(tasks.name_pool, tasks.tile_operators[op].name));
        }
    }
    for (const auto& entry : options.required) {
        const bool known = std::ranges::any_of(tasks.tile_operators, [&](const TileOperator& op) { return pool_text(tasks.name_pool, op.name) == entry.first; });
        if (!known) bad_input("there is no operator '{}' to require a plan of", entry.first);
    }
    PlannerCounts found;
    PlanCosts exchanges(tasks, target);
    std::vector<GraphPlan> plans = Refiner(tasks, target, problem, row_of, *costs, exchanges).run(options, found);
    if (counts != nullptr) *counts = found;
    if (plans.empty()) refuse_stuck(tasks, target, found);
    break_ties(tasks, row_of, options.tie_percent, plans);
    std::vector<ScheduleColumns> schedules;
    for (std::size_t i = 0; i < plans.size(); ++i) schedules.push_back(schedule_of(plans[i], row_of, tasks, target, *costs, exchanges, tasks_hash, i));
    return schedules;
}

}  // namespace weft::ipu21
