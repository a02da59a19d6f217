#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/tasks.h"
#include "prepare/layout.h"

namespace weft::preparation {

/// A logical tensor seen in the pixels of a task tensor.
struct View {
    std::uint32_t tensor = 0xffffffffU;
    Layout layout;
    bool operator==(const View&) const = default;
};

/// The matrix of a Conv or Linear family: row (kernel row a, kernel column b, input channel c of its group) and column (output
/// channel m) is weight[a * row_stride + b * column_stride + c * channel_stride + m], m running over all groups.
struct MatrixSpec {
    std::uint32_t weight = 0;
    std::uint32_t groups = 1;
    std::uint32_t inputs_per_group = 0;
    std::uint32_t outputs_per_group = 0;
    std::uint32_t row_stride = 0;
    std::uint32_t column_stride = 0;
    std::uint32_t channel_stride = 0;
    std::vector<std::uint32_t> order{};                     // channel k of the input's pixels is channel order[k] of the layer's; empty: k
    bool keeps_order = false;                               // one input channel per group: the outputs' pixels have the groups in that order too

    /// True where a group's channels do not follow each other in the pixels.
    [[nodiscard]] bool is_scattered() const { return !order.empty() && !keeps_order; }
    /// The layer's input channel that stands at channel `channel` of the pixels; where the outputs keep the order, groups count as pixels do.
    [[nodiscard]] std::uint32_t input_channel(std::uint32_t channel) const { return is_scattered() ? order[channel] : channel; }
    /// The column of the weight, and element of the bias, of output channel `channel` of the pixels.
    [[nodiscard]] std::uint32_t weight_column(std::uint32_t channel) const {
        return keeps_order ? order[channel / outputs_per_group] * outputs_per_group + channel % outputs_per_group : channel;
    }
};

/// One source of a move: the element of flattened index sum_j maps[j][coordinate j] * strides[j], nothing where a map says -1.
/// An empty map is the identity.
struct MoveSource {
    std::uint32_t input = 0;                                // slot of the family
    Layout layout;
    std::vector<std::uint64_t> strides;                     // per axis of the output's shape
    std::vector<std::vector<std::int32_t>> maps;            // per axis
};

struct MoveSpec {
    std::vector<std::uint32_t> dims;                        // the output's logical shape
    Layout layout;                                          // and its pixels
    std::vector<MoveSource> sources;
    float fill = 0;
    std::vector<MoveCopy> copies;                           // where they are known already (build_moves)
};

/// One strip of a matrix family with everything the artifact says about it.
struct MappedStrip {
    std::vector<Piece> pieces;
    std::vector<StripTarget> targets;
    std::vector<MatrixBlock> blocks;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::uint32_t crossbars = 0;
    bool bias_row = false;                                  // the last of `rows`
};

/// A family before its CSR ranges exist. `row` holds kind, output, window geometry and pool mode only.
struct DraftFamily {
    std::string name;
    Family row;
    std::vector<std::uint32_t> inputs;                      // task tensors: what the body reads, then operands of steps
    std::uint32_t body_inputs = 1;                          // of a matrix: several are the parts of a concatenation
    std::vector<Step> steps;
    std::uint32_t matrix = 0xffffffffU;                     // into Draft::matrices
    std::uint32_t move = 0xffffffffU;                       // into Draft::moves
    FamilyBand band{};
    FamilyBias bias{0xffffffffU, 0, 0, 0};
    std::vector<MappedStrip> strips;                        // after mapping
    std::uint32_t layer = 0xffffffffU;                      // after mapping: row of the draft's families that it comes from
};

/// What the passes work on: tables that only grow, in topological order of families.
struct Draft {
    std::vector<TaskTensor> tensors;
    std::vector<DraftFamily> families;
    std::vector<MatrixSpec> matrices;
    std::vector<MoveSpec> moves;
    std::vector<TaskConstant> constants;
    std::vector<Weight> weights;
    std::vector<std::uint32_t> graph_inputs;
    std::vector<std::uint32_t> graph_outputs;
};

[[nodiscard]] inline Layout layout_of(const TaskTensor& tensor) {
    return {tensor.rows, tensor.columns, tensor.channels, tensor.row_stride, tensor.column_stride, tensor.channel_stride};
}

/// Append a tensor of that layout; returns its id. `producer` is set by the caller who knows it.
inline std::uint32_t add_tensor(Draft& draft, std::uint32_t graph_tensor, const Layout& layout, std::uint32_t producer) {
    TaskTensor row;
    row.graph_tensor = graph_tensor;
    row.rows = layout.rows;
    row.columns = layout.columns;
    row.channels = layout.channels;
    row.row_stride = layout.row_stride;
    row.column_stride = layout.column_stride;
    row.channel_stride = layout.channel_stride;
    row.producer = producer;
    row.output_port = 0xffffffffU;
    draft.tensors.push_back(row);
    return static_cast<std::uint32_t>(draft.tensors.size() - 1);
}

}  // namespace weft::preparation
