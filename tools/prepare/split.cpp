#include "prepare/split.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/id.h"
#include "prepare/sums.h"

namespace weft::preparation {
namespace {

/// The step that adds one value per channel, where it is the layer's first.
bool starts_with_bias(const Draft& draft, const DraftFamily& layer) {
    if (layer.steps.empty()) return false;
    const Step& step = layer.steps.front();
    if (step.kind != static_cast<std::uint32_t>(StepKind::AddOperand) || step.operand_kind != static_cast<std::uint32_t>(OperandKind::ChannelConstant)) return false;
    const TaskConstant& constant = draft.constants[step.operand];
    return constant.weight != no_id && constant.scale == 1.0F && constant.shift == 0.0F && constant.row_stride == 0 && constant.column_stride == 0;
}

/// True where values are clamped at zero by that step, or behind the bias.
bool clamps_at_zero(const DraftFamily& layer, bool bias) {
    const std::size_t index = bias ? 1 : 0;
    if (layer.steps.size() <= index) return false;
    const Step& step = layer.steps[index];
    return step.kind == static_cast<std::uint32_t>(StepKind::Relu) || (step.kind == static_cast<std::uint32_t>(StepKind::Clip) && step.alpha == 0.0F && step.beta > 0.0F);
}

/// Writes the families of one mapped layer behind those in `families`; the last one writes the layer's own tensor and carries
/// its steps, but for a bias and a clamp that the matrices do.
class LayerWriter {
public:
    LayerWriter(Draft& draft, std::vector<DraftFamily>& families, const DraftFamily& layer, const ChipFacts& chip, bool blocks)
        : draft_(draft), families_(families), layer_(layer), chip_(chip), blocks_(blocks), bias_(starts_with_bias(draft, layer)), clamp_(clamps_at_zero(layer, bias_)),
          bias_in_matrix_(bias_ && draft.matrices[layer.matrix].keeps_order) {}

    void write(std::vector<ColumnGroup> groups) {
        const bool joined = groups.size() > 1;
        // Of several groups of columns all are clamped by their matrices, or none.
        clamps_in_matrix_ = clamp_ && std::all_of(groups.begin(), groups.end(), [&](const ColumnGroup& group) {
            return group.bands.empty() && group.part_ends.size() == 1 && plan(group.strips, {bias_, true, 0, all_rows, bias_in_matrix_}, layer_.row.tile_rows, group.channel_count).clamp;
        });
        std::vector<std::uint32_t> columns;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            ColumnGroup& group = groups[g];
            first_channel_ = group.first_channel;
            const std::string name = joined ? fmt::format("{}:columns{}", layer_.name, g) : layer_.name;
            const std::uint32_t output = joined ? partial_tensor(group.channel_count) : layer_.row.output;
            write_group(name, std::move(group), output, !joined);
            columns.push_back(output);
        }
        if (joined) write_join(columns);
    }

private:
    std::uint32_t partial_tensor(std::uint32_t channels, std::uint32_t rows = 0) {
        Layout layout = layout_of(draft_.tensors[layer_.row.output]);
        layout.channels = channels;
        if (rows != 0) layout.rows = rows;
        return add_tensor(draft_, no_id, layout, no_id);
    }

    DraftFamily derived(const std::string& name, FamilyKind kind, std::uint32_t output) const {
        DraftFamily family;
        family.name = name;
        family.layer = layer_.layer;
        family.row = layer_.row;
        family.row.kind = static_cast<std::uint32_t>(kind);
        family.row.output = output;
        if (kind != FamilyKind::Matrix) {
            family.row.kernel_rows = family.row.kernel_columns = family.row.stride_rows = family.row.stride_columns = 1;
            family.row.dilation_rows = family.row.dilation_columns = 1;
            family.row.pad_top = family.row.pad_left = 0;
            family.row.tile_rows = family.row.tile_columns = 1;
        }
        return family;
    }

    void append(DraftFamily family, bool with_steps) {
        if (with_steps) {
            // Operand slots follow the body's inputs, which may be others than the layer's.
            const auto shift = static_cast<std::uint32_t>(family.inputs.size()) - layer_.body_inputs;
            family.inputs.insert(family.inputs.end(), layer_.inputs.begin() + layer_.body_inputs, layer_.inputs.end());
            for (std::size_t i = bias_ ? 1 : 0; i < layer_.steps.size(); ++i) {
                Step step = layer_.steps[i];
                if (clamps_in_matrix_ && i == (bias_ ? 1U : 0U)) {
                    if (step.kind == static_cast<std::uint32_t>(StepKind::Relu)) continue;
                    step.alpha = -std::numeric_limits<float>::infinity();     // what is left of a Clip
                }
                const auto kind = static_cast<OperandKind>(step.operand_kind);
                if (kind == OperandKind::Input || kind == OperandKind::InputBroadcast) step.operand += shift;
                family.steps.push_back(step);
            }
        }
        draft_.tensors[family.row.output].producer = static_cast<std::uint32_t>(families_.size());
        families_.push_back(std::move(family));
    }

    [[nodiscard]] SumPlan plan(std::span<const MappedStrip> strips, const SumTail& tail, std::uint32_t tile_rows, std::uint32_t channels) const {
        return plan_sums(strips, tile_rows, layer_.row.tile_columns, channels, tail, chip_);
    }

    /// The bias of a family's channels, and the clamp, in its matrices or with its additions.
    void add_tail(DraftFamily& family, const SumTail& tail) {
        if (!tail.bias && !tail.clamp) return;
        const std::uint32_t channels = draft_.tensors[family.row.output].channels;
        const SumPlan sums = plan(family.strips, tail, family.row.tile_rows, channels);
        family.bias.clamp = sums.clamp ? 1 : 0;
        if (!tail.bias || tail.row_count == 0) return;
        const std::uint32_t row = layer_.steps.front().operand;
        // In another order than the constant's the bias is in the matrices only.
        std::vector<std::uint32_t> order;
        if (tail.in_matrix) {
            for (std::uint32_t channel = 0; channel < channels; ++channel) order.push_back(draft_.matrices[layer_.matrix].weight_column(first_channel_ + channel));
        }
        const bool shifted = first_channel_ != 0 && !tail.in_matrix;
        family.bias.constant = shifted ? narrow<std::uint32_t>(draft_.constants.size()) : row;
        if (shifted) {
            draft_.constants.push_back(draft_.constants[row]);
            draft_.constants.back().offset += first_channel_ * draft_.constants.back().channel_stride;
        }
        family.bias.first_row = tail.first_row;
        family.bias.row_count = std::min(tail.row_count, family.row.tile_rows);
        add_bias_rows(family.strips, sums, family.row.tile_columns, channels, tail, draft_.constants[family.bias.constant], order, blocks_);
    }

    void write_group(const std::string& name, ColumnGroup group, std::uint32_t output, bool with_steps) {
        if (!group.bands.empty()) return write_bands(name, std::move(group), output, with_steps);
        const bool whole = group.part_ends.size() == 1;
        std::vector<std::uint32_t> parts;
        std::size_t first = 0;
        for (const std::size_t end : group.part_ends) {
            parts.push_back(whole ? output : partial_tensor(group.channel_count));
            DraftFamily family = derived(whole ? name : fmt::format("{}:part{}", name, parts.size() - 1), FamilyKind::Matrix, parts.back());
            family.inputs.assign(layer_.inputs.begin(), layer_.inputs.begin() + layer_.body_inputs);
            family.strips.assign(std::make_move_iterator(group.strips.begin() + static_cast<std::ptrdiff_t>(first)),
                                 std::make_move_iterator(group.strips.begin() + static_cast<std::ptrdiff_t>(end)));
            add_tail(family, {bias_ && first == 0, clamps_in_matrix_, 0, all_rows, bias_in_matrix_});
            append(std::move(family), whole && with_steps);
            first = end;
        }
        if (whole) return;
        DraftFamily sum = derived(fmt::format("{}:sum", name), FamilyKind::Pointwise, output);
        sum.inputs = parts;
        for (std::uint32_t slot = 1; slot < parts.size(); ++slot) {
            sum.steps.push_back({static_cast<std::uint32_t>(StepKind::AddOperand), static_cast<std::uint32_t>(OperandKind::Input), slot, 0, 0});
        }
        append(std::move(sum), with_steps);
    }

    void write_bands(const std::string& name, ColumnGroup group, std::uint32_t output, bool with_steps) {
        const std::uint32_t period = layer_.row.tile_rows;
        const std::uint32_t tiles = ceil_divide(draft_.tensors[output].rows, period);
        DraftFamily sum = derived(fmt::format("{}:sum", name), FamilyKind::BandSum, output);
        sum.band.period = period;
        sum.inputs.clear();
        std::size_t first = 0;
        for (std::size_t part = 0; part < group.bands.size(); ++part) {
            const RowBand band = group.bands[part];
            sum.inputs.push_back(partial_tensor(group.channel_count, tiles * band.row_count));
            DraftFamily family = derived(fmt::format("{}:band{}", name, part), FamilyKind::Matrix, sum.inputs.back());
            family.row.tile_rows = band.row_count;
            family.band = {period, band.first_row};
            family.inputs.assign(layer_.inputs.begin(), layer_.inputs.begin() + layer_.body_inputs);
            const auto strips = group.strips.begin();
            family.strips.assign(std::make_move_iterator(strips + static_cast<std::ptrdiff_t>(first)),
                                 std::make_move_iterator(strips + static_cast<std::ptrdiff_t>(group.part_ends[part])));
            const RowBand bias_rows = first_rows(group.bands, part);
            add_tail(family, {bias_, false, bias_rows.first_row, bias_rows.row_count, bias_in_matrix_});
            append(std::move(family), false);
            first = group.part_ends[part];
        }
        append(std::move(sum), with_steps);
    }

    void write_join(const std::vector<std::uint32_t>& columns) {
        DraftFamily join = derived(fmt::format("{}:join", layer_.name), FamilyKind::Move, layer_.row.output);
        join.inputs = columns;
        const TaskTensor& output = draft_.tensors[layer_.row.output];
        MoveSpec spec;
        spec.dims = {output.rows, output.columns, output.channels};
        spec.layout = layout_of(output);
        for (std::uint32_t position = 0; position < output.rows * output.columns; ++position) {
            std::uint32_t first = 0;
            for (std::uint32_t slot = 0; slot < columns.size(); ++slot) {
                const std::uint32_t channels = draft_.tensors[columns[slot]].channels;
                spec.copies.push_back({position, first, slot, position, 0, channels, 1});
                first += channels;
            }
        }
        join.move = static_cast<std::uint32_t>(draft_.moves.size());
        draft_.moves.push_back(std::move(spec));
        append(std::move(join), true);
    }

    Draft& draft_;
    std::vector<DraftFamily>& families_;
    const DraftFamily& layer_;
    const ChipFacts& chip_;
    bool blocks_;
    bool bias_;                             // is the layer's first step, which no family keeps
    bool clamp_;                            // is the step behind it
    bool bias_in_matrix_;                   // every output's has to be
    bool clamps_in_matrix_ = false;         // then no family keeps the step
    std::uint32_t first_channel_ = 0;       // of the present group
};

}  // namespace

MatrixProblem matrix_problem(const Draft& draft, const DraftFamily& layer) {
    const TaskTensor& output = draft.tensors[layer.row.output];
    MatrixProblem problem{draft.matrices[layer.matrix], layer.row, {}, output.rows, output.columns};
    problem.bias = starts_with_bias(draft, layer);
    problem.clamp = clamps_at_zero(layer, problem.bias);
    for (std::uint32_t slot = 0; slot < layer.body_inputs; ++slot) problem.input_channels.push_back(draft.tensors[layer.inputs[slot]].channels);
    return problem;
}

void map_matrices(Draft& draft, const ChipFacts& chip, const std::vector<MappingChoice>& choices, bool blocks) {
    std::vector<DraftFamily> families;
    std::size_t next = 0;
    for (DraftFamily& layer : draft.families) {
        layer.layer = static_cast<std::uint32_t>(&layer - draft.families.data());
        if (layer.matrix == no_id) {
            draft.tensors[layer.row.output].producer = static_cast<std::uint32_t>(families.size());
            families.push_back(layer);
            continue;
        }
        const MappingChoice& choice = choices[next++];
        layer.row.tile_rows = choice.tile_rows;
        layer.row.tile_columns = choice.tile_columns;
        LayerWriter(draft, families, layer, chip, blocks).write(column_groups(matrix_problem(draft, layer), choice, chip, blocks));
    }
    draft.families = std::move(families);
}

std::uint64_t crossbar_total(const Draft& draft) {
    std::uint64_t sum = 0;
    for (const DraftFamily& family : draft.families) {
        for (const MappedStrip& strip : family.strips) sum += strip.crossbars;
    }
    return sum;
}

}  // namespace weft::preparation
