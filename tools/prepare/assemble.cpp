#include "prepare/assemble.h"

#include <algorithm>

#include "base/checked.h"
#include "base/id.h"
#include "prepare/moves.h"

namespace weft::preparation {
namespace {

std::uint32_t size_of(const auto& column) { return narrow<std::uint32_t>(column.size()); }

void append_strip(TasksColumns& columns, const MappedStrip& strip) {
    Strip row;
    row.first_piece = size_of(columns.pieces);
    row.piece_count = size_of(strip.pieces);
    row.first_target = size_of(columns.targets);
    row.target_count = size_of(strip.targets);
    row.first_block = size_of(columns.blocks);
    row.block_count = size_of(strip.blocks);
    row.rows = strip.rows;
    row.columns = strip.columns;
    row.crossbars = strip.crossbars;
    row.bias_row = strip.bias_row ? 1 : 0;
    columns.strips.push_back(row);
    columns.pieces.insert(columns.pieces.end(), strip.pieces.begin(), strip.pieces.end());
    columns.targets.insert(columns.targets.end(), strip.targets.begin(), strip.targets.end());
    columns.blocks.insert(columns.blocks.end(), strip.blocks.begin(), strip.blocks.end());
}

std::vector<MoveCopy> copies_of(const DraftFamily& family, const Draft& draft) {
    std::vector<TaskTensor> sources;
    for (const std::uint32_t input : family.inputs) sources.push_back(draft.tensors[input]);
    return build_copies(draft.moves[family.move], sources);
}

void append_move(TasksColumns& columns, std::uint32_t family, const DraftFamily& draft, const Draft& whole) {
    const MoveSpec& spec = whole.moves[draft.move];
    const auto copies = spec.copies.empty() ? copies_of(draft, whole) : spec.copies;
    columns.moves.push_back({family, size_of(columns.copies), size_of(copies), spec.fill});
    columns.copies.insert(columns.copies.end(), copies.begin(), copies.end());
}

}  // namespace

void build_moves(Draft& draft) {
    for (const DraftFamily& family : draft.families) {
        if (family.move != no_id) draft.moves[family.move].copies = copies_of(family, draft);
    }
}

TasksColumns assemble(Draft draft) {
    TasksColumns columns;
    for (std::uint32_t id = 0; id < draft.families.size(); ++id) {
        const DraftFamily& source = draft.families[id];
        Family row = source.row;
        row.name = pool_append(columns.name_pool, source.name);
        row.first_input = size_of(columns.inputs);
        row.input_count = size_of(source.inputs);
        row.first_step = size_of(columns.steps);
        row.step_count = size_of(source.steps);
        row.first_strip = size_of(columns.strips);
        row.strip_count = size_of(source.strips);
        columns.inputs.insert(columns.inputs.end(), source.inputs.begin(), source.inputs.end());
        columns.steps.insert(columns.steps.end(), source.steps.begin(), source.steps.end());
        for (const MappedStrip& strip : source.strips) {
            append_strip(columns, strip);
            row.crossbars += strip.crossbars;
        }
        if (source.move != no_id) append_move(columns, id, source, draft);
        columns.families.push_back(row);
        columns.bands.push_back(source.band);
        columns.biases.push_back(source.bias);
    }
    if (std::all_of(columns.bands.begin(), columns.bands.end(), [](const FamilyBand& band) { return band.period == 0; })) columns.bands.clear();
    const auto does_nothing = [](const FamilyBias& bias) { return bias.constant == no_id && bias.clamp == 0; };
    if (std::all_of(columns.biases.begin(), columns.biases.end(), does_nothing)) columns.biases.clear();
    columns.tensors = std::move(draft.tensors);
    columns.constants = std::move(draft.constants);
    columns.weights = std::move(draft.weights);
    columns.graph_inputs = std::move(draft.graph_inputs);
    columns.graph_outputs = std::move(draft.graph_outputs);
    return columns;
}

}  // namespace weft::preparation
