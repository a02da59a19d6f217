#include "lower/ipu21/steps.h"

#include <algorithm>

#include "base/checked.h"
#include "ipu21/check_choice.h"
#include "ipu21/gemm_memory.h"
#include "ipu21/operand.h"
#include "ipu21/row_exchange.h"

namespace weft::ipu21 {
namespace {

MatrixShape shape_of(const Tasks& tasks, std::uint32_t value) { return {tasks.tile_values[value].rows, tasks.tile_values[value].columns}; }

/// Part `index` of `total` cut into `count` parts whose sizes differ by at most one.
std::uint64_t share(std::uint64_t total, std::uint64_t count, std::uint64_t index) {
    return total * (index + 1) / count - total * index / count;
}

class Expander {
public:
    Expander(const Tasks& tasks, const Schedule& schedule, const Target& target)
        : tasks_(tasks), schedule_(schedule), target_(target), buffer_of_(tasks.tile_values.size(), no_id), layout_of_(tasks.tile_values.size(), no_id),
          last_use_(tasks.tile_values.size(), 0) {
        for (std::uint32_t op = 0; op < tasks.tile_operators.size(); ++op) {
            const TileOperator& row = tasks.tile_operators[op];
            for (const std::uint32_t value : tasks.tile_inputs.subspan(row.first_input, row.input_count)) last_use_[value] = op;
        }
        for (std::uint32_t value = 0; value < last_use_.size(); ++value) kept_.push_back(tasks.tile_values[value].is_output);
    }

    StepProgram run() {
        check_choice(tasks_, schedule_, target_);
        share_lives();
        for (std::uint32_t op = 0; op < tasks_.tile_operators.size(); ++op) add_operator(op);
        if (result_.steps.empty()) refuse("the program has no steps");
        if (!result_.phases.empty()) add_buffer(TileBufferKind::ExchangeRows, 0, no_id, no_id, no_id);
        end_lives();
        result_.value_buffer = buffer_of_;
        return std::move(result_);
    }

private:
    [[nodiscard]] std::uint32_t now() const { return static_cast<std::uint32_t>(result_.steps.size()); }

    std::uint32_t add_buffer(TileBufferKind kind, std::uint32_t memory, std::uint32_t value, std::uint32_t op, std::uint32_t layout) {
        TileBuffer buffer{};
        buffer.kind = static_cast<std::uint32_t>(kind);
        buffer.memory = memory;
        buffer.value = value;
        buffer.operator_index = op;
        buffer.layout = layout;
        buffer.first_step = now();
        buffer.last_step = now();
        result_.buffers.push_back(buffer);
        result_.temporary_bytes.push_back(0);
        return static_cast<std::uint32_t>(result_.buffers.size() - 1);
    }

    void add_step(TileStepKind kind, std::uint32_t op, std::uint32_t index, std::uint32_t launches, std::uint64_t cycles) {
        result_.steps.push_back({static_cast<std::uint32_t>(kind), op, index, launches, cycles, cycles});
    }

    void add_exchange(std::uint32_t op, PlannedPhase planned, std::uint64_t estimated, BufferRun source, BufferRun sink) {
        if (planned.phase.transfers.empty()) return;
        result_.phases.push_back(std::move(planned));
        result_.phase_step.push_back(now());
        result_.phase_source.push_back(source);
        result_.phase_sink.push_back(sink);
        add_step(TileStepKind::Exchange, op, static_cast<std::uint32_t>(result_.phases.size() - 1), 0, estimated);
    }

    void touch(std::uint32_t buffer) {
        if (buffer != no_id) result_.buffers[buffer].last_step = std::max(result_.buffers[buffer].last_step, now() == 0 ? 0 : now() - 1);
    }

    void add_operator(std::uint32_t op_id) {
        const TileOperator& op = tasks_.tile_operators[op_id];
        TilePlan plan = tasks_.tile_plans[schedule_.plan_choice[op_id]];
        if (!schedule_.plan_exchange_cycles.empty()) plan.exchange_cycles = schedule_.plan_exchange_cycles[op_id];
        std::vector<std::uint32_t> operand(op.input_count, no_id);
        std::vector<std::uint32_t> used;
        convert_inputs(op_id, op, operand, used);
        for (std::uint32_t slot = 0; slot < op.input_count; ++slot) {
            const std::uint32_t value = tasks_.tile_inputs[op.first_input + slot];
            const std::uint32_t layout = tasks_.plan_layouts[plan.first_layout + slot];
            if (layout_of_[value] == no_id) {   // a network input arrives as its first consumer wants it
                layout_of_[value] = layout;
                buffer_of_[value] = add_buffer(TileBufferKind::Value, tasks_.tile_layouts[layout].memory, value, no_id, layout);
                result_.buffers[buffer_of_[value]].first_step = 0;
            }
            if (operand[slot] == no_id) operand[slot] = copy_in(value, layout, used);
            if (operand[slot] == no_id) {
                bad_input("the schedule gives operator '{}' its input {} in another layout than its plan wants", pool_text(tasks_.name_pool, op.name), slot);
            }
            used.push_back(operand[slot]);
        }
        run_operator(op_id, op, plan, operand);
        for (const std::uint32_t buffer : used) touch(buffer);
        copies_.clear();
    }

    /// The buffer that holds `value` in `layout`: the value's own, or a copy made for this operator.
    [[nodiscard]] std::uint32_t copy_in(std::uint32_t value, std::uint32_t layout, std::vector<std::uint32_t>& used) const {
        if (layout_of_[value] == layout) return buffer_of_[value];
        for (const std::uint32_t buffer : copies_) {
            if (result_.buffers[buffer].value == value && result_.buffers[buffer].layout == layout) return buffer;
        }
        static_cast<void>(used);
        return no_id;
    }

    void convert_inputs(std::uint32_t op_id, const TileOperator& op, std::vector<std::uint32_t>& operand, std::vector<std::uint32_t>& used) {
        for (std::size_t row = 0; row < schedule_.conversions.size(); ++row) {
            const TileConversion& conversion = schedule_.conversions[row];
            if (conversion.operator_index != op_id) continue;
            const std::uint32_t value = tasks_.tile_inputs[op.first_input + conversion.input];
            if (layout_of_[value] == no_id || (layout_of_[value] != conversion.from_layout && !was_replaced(value, conversion.from_layout))) {
                bad_input("a conversion for operator '{}' starts from a layout that its input does not have", pool_text(tasks_.name_pool, op.name));
            }
            const std::uint32_t source = layout_of_[value] == conversion.from_layout ? buffer_of_[value] : replaced_buffer_;
            const std::uint32_t memory = tasks_.tile_layouts[conversion.to_layout].memory;
            const std::uint32_t copy = add_buffer(TileBufferKind::Copy, memory, value, op_id, conversion.to_layout);
            const TileLayout& from = tasks_.tile_layouts[conversion.from_layout];
            const TileLayout& to = tasks_.tile_layouts[conversion.to_layout];
            const ConversionCost cost = estimate_conversion(target_, shape_of(tasks_, value), from, to);
            if (cost.phases != 0) {
                const std::uint64_t expected = schedule_.conversion_cycles.empty() ? cost.exchange_cycles : schedule_.conversion_cycles[row];
                add_exchange(op_id, {PhaseRole::Conversion, conversion_phase(target_, shape_of(tasks_, value), from, to)}, expected, {source, 1}, {copy, 1});
            }
            if (cost.staging_cycles != 0) add_step(TileStepKind::Staging, op_id, 0, 1, cost.staging_cycles);
            if (now() == result_.buffers[copy].first_step) {   // nothing to move: a change of name
                add_step(TileStepKind::Staging, op_id, 0, 0, 0);
                result_.aliases.push_back({source, copy, BufferAlias::Kind::Renamed});
            }
            touch(source);
            touch(copy);
            if (conversion.replaces != 0 && layout_of_[value] == conversion.from_layout) {
                replaced_value_ = value;
                replaced_layout_ = conversion.from_layout;
                replaced_buffer_ = buffer_of_[value];
                buffer_of_[value] = copy;
                layout_of_[value] = conversion.to_layout;
            } else {
                copies_.push_back(copy);
                used.push_back(copy);
            }
            operand[conversion.input] = copy;
        }
    }

    [[nodiscard]] bool was_replaced(std::uint32_t value, std::uint32_t layout) const { return replaced_value_ == value && replaced_layout_ == layout; }

    void run_operator(std::uint32_t op_id, const TileOperator& op, const TilePlan& plan, std::span<const std::uint32_t> operand) {
        const std::uint32_t output_layout = plan.output_layout;
        const std::uint32_t output = add_buffer(TileBufferKind::Value, tasks_.tile_layouts[output_layout].memory, op.output, op_id, output_layout);
        const bool view = static_cast<Distribution>(plan.distribution) == Distribution::View;
        if (view) result_.aliases.push_back({operand[0], output, BufferAlias::Kind::View});
        else note_in_place(op_id, op, operand, output);
        const BufferRun weights = add_resident(op_id, plan);
        const bool gemm = static_cast<TileOperatorKind>(op.kind) == TileOperatorKind::Gemm;
        const GemmRuns runs = gemm ? add_gemm_temporaries(op_id, op, plan) : GemmRuns{};
        const BufferRun standard = add_temporaries(op_id, plan.temporary_standard - std::min(plan.temporary_standard, runs.standard_bytes), 0);
        const BufferRun interleaved = add_temporaries(op_id, plan.temporary_interleaved - std::min(plan.temporary_interleaved, runs.interleaved_bytes), 1);
        if (gemm) {
            gemm_steps(op_id, op, plan, weights, runs);
        } else if (static_cast<Distribution>(plan.distribution) == Distribution::AttentionGrid && plan.phases != 0) {
            attention_steps(op_id, plan, operand, standard);
        } else if (static_cast<Distribution>(plan.distribution) == Distribution::RowExchange) {
            row_steps(op_id, plan, {operand[0], 1}, standard);
        } else {
            add_step(TileStepKind::Kernel, op_id, 0, plan.calls, plan.local_cycles);
            if (plan.staging_cycles != 0) add_step(TileStepKind::Staging, op_id, 0, 0, plan.staging_cycles);
        }
        touch(output);
        for (const BufferRun& run : {standard, interleaved, runs.panel, runs.partial, runs.received}) {
            for (std::uint32_t i = 0; i < run.count; ++i) touch(run.first + i);
        }
        buffer_of_[op.output] = output;
        layout_of_[op.output] = output_layout;
    }

    /// Kernels that work element by element or row by row write their result over an operand that nobody reads afterwards.
    void note_in_place(std::uint32_t op_id, const TileOperator& op, std::span<const std::uint32_t> operand, std::uint32_t output) {
        const auto kind = static_cast<TileOperatorKind>(op.kind);
        const bool alike = kind != TileOperatorKind::Gemm && kind != TileOperatorKind::Attention && kind != TileOperatorKind::Product && kind != TileOperatorKind::Rearrange;
        if (!alike) return;
        for (const std::uint32_t buffer : operand) {
            const TileBuffer& row = result_.buffers[buffer];
            const bool dies = static_cast<TileBufferKind>(row.kind) == TileBufferKind::Copy ? buffer_of_[row.value] != buffer || dies_at(row.value, op_id)
                                                                                           : dies_at(row.value, op_id);
            if (row.layout != result_.buffers[output].layout || !dies) continue;
            result_.aliases.push_back({buffer, output, BufferAlias::Kind::InPlace});
            return;
        }
    }

    [[nodiscard]] bool dies_at(std::uint32_t value, std::uint32_t op_id) const { return kept_[value] == 0 && last_use_[value] <= op_id; }

    /// A value and its views are the same bytes: whoever reads one of them last, reads all.
    void share_lives() {
        const auto join = [&](std::uint32_t from, std::uint32_t to) {
            last_use_[to] = std::max(last_use_[to], last_use_[from]);
            kept_[to] = std::max(kept_[to], kept_[from]);
        };
        std::vector<std::pair<std::uint32_t, std::uint32_t>> views;   // input, output
        for (std::uint32_t op = 0; op < tasks_.tile_operators.size(); ++op) {
            const TileOperator& row = tasks_.tile_operators[op];
            const TilePlan& plan = tasks_.tile_plans[schedule_.plan_choice[op]];
            if (static_cast<Distribution>(plan.distribution) == Distribution::View) views.emplace_back(tasks_.tile_inputs[row.first_input], row.output);
        }
        for (std::size_t i = views.size(); i-- > 0;) join(views[i].second, views[i].first);   // later views first: lives of views of views
        for (const auto& [input, output] : views) join(input, output);
    }

    /// Buffers of a GEMM's phases, and the bytes of its plan that they account for.
    struct GemmRuns {
        BufferRun panel;
        BufferRun partial;
        BufferRun received;   // they need not lie together: one buffer per partial
        std::uint32_t standard_bytes = 0;
        std::uint32_t interleaved_bytes = 0;
    };

    GemmRuns add_gemm_temporaries(std::uint32_t op_id, const TileOperator& op, const TilePlan& row) {
        const GemmPlan plan = gemm_plan(op, row, tasks_.tile_layouts[tasks_.plan_layouts[row.first_layout]], target_.ipu21.amp_columns);
        GemmRuns runs;
        for (const GemmBuffer& buffer : gemm_buffers(target_.ipu21, plan, row.staged_weights != 0)) {
            const bool standard = buffer.memory == TileMemory::Standard;
            const BufferRun added{static_cast<std::uint32_t>(result_.buffers.size()), buffer.count};
            for (std::uint32_t i = 0; i < buffer.count; ++i) {
                result_.temporary_bytes[add_buffer(TileBufferKind::Temporary, standard ? 0 : 1, no_id, op_id, no_id)] = buffer.bytes;
            }
            (standard ? runs.standard_bytes : runs.interleaved_bytes) += narrow<std::uint32_t>(padded_bytes(target_.ipu21, buffer.bytes) * buffer.count);
            BufferRun& run = buffer.role == GemmBuffer::Role::Panel ? runs.panel : buffer.role == GemmBuffer::Role::Partial ? runs.partial : runs.received;
            run = run.empty() ? added : BufferRun{run.first, run.count + added.count};
        }
        return runs;
    }

    /// What else a plan asks for, in one piece.
    BufferRun add_temporaries(std::uint32_t op_id, std::uint32_t bytes, std::uint32_t memory) {
        if (bytes == 0) return {};
        const BufferRun run{add_buffer(TileBufferKind::Temporary, memory, no_id, op_id, no_id), 1};
        result_.temporary_bytes[run.first] = bytes;
        return run;
    }

    /// Weights (or constants) live from the first step to the last.
    BufferRun add_resident(std::uint32_t op_id, const TilePlan& plan) {
        BufferRun weights;
        if (plan.resident_standard != 0) weights = {add_buffer(TileBufferKind::Weights, 0, no_id, op_id, no_id), 1};
        if (plan.resident_interleaved != 0) weights = {add_buffer(TileBufferKind::Weights, 1, no_id, op_id, no_id), 1};   // a bias then stands alone
        return weights;
    }

    void gemm_steps(std::uint32_t op_id, const TileOperator& op, const TilePlan& row, BufferRun weights, const GemmRuns& runs) {
        const GemmPlan plan = gemm_plan(op, row, tasks_.tile_layouts[tasks_.plan_layouts[row.first_layout]], target_.ipu21.amp_columns);
        std::vector<PlannedPhase> phases = gemm_phases(plan, target_.ipu21.max_transfer_words);
        const std::size_t count = phases.size();
        // One kernel step follows every phase; a plan that begins with a product or a panel copy has one before.
        const bool leads = count == 0 || plan.distribution == Distribution::ParallelReduction;
        const std::size_t kernels = count + (leads && (count == 0 || phases[0].role != PhaseRole::Weights) ? 1 : 0);
        std::size_t kernel = 0;
        const auto add_kernel = [&] {
            const std::uint64_t cycles = share(row.local_cycles, kernels, kernel);
            add_step(TileStepKind::Kernel, op_id, 0, static_cast<std::uint32_t>(share(row.calls, kernels, kernel)), cycles);
            ++kernel;
        };
        if (row.staging_cycles != 0) add_step(TileStepKind::Staging, op_id, 0, 0, row.staging_cycles);
        if (kernels > count) add_kernel();
        for (std::size_t i = 0; i < count; ++i) {
            const bool reduction = phases[i].role == PhaseRole::Reduction;
            const BufferRun source = reduction ? runs.partial : weights;
            const BufferRun sink = reduction ? runs.received : runs.panel;
            add_exchange(op_id, std::move(phases[i]), share(row.exchange_cycles, count, i), source, sink);
            add_kernel();
        }
    }

    /// A round of keys and values, then the kernels that use them.
    void attention_steps(std::uint32_t op_id, const TilePlan& plan, std::span<const std::uint32_t> operand, BufferRun sink) {
        std::vector<PlannedPhase> phases = operator_phases(tasks_, op_id, plan, target_);
        for (std::uint32_t round = 0; round < plan.phases; ++round) {
            add_exchange(op_id, std::move(phases[round]), share(plan.exchange_cycles, plan.phases, round), {operand[1], 1}, sink);
            add_step(TileStepKind::Kernel, op_id, 0, static_cast<std::uint32_t>(share(plan.calls, plan.phases, round)), share(plan.local_cycles, plan.phases, round));
        }
    }

    /// Kernels around the exchanges of partial sums.
    void row_steps(std::uint32_t op_id, const TilePlan& plan, BufferRun source, BufferRun sink) {
        std::vector<PlannedPhase> phases = operator_phases(tasks_, op_id, plan, target_);
        for (std::uint32_t phase = 0; phase < plan.phases; ++phase) {
            add_step(TileStepKind::Kernel, op_id, 0, phase == 0 ? plan.calls : 0, share(plan.local_cycles, plan.phases + 1, phase));
            add_exchange(op_id, std::move(phases[phase]), share(plan.exchange_cycles, plan.phases, phase), source, sink);
        }
        add_step(TileStepKind::Kernel, op_id, 0, 0, share(plan.local_cycles, plan.phases + 1, plan.phases));
    }

    void end_lives() {
        const std::uint32_t last = now() - 1;
        for (TileBuffer& buffer : result_.buffers) {
            const auto kind = static_cast<TileBufferKind>(buffer.kind);
            if (kind == TileBufferKind::Weights || kind == TileBufferKind::ExchangeRows) {
                buffer.first_step = 0;
                buffer.last_step = last;
            }
            buffer.first_step = std::min(buffer.first_step, last);
            buffer.last_step = std::max(buffer.last_step, buffer.first_step);
        }
        for (std::uint32_t value = 0; value < tasks_.tile_values.size(); ++value) {
            if (tasks_.tile_values[value].is_output != 0 && buffer_of_[value] != no_id) result_.buffers[buffer_of_[value]].last_step = last;
        }
    }

    const Tasks& tasks_;
    const Schedule& schedule_;
    const Target& target_;
    StepProgram result_;
    std::vector<std::uint32_t> buffer_of_;   // per value: where it stands now
    std::vector<std::uint32_t> layout_of_;
    std::vector<std::uint32_t> last_use_;    // operator
    std::vector<std::uint32_t> kept_;        // per value: 1 where the network returns it, or a view of it
    std::vector<std::uint32_t> copies_;      // of the present operator
    std::uint32_t replaced_value_ = no_id;   // the last value whose layout was replaced, and what it was before
    std::uint32_t replaced_layout_ = no_id;
    std::uint32_t replaced_buffer_ = no_id;
};

}  // namespace

StepProgram expand_steps(const Tasks& tasks, const Schedule& schedule, const Target& target) { return Expander(tasks, schedule, target).run(); }

}  // namespace weft::ipu21
