#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/random.h"
#include "frontier/graph_planner.h"

namespace weft::test {

/// A random problem with tables in place of functions.
struct RandomProblem {
    PlanProblem problem;
    std::map<std::array<std::uint32_t, 3>, FormatChange> changes;
    std::map<std::array<std::uint32_t, 2>, MemoryBytes> sizes;
    std::uint64_t limit = 0;

    RandomProblem(Random& random, std::uint32_t operators, std::uint32_t formats) {
        PlanProblem& p = problem;
        const std::uint32_t network_inputs = 1 + random.below(2);
        p.value_producer.assign(network_inputs, no_id);
        p.value_kept.assign(network_inputs, 0);
        p.first_input.push_back(0);
        p.first_plan.push_back(0);
        for (std::uint32_t f = 0; f < formats; ++f) p.format_family.push_back(f / 2);
        for (std::uint32_t op = 0; op < operators; ++op) {
            const auto values = static_cast<std::uint32_t>(p.value_producer.size());
            const std::uint32_t arity = 1 + random.below(2);
            for (std::uint32_t i = 0; i < arity; ++i) p.inputs.push_back(i == 0 && op > 0 ? values - 1 : random.below(values));
            p.first_input.push_back(static_cast<std::uint32_t>(p.inputs.size()));
            p.output.push_back(values);
            p.value_producer.push_back(op);
            p.value_kept.push_back(op + 1 == operators || random.below(6) == 0 ? 1 : 0);
            const std::uint32_t plans = 1 + random.below(4);
            for (std::uint32_t k = 0; k < plans; ++k) {
                OperatorPlan plan;
                plan.first_format = static_cast<std::uint32_t>(p.plan_formats.size());
                for (std::uint32_t i = 0; i < arity; ++i) p.plan_formats.push_back(random.below(5) == 0 ? any_format : random.below(formats));
                plan.output_format = random.below(formats);
                plan.cycles = 10 + random.below(100);
                plan.row_bytes = random.below(5);
                plan.resident = with_large({random.below(30), random.below(30)});
                plan.temporary = with_large({random.below(40), random.below(40)});
                plan.largest = random.below(50);
                p.plans.push_back(plan);
            }
            p.first_plan.push_back(static_cast<std::uint32_t>(p.plans.size()));
        }
        for (std::uint32_t v = 0; v < p.value_producer.size(); ++v) {
            for (std::uint32_t f = 0; f < formats; ++f) {
                sizes[{v, f}] = with_large({random.below(50), random.below(50)});
                for (std::uint32_t g = 0; g < formats; ++g) {
                    changes[{v, f, g}] = {random.below(60), random.below(3), with_large({random.below(20), random.below(20)}), random.below(40), random.below(10) != 0};
                }
            }
        }
        p.change = [this](std::uint32_t v, std::uint32_t f, std::uint32_t g) { return changes.at({v, f, g}); };
        p.bytes = [this](std::uint32_t v, std::uint32_t f) { return sizes.at({v, f}); };
        limit = 150 + random.below(200);
    }

    RandomProblem(const RandomProblem&) = delete;
    RandomProblem& operator=(const RandomProblem&) = delete;

    [[nodiscard]] static MemoryBytes with_large(MemoryBytes bytes) {
        bytes.large = bytes.first > 25 ? bytes.first : 0;
        return bytes;
    }

    [[nodiscard]] bool fits(const PlanObjectives& o) const {
        return o.peak_large + o.resident_large <= limit - 50 && o.peak_first + o.resident_first + o.row_bytes <= limit && o.peak_second + o.resident_second <= limit &&
               o.peak_both + o.resident_first + o.resident_second <= 2 * limit - 100 && o.largest <= 45;
    }
};

/// Every choice, one after another; memory as a list of what is there. Returns the least cycles of a choice that fits.
class Exhaustive {
public:
    explicit Exhaustive(const RandomProblem& random) : r_(random), p_(random.problem) {}

    std::optional<std::uint64_t> best() {
        std::map<std::uint32_t, std::uint32_t> formats;
        for (std::uint32_t v = 0; v < p_.value_producer.size(); ++v) {
            if (p_.value_producer[v] == no_id) formats[v] = any_format;
        }
        visit(0, formats, {});
        return best_;
    }

private:
    using Formats = std::map<std::uint32_t, std::uint32_t>;

    void measure(PlanObjectives& o, const Formats& formats, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& copies,
                 MemoryBytes temporary) const {
        std::uint64_t a = temporary.first;
        std::uint64_t b = temporary.second;
        std::uint64_t large = temporary.large;
        const auto add = [&](std::uint32_t value, std::uint32_t format) {
            if (format == any_format) return;
            a += r_.sizes.at({value, format}).first;
            b += r_.sizes.at({value, format}).second;
            large += r_.sizes.at({value, format}).large;
        };
        for (const auto& [value, format] : formats) add(value, format);
        for (const auto& [value, format] : copies) add(value, format);
        o.peak_first = std::max(o.peak_first, a);
        o.peak_second = std::max(o.peak_second, b);
        o.peak_both = std::max(o.peak_both, a + b);
        o.peak_large = std::max(o.peak_large, large);
    }

    [[nodiscard]] bool needed_after(std::uint32_t value, std::uint32_t op) const {
        if (p_.value_kept[value] != 0) return true;
        for (std::uint32_t later = op + 1; later < p_.operator_count(); ++later) {
            for (std::uint32_t i = p_.first_input[later]; i < p_.first_input[later + 1]; ++i) {
                if (p_.inputs[i] == value) return true;
            }
        }
        return false;
    }

    void visit(std::uint32_t op, const Formats& formats, const PlanObjectives& so_far) {
        if (op == p_.operator_count()) {
            if (r_.fits(so_far) && (!best_ || so_far.cycles < *best_)) best_ = so_far.cycles;
            return;
        }
        for (std::uint32_t row = p_.first_plan[op]; row < p_.first_plan[op + 1]; ++row) try_plan(op, row, formats, so_far);
    }

    void try_plan(std::uint32_t op, std::uint32_t row, Formats formats, PlanObjectives o) {
        const OperatorPlan& plan = p_.plans[row];
        std::vector<std::pair<std::uint32_t, std::uint32_t>> copies;   // value, format
        for (std::uint32_t i = 0; i + p_.first_input[op] < p_.first_input[op + 1]; ++i) {
            const std::uint32_t value = p_.inputs[p_.first_input[op] + i];
            const std::uint32_t to = p_.plan_formats[plan.first_format + i];
            if (to == any_format || formats.at(value) == to) continue;
            if (formats.at(value) == any_format) {
                formats[value] = to;
            } else if (std::ranges::find(copies, std::pair(value, to)) == copies.end()) {
                if (!r_.changes.at({value, formats.at(value), to}).possible) return;
                copies.emplace_back(value, to);
            }
        }
        measure(o, formats, {}, {});
        std::vector<std::pair<std::uint32_t, std::uint32_t>> made;
        for (const auto& copy : copies) {
            const FormatChange& change = r_.changes.at({copy.first, formats.at(copy.first), copy.second});
            o.cycles += change.cycles;
            o.row_bytes += change.row_bytes;
            o.largest = std::max(o.largest, change.largest);
            made.push_back(copy);
            measure(o, formats, made, change.temporary);
        }
        o.cycles += plan.cycles;
        o.row_bytes += plan.row_bytes;
        o.largest = std::max(o.largest, plan.largest);
        o.resident_first += plan.resident.first;
        o.resident_second += plan.resident.second;
        o.resident_large += plan.resident.large;
        keep_or_replace(op, plan, formats, copies, 0, o);
    }

    /// From copy `next` on: each copy either stays beside its value until the operator is done or takes its place (the first
    /// to do so wins; a value that nobody needs later is always replaced).
    void keep_or_replace(std::uint32_t op, const OperatorPlan& plan, const Formats& formats,
                         const std::vector<std::pair<std::uint32_t, std::uint32_t>>& copies, std::size_t next, PlanObjectives o) {
        if (next < copies.size()) {
            const auto [value, to] = copies[next];
            if (needed_after(value, op)) keep_or_replace(op, plan, formats, copies, next + 1, o);
            if (std::ranges::find(replaced_, value) != replaced_.end()) {
                if (!needed_after(value, op)) keep_or_replace(op, plan, formats, copies, next + 1, o);
                return;
            }
            Formats moved = formats;
            moved[value] = to;
            auto left = copies;
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
            replaced_.push_back(value);
            keep_or_replace(op, plan, moved, left, next, o);
            replaced_.pop_back();
            return;
        }
        const std::vector<std::uint32_t> outer = std::move(replaced_);
        replaced_.clear();
        Formats after = formats;
        after[p_.output[op]] = plan.output_format;
        measure(o, after, copies, plan.temporary);
        std::erase_if(after, [&](const auto& entry) { return entry.first != p_.output[op] && !needed_after(entry.first, op); });
        visit(op + 1, after, o);
        replaced_ = outer;
    }

    std::vector<std::uint32_t> replaced_;
    const RandomProblem& r_;
    const PlanProblem& p_;
    std::optional<std::uint64_t> best_;
};

}  // namespace weft::test
