#include "prepare/split.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "prepare/matrix.h"

namespace weft::preparation {
namespace {

/// Output channels [first_channel, first_channel + channel_count) and the strips that compute them, in parts of consecutive
/// strips that each fit a core.
struct ColumnGroup {
    std::uint32_t first_channel = 0;
    std::uint32_t channel_count = 0;
    std::vector<MappedStrip> strips;
    std::vector<std::size_t> part_ends;
};

struct Mapping {
    std::vector<ColumnGroup> groups;
    std::int64_t score_ns = std::numeric_limits<std::int64_t>::max();
    std::uint64_t crossbars = 0;
};

std::uint64_t crossbars_of(const std::vector<MappedStrip>& strips) {
    std::uint64_t sum = 0;
    for (const MappedStrip& strip : strips) sum += strip.crossbars;
    return sum;
}

/// Ends of the parts that greedy filling up to `limit` crossbars makes.
std::vector<std::size_t> fill_parts(const std::vector<MappedStrip>& strips, std::uint64_t limit) {
    std::vector<std::size_t> ends;
    std::uint64_t used = 0;
    for (std::size_t s = 0; s < strips.size(); ++s) {
        if (used != 0 && used + strips[s].crossbars > limit) {
            ends.push_back(s);
            used = 0;
        }
        used += strips[s].crossbars;
    }
    ends.push_back(strips.size());
    return ends;
}

/// As few parts as `limit` allows, and among those the least largest one.
std::vector<std::size_t> balanced_parts(const std::vector<MappedStrip>& strips, std::uint64_t limit) {
    std::vector<std::size_t> best = fill_parts(strips, limit);
    std::uint64_t low = 1;
    std::uint64_t high = limit;
    while (low < high) {
        const std::uint64_t middle = (low + high) / 2;
        auto parts = fill_parts(strips, middle);
        if (parts.size() == best.size()) {
            best = std::move(parts);
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return best;
}

/// A family may fill this much of a core, so that small families still find room beside it.
std::uint64_t family_limit(const ChipFacts& chip) { return std::max<std::uint64_t>(1, std::uint64_t{chip.crossbars_per_core} * 95 / 100); }

/// Widths for strips wider than a core: equal groups of columns, so many that whole groups fill a core best.
std::vector<ChannelBlock> column_blocks(const MatrixProblem& problem, const ChipFacts& chip) {
    const std::uint32_t outputs = problem.spec.outputs_per_group;
    const std::uint32_t width = ceil_divide(outputs, chip.results_per_crossbar);
    if (width <= chip.crossbars_per_core) return {{0, 1, 0, outputs}};
    const std::uint32_t fewest = ceil_divide(width, chip.crossbars_per_core);
    std::uint32_t best = fewest;
    std::uint32_t best_used = 0;
    for (std::uint32_t count = fewest; count <= std::min(width, fewest * 4); ++count) {
        const std::uint32_t each = ceil_divide(width, count);
        const std::uint32_t used = chip.crossbars_per_core / each * each;
        if (used > best_used) {
            best = count;
            best_used = used;
        }
    }
    const std::uint32_t each = ceil_divide(width, best) * chip.results_per_crossbar;
    std::vector<ChannelBlock> blocks;
    for (std::uint32_t first = 0; first < outputs; first += each) blocks.push_back({0, 1, first, std::min(each, outputs - first)});
    return blocks;
}

/// Blocks of channels joined into column groups while they fit one family together.
std::vector<ColumnGroup> column_groups(const MatrixProblem& problem, const MappingChoice& choice, const ChipFacts& chip) {
    const bool dense = problem.spec.groups == 1;
    const auto blocks = dense ? column_blocks(problem, chip) : channel_blocks(problem, choice.groups_per_block);
    std::vector<ColumnGroup> groups;
    std::uint64_t used = 0;
    for (const ChannelBlock& block : blocks) {
        std::vector<MappedStrip> strips = map_block(problem, block, choice.form, chip);
        const std::uint64_t crossbars = crossbars_of(strips);
        if (groups.empty() || dense || used + crossbars > family_limit(chip)) {
            groups.push_back({block.first_output, 0, {}, {}});
            used = 0;
        }
        used += crossbars;
        groups.back().channel_count += block.output_count;
        std::move(strips.begin(), strips.end(), std::back_inserter(groups.back().strips));
    }
    for (ColumnGroup& group : groups) {
        // Targets are counted from the group's own first channel.
        for (MappedStrip& strip : group.strips) {
            for (StripTarget& target : strip.targets) target.channel -= group.first_channel;
        }
        group.part_ends = balanced_parts(group.strips, family_limit(chip));
    }
    return groups;
}

/// Time of a tile with what joining the parts costs: a receive and an addition of every partial result, a copy of every column
/// group.
Mapping evaluate(const MatrixProblem& problem, const MappingChoice& choice, const ChipFacts& chip, std::int64_t ns_per_crossbar) {
    Mapping mapping;
    mapping.groups = column_groups(problem, choice, chip);
    mapping.score_ns = 0;
    for (const ColumnGroup& group : mapping.groups) {
        mapping.score_ns += strips_cost(group.strips, group.channel_count, chip).total();
        mapping.crossbars += crossbars_of(group.strips);
        const std::int64_t transfer = 3 * chip.timing.copy_ns(group.channel_count);
        if (mapping.groups.size() > 1) mapping.score_ns += transfer + chip.timing.copy_ns(group.channel_count);
        if (const auto parts = static_cast<std::int64_t>(group.part_ends.size()); parts > 1) {
            mapping.score_ns += parts * (transfer + chip.timing.vector_ns(Opcode::Vvadd, group.channel_count));
        }
    }
    mapping.score_ns += static_cast<std::int64_t>(mapping.crossbars) * ns_per_crossbar;
    return mapping;
}

Mapping best_mapping(const MatrixProblem& problem, const ChipFacts& chip, std::int64_t ns_per_crossbar) {
    Mapping best;
    for (const MappingChoice& choice : mapping_choices(problem, chip)) {
        Mapping mapping = evaluate(problem, choice, chip, ns_per_crossbar);
        if (std::pair(mapping.score_ns, mapping.crossbars) < std::pair(best.score_ns, best.crossbars)) best = std::move(mapping);
    }
    return best;
}

/// Writes the families of one mapped layer behind those in `families`; the last one writes the layer's own tensor and carries
/// its steps.
class LayerWriter {
public:
    LayerWriter(Draft& draft, std::vector<DraftFamily>& families, const DraftFamily& layer) : draft_(draft), families_(families), layer_(layer) {}

    void write(Mapping mapping) {
        const bool joined = mapping.groups.size() > 1;
        std::vector<std::uint32_t> columns;
        for (std::size_t g = 0; g < mapping.groups.size(); ++g) {
            ColumnGroup& group = mapping.groups[g];
            const std::string name = joined ? fmt::format("{}:columns{}", layer_.name, g) : layer_.name;
            const std::uint32_t output = joined ? partial_tensor(group.channel_count) : layer_.row.output;
            write_group(name, std::move(group), output, !joined);
            columns.push_back(output);
        }
        if (joined) write_join(columns);
    }

private:
    std::uint32_t partial_tensor(std::uint32_t channels) {
        Layout layout = layout_of(draft_.tensors[layer_.row.output]);
        layout.channels = channels;
        return add_tensor(draft_, no_id, layout, no_id);
    }

    DraftFamily derived(const std::string& name, FamilyKind kind, std::uint32_t output) const {
        DraftFamily family;
        family.name = name;
        family.row = layer_.row;
        family.row.kind = static_cast<std::uint32_t>(kind);
        family.row.output = output;
        if (kind != FamilyKind::Matrix) {
            family.row.kernel_rows = family.row.kernel_columns = family.row.stride_rows = family.row.stride_columns = 1;
            family.row.dilation_rows = family.row.dilation_columns = 1;
            family.row.pad_top = family.row.pad_left = 0;
        }
        return family;
    }

    void append(DraftFamily family, bool with_steps) {
        if (with_steps) {
            // Operand slots follow the body's inputs, which may be more than the layer's one.
            const auto shift = static_cast<std::uint32_t>(family.inputs.size()) - 1;
            family.inputs.insert(family.inputs.end(), layer_.inputs.begin() + 1, layer_.inputs.end());
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
        const bool whole = group.part_ends.size() == 1;
        std::vector<std::uint32_t> parts;
        std::size_t first = 0;
        for (const std::size_t end : group.part_ends) {
            parts.push_back(whole ? output : partial_tensor(group.channel_count));
            DraftFamily family = derived(whole ? name : fmt::format("{}:part{}", name, parts.size() - 1), FamilyKind::Matrix, parts.back());
            family.inputs = {layer_.inputs[0]};
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

    void write_join(const std::vector<std::uint32_t>& columns) {
        DraftFamily join = derived(fmt::format("{}:join", layer_.name), FamilyKind::Move, layer_.row.output);
        join.inputs = columns;
        const auto pixels = [](const TaskTensor& tensor) {
            return normalized({tensor.rows, tensor.columns, tensor.channels, tensor.columns * tensor.channels, tensor.channels, 1});
        };
        const TaskTensor& output = draft_.tensors[layer_.row.output];
        MoveSpec spec;
        spec.dims = {output.rows, output.columns, output.channels};
        spec.layout = pixels(output);
        std::size_t first = 0;
        for (std::uint32_t slot = 0; slot < columns.size(); ++slot) {
            const TaskTensor& source = draft_.tensors[columns[slot]];
            const std::vector<std::uint32_t> dims{source.rows, source.columns, source.channels};
            std::vector<std::int32_t> map(output.channels, -1);
            for (std::uint32_t channel = 0; channel < source.channels; ++channel) map[first + channel] = static_cast<std::int32_t>(channel);
            spec.sources.push_back({slot, pixels(source), row_major_strides(dims), {{}, {}, std::move(map)}});
            first += source.channels;
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

void map_matrices(Draft& draft, const ChipFacts& chip, std::int64_t ns_per_crossbar) {
    std::vector<DraftFamily> families;
    for (const DraftFamily& layer : draft.families) {
        if (layer.matrix == no_id) {
            draft.tensors[layer.row.output].producer = static_cast<std::uint32_t>(families.size());
            families.push_back(layer);
            continue;
        }
        const MatrixProblem problem{draft.matrices[layer.matrix], layer.row, draft.tensors[layer.inputs[0]].channels};
        LayerWriter(draft, families, layer).write(best_mapping(problem, chip, ns_per_crossbar));
    }
    draft.families = std::move(families);
}

std::uint64_t crossbar_total(const Draft& draft) {
    std::uint64_t sum = 0;
    for (const DraftFamily& family : draft.families) sum += crossbars_of(family.strips);
    return sum;
}

}  // namespace weft::preparation
