#include "unit_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weft {
namespace {

/// Sums per unit of one core: the vector unit, then the array groups.
class UnitSums {
public:
    UnitSums(const Program& program, const PimCosts& costs, std::size_t core)
        : program_(program), costs_(costs), core_(core), sums_(1 + program.core_first_group[core + 1] - program.core_first_group[core]) {}

    /// One pass over the core's list, with the bit widths that the pass before left.
    void pass() {
        std::fill(sums_.begin(), sums_.end(), 0);
        for (std::uint32_t run_id = program_.core_first_run[core_]; run_id < program_.core_first_run[core_ + 1]; ++run_id) {
            const Run& run = program_.runs[run_id];
            if (run.trip_count == 0 || run.instruction_count == 0) continue;
            body(run, 1);   // a setbw in it makes the first repetition different
            if (run.trip_count > 1) body(run, run.trip_count - 1);
        }
    }

    [[nodiscard]] const std::vector<Picoseconds>& sums() const { return sums_; }

private:
    void body(const Run& run, std::uint64_t times) {
        for (const Instruction& row : program_.instructions.subspan(run.first_instruction, run.instruction_count)) {
            const auto op = static_cast<Opcode>(row.op);
            if (op == Opcode::Setbw) widths_ = {static_cast<std::uint32_t>(row.immediate), static_cast<std::uint32_t>(row.length)};
            if (is_vector(op)) add(0, costs_.vector_steps(op, static_cast<std::uint64_t>(row.length), widths_), times);
            if (op != Opcode::Mvmul) continue;
            const auto group = static_cast<std::uint32_t>(row.length);
            const std::uint32_t crossbars = program_.groups[program_.core_first_group[core_] + group].crossbars;
            add(1 + group, costs_.mvmul_steps(crossbars, static_cast<std::uint32_t>(row.immediate), widths_), times);
        }
    }

    void add(std::size_t unit, const UnitSteps& steps, std::uint64_t times) {
        const Picoseconds period = costs_.period();
        const Picoseconds duration = steps.reads * steps.read + steps.compute + steps.write;
        const Picoseconds cycle = (duration + period - 1) / period * period + period;
        Picoseconds all = 0;
        const bool overflow = __builtin_mul_overflow(cycle, static_cast<Picoseconds>(times), &all);
        sums_[unit] = overflow ? picoseconds_limit : std::min(picoseconds_limit, sums_[unit] + std::min(all, picoseconds_limit));
    }

    const Program& program_;
    const PimCosts& costs_;
    std::size_t core_;
    std::vector<Picoseconds> sums_;
    BitWidths widths_;
};

}  // namespace

UnitBound busiest_unit(const Program& program, const PimCosts& costs) {
    UnitBound best;
    for (std::size_t core = 0; core + 1 < program.core_first_run.size(); ++core) {
        UnitSums units(program, costs, core);
        units.pass();
        units.pass();   // with the bit widths that the first pass left
        for (std::size_t unit = 0; unit < units.sums().size(); ++unit) {
            if (units.sums()[unit] <= best.time) continue;
            best = {units.sums()[unit], static_cast<std::uint32_t>(core), unit == 0 ? "vector unit" : fmt::format("array group {}", unit - 1)};
        }
    }
    return best;
}

}  // namespace weft
