#include "lower/ipu21/steps.h"

#include <algorithm>

#include "base/checked.h"
#include "ipu21/check_choice.h"

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
        : tasks_(tasks), schedule_(schedule), target_(target), buffer_of_(tasks.tile_values.size(), no_id), layout_of_(tasks.tile_values.size(), no_id) {}

    StepProgram run() {
        check_choice(tasks_, schedule_, target_);
        for (std::uint32_t op = 0; op < tasks_.tile_operators.size(); ++op) add_operator(op);
        if (result_.steps.empty()) refuse("the program has no steps");
        if (!result_.phases.empty()) add_buffer(TileBufferKind::ExchangeRows, 0, no_id, no_id, no_id);
        end_lives();
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
            if (now() == result_.buffers[copy].first_step) add_step(TileStepKind::Staging, op_id, 0, 0, 0);   // nothing to move: a change of name
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
        const BufferRun weights = add_resident(op_id, plan);
        const BufferRun standard = add_temporaries(op_id, plan.temporary_standard, 0, standard_pieces(plan));
        const BufferRun interleaved = add_temporaries(op_id, plan.temporary_interleaved, 1, 1);
        if (static_cast<TileOperatorKind>(op.kind) == TileOperatorKind::Gemm) {
            gemm_steps(op_id, op, plan, {output, 1}, weights, standard, interleaved);
        } else if (static_cast<Distribution>(plan.distribution) == Distribution::AttentionGrid && plan.phases != 0) {
            attention_steps(op_id, op, plan, operand, standard);
        } else if (static_cast<Distribution>(plan.distribution) == Distribution::RowExchange) {
            row_steps(op_id, op, plan, {operand[0], 1}, standard);
        } else {
            add_step(TileStepKind::Kernel, op_id, 0, plan.calls, plan.local_cycles);
            if (plan.staging_cycles != 0) add_step(TileStepKind::Staging, op_id, 0, 0, plan.staging_cycles);
        }
        touch(output);
        for (const BufferRun& run : {standard, interleaved}) {
            for (std::uint32_t i = 0; i < run.count; ++i) touch(run.first + i);
        }
        buffer_of_[op.output] = output;
        layout_of_[op.output] = output_layout;
    }

    /// Received partials need not lie together: one buffer per sender.
    [[nodiscard]] static std::uint32_t standard_pieces(const TilePlan& plan) {
        const auto distribution = static_cast<Distribution>(plan.distribution);
        if (distribution == Distribution::ParallelReduction) return std::max(1U, plan.inner - 1);
        if (distribution == Distribution::PanelReduction) return plan.staged_panels * (plan.fan_in - 1);
        return 1;
    }

    BufferRun add_temporaries(std::uint32_t op_id, std::uint32_t bytes, std::uint32_t memory, std::uint32_t pieces) {
        if (bytes == 0) return {};
        BufferRun run{static_cast<std::uint32_t>(result_.buffers.size()), pieces};
        for (std::uint32_t i = 0; i < pieces; ++i) add_buffer(TileBufferKind::Temporary, memory, no_id, op_id, no_id);
        return run;
    }

    /// Weights (or constants) live from the first step to the last.
    BufferRun add_resident(std::uint32_t op_id, const TilePlan& plan) {
        BufferRun weights;
        if (plan.resident_standard != 0) weights = {add_buffer(TileBufferKind::Weights, 0, no_id, op_id, no_id), 1};
        if (plan.resident_interleaved != 0) weights = {add_buffer(TileBufferKind::Weights, 1, no_id, op_id, no_id), 1};
        return weights;
    }

    void gemm_steps(std::uint32_t op_id, const TileOperator& op, const TilePlan& row, BufferRun output, BufferRun weights, BufferRun standard,
                    BufferRun interleaved) {
        const GemmPlan plan = gemm_plan(op, row, tasks_.tile_layouts[tasks_.plan_layouts[row.first_layout]], target_.ipu21.amp_columns);
        std::vector<PlannedPhase> phases = gemm_phases(plan, target_.ipu21.max_transfer_words);
        const std::size_t count = phases.size();
        const BufferRun panel = !interleaved.empty() ? interleaved : standard;
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
            const BufferRun source = reduction ? (!interleaved.empty() ? interleaved : output) : weights;
            const BufferRun sink = reduction ? (!standard.empty() ? standard : output) : (!panel.empty() ? panel : weights);
            add_exchange(op_id, std::move(phases[i]), share(row.exchange_cycles, count, i), source, sink);
            add_kernel();
        }
    }

    /// Keys and values of some parts go to all tiles of their head, round after round.
    void attention_steps(std::uint32_t op_id, const TileOperator& op, const TilePlan& plan, std::span<const std::uint32_t> operand, BufferRun sink) {
        const TileLayout& layout = tasks_.tile_layouts[tasks_.plan_layouts[plan.first_layout + 1]];
        const MatrixShape shape = shape_of(tasks_, tasks_.tile_inputs[op.first_input + 1]);
        const std::uint32_t parts = layout.row_parts / op.batch;
        const std::uint32_t senders = std::max(1U, plan.staged_panels);
        if (operand.size() != 3 || layout.row_parts % op.batch != 0 || ceil_divide(parts, senders) != plan.phases) {
            bad_input("the streamed attention plan of operator '{}' contradicts itself", pool_text(tasks_.name_pool, op.name));
        }
        for (std::uint32_t round = 0; round < plan.phases; ++round) {
            PlannedPhase planned{PhaseRole::Attention, {}};
            for (std::uint32_t row = 0; row < layout.row_parts; ++row) {
                const std::uint32_t part = row % parts;
                if (part / senders != round) continue;
                const std::uint64_t elems_per_column = rows_of(layout, shape, row).length();
                for (std::uint32_t head = 0; head < layout.column_parts; ++head) {
                    std::vector<std::uint32_t> others;
                    for (std::uint32_t to = row - part; to < row - part + parts; ++to) {
                        if (to != row) others.push_back(layout_tile(layout, to, head, 0));
                    }
                    const std::uint64_t elems = elems_per_column * columns_of(layout, shape, head).length();
                    const std::uint64_t words = ceil_divide<std::uint64_t>(elems * layout.elem_bytes, 4);
                    const TileId sender(layout_tile(layout, row, head, 0));
                    for (int operand_index = 0; operand_index < 2; ++operand_index) {   // keys, then values
                        add_transfer(planned.phase, sender, others, words, target_.ipu21.max_transfer_words);
                    }
                }
            }
            add_exchange(op_id, std::move(planned), share(plan.exchange_cycles, plan.phases, round), {operand[1], 1}, sink);
            add_step(TileStepKind::Kernel, op_id, 0, static_cast<std::uint32_t>(share(plan.calls, plan.phases, round)), share(plan.local_cycles, plan.phases, round));
        }
    }

    /// Partial sums of rows go to all other column parts.
    void row_steps(std::uint32_t op_id, const TileOperator& op, const TilePlan& plan, BufferRun source, BufferRun sink) {
        const TileLayout& layout = tasks_.tile_layouts[plan.output_layout];
        const MatrixShape shape = shape_of(tasks_, op.output);
        for (std::uint32_t phase = 0; phase < plan.phases; ++phase) {
            add_step(TileStepKind::Kernel, op_id, 0, phase == 0 ? plan.calls : 0, share(plan.local_cycles, plan.phases + 1, phase));
            PlannedPhase planned{PhaseRole::Reduction, {}};
            for (std::uint32_t row = 0; row < layout.row_parts; ++row) {
                const std::uint64_t words = 2 * std::uint64_t{rows_of(layout, shape, row).length()};
                for (std::uint32_t column = 0; column < layout.column_parts; ++column) {
                    std::vector<std::uint32_t> others;
                    for (std::uint32_t to = 0; to < layout.column_parts; ++to) {
                        if (to != column) others.push_back(layout_tile(layout, row, to, 0));
                    }
                    add_transfer(planned.phase, TileId(layout_tile(layout, row, column, 0)), others, words, target_.ipu21.max_transfer_words);
                }
            }
            add_exchange(op_id, std::move(planned), share(plan.exchange_cycles, plan.phases, phase), source, sink);
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
    std::vector<std::uint32_t> copies_;      // of the present operator
    std::uint32_t replaced_value_ = no_id;   // the last value whose layout was replaced, and what it was before
    std::uint32_t replaced_layout_ = no_id;
    std::uint32_t replaced_buffer_ = no_id;
};

}  // namespace

StepProgram expand_steps(const Tasks& tasks, const Schedule& schedule, const Target& target) { return Expander(tasks, schedule, target).run(); }

}  // namespace weft::ipu21
