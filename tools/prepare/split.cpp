#include "prepare/split.h"

#include <algorithm>

#include "base/checked.h"
#include "base/id.h"

namespace weft::preparation {
namespace {

/// Writes the families of one mapped layer behind those in `families`; the last one writes the layer's own tensor and carries
/// its steps.
class LayerWriter {
public:
    LayerWriter(Draft& draft, std::vector<DraftFamily>& families, const DraftFamily& layer) : draft_(draft), families_(families), layer_(layer) {}

    void write(std::vector<ColumnGroup> groups) {
        const bool joined = groups.size() > 1;
        std::vector<std::uint32_t> columns;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            ColumnGroup& group = groups[g];
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
            for (Step step : layer_.steps) {
                const auto kind = static_cast<OperandKind>(step.operand_kind);
                if (kind == OperandKind::Input || kind == OperandKind::InputBroadcast) step.operand += shift;
                family.steps.push_back(step);
            }
        }
        draft_.tensors[family.row.output].producer = static_cast<std::uint32_t>(families_.size());
        families_.push_back(std::move(family));
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
};

}  // namespace

MatrixProblem matrix_problem(const Draft& draft, const DraftFamily& layer) {
    const TaskTensor& output = draft.tensors[layer.row.output];
    MatrixProblem problem{draft.matrices[layer.matrix], layer.row, {}, output.rows, output.columns};
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
        LayerWriter(draft, families, layer).write(column_groups(matrix_problem(draft, layer), choice, chip, blocks));
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
