#include "prepare/fusion.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "prepare/drafter.h"

namespace weft::preparation {
namespace {

/// Nodes by the longest path that leads to them: of the two operands of an addition the one from the longer path is then the one that
/// is computed last and carries it, and the shorter path waits as its own small result instead of as its large input.
std::vector<std::uint32_t> nodes_by_depth(const GraphIndex& index) {
    std::vector<std::uint32_t> depth(index.node_count(), 0);
    std::vector<std::uint32_t> order(index.node_count());
    for (std::uint32_t node = 0; node < index.node_count(); ++node) {
        order[node] = node;
        for (const std::uint32_t tensor : index.inputs(node)) {
            if (tensor == no_id) continue;
            const std::uint32_t producer = index.producer(tensor);
            if (producer != no_id) depth[node] = std::max(depth[node], depth[producer] + 1);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return depth[a] < depth[b]; });
    return order;
}

}  // namespace

Drafter::Drafter(const GraphIndex& index, const HostSplit& split, std::uint32_t crossbar_rows)
    : index_(index), split_(split), crossbar_rows_(crossbar_rows), views_(index.tensor_count()), parts_(index.tensor_count()), shuffled_(index.tensor_count(), no_id), open_family_(index.tensor_count(), no_id), uses_(index.tensor_count(), 0),
      weight_rows_(index.graph().blobs.size(), no_id), silu_input_(index.node_count(), no_id), skipped_(index.node_count(), 0) {
    for (std::uint32_t node = 0; node < index.node_count(); ++node) {
        if (split.side[node] != HostSplit::Side::chip) continue;
        for (const std::uint32_t tensor : index.inputs(node)) {
            if (tensor != no_id) ++uses_[tensor];
        }
    }
    for (const std::uint32_t tensor : split.chip_outputs) ++uses_[tensor];
    find_silus();
}

/// x * Sigmoid(x), where nobody else reads the sigmoid, is one step.
void Drafter::find_silus() {
    for (std::uint32_t node = 0; node < index_.node_count(); ++node) {
        if (!on_chip(node) || index_.kind(node) != OperatorKind::Mul) continue;
        for (std::size_t side = 0; side < 2; ++side) {
            const std::uint32_t gate = index_.input(node, side);
            const std::uint32_t x = index_.input(node, 1 - side);
            const std::uint32_t sigmoid = index_.producer(gate);
            if (sigmoid == no_id || !on_chip(sigmoid) || index_.kind(sigmoid) != OperatorKind::Sigmoid) continue;
            if (index_.input(sigmoid, 0) != x || uses_[gate] != 1) continue;
            silu_input_[node] = x;
            skipped_[sigmoid] = 1;
            --uses_[x];
            break;
        }
    }
}

/// Pixels of a network input: those that its consumer wants, looked for behind a chain of views; the host writes any order.
Layout Drafter::input_layout(std::uint32_t tensor) const {
    std::vector<std::uint32_t> transposes;
    std::uint32_t last = tensor;
    while (uses_[last] == 1 && index_.consumers(last).size() == 1 && on_chip(index_.consumers(last)[0])) {
        const std::uint32_t node = index_.consumers(last)[0];
        if (index_.kind(node) == OperatorKind::Transpose) transposes.push_back(node);
        else if (index_.kind(node) != OperatorKind::Reshape) break;
        last = index_.outputs(node)[0];
    }
    Layout layout = default_layout(index_.dims(last));
    for (std::size_t i = transposes.size(); i-- > 0;) {
        // Backwards through y = Transpose(x, perm): x is y transposed by the inverse permutation.
        const auto perm = index_.ints(transposes[i], AttributeKey::Perm);
        std::vector<std::int32_t> inverse(perm.size());
        for (std::size_t axis = 0; axis < perm.size(); ++axis) inverse[static_cast<std::size_t>(perm[axis])] = static_cast<std::int32_t>(axis);
        const auto back = transposed(layout, index_.dims(index_.outputs(transposes[i])[0]), inverse);
        if (!back) return default_layout(index_.dims(tensor));
        layout = *back;
    }
    return layout;
}

std::uint32_t Drafter::weight_row(std::uint32_t tensor) {
    const std::uint32_t blob = index_.graph().tensors[tensor].blob;
    if (weight_rows_[blob] == no_id) {
        const Blob& row = index_.graph().blobs[blob];
        weight_rows_[blob] = static_cast<std::uint32_t>(draft_.weights.size());
        draft_.weights.push_back({row.hash_high, row.hash_low, row.byte_count / sizeof(float)});
    }
    return weight_rows_[blob];
}

std::uint32_t Drafter::add_family(std::string_view name, FamilyKind kind, std::uint32_t graph_tensor, const Layout& layout,
                                  std::vector<std::uint32_t> inputs) {
    const auto id = static_cast<std::uint32_t>(draft_.families.size());
    DraftFamily family;
    family.name = name;
    family.row.kind = static_cast<std::uint32_t>(kind);
    family.row.tile_rows = 1;
    family.row.tile_columns = 1;
    family.row.kernel_rows = family.row.kernel_columns = 1;
    family.row.stride_rows = family.row.stride_columns = 1;
    family.row.dilation_rows = family.row.dilation_columns = 1;
    family.row.output = add_tensor(draft_, graph_tensor, normalized(layout), id);
    family.inputs = std::move(inputs);
    draft_.families.push_back(std::move(family));
    return id;
}

/// `tensor` is what family `family` computes.
void Drafter::set_result(std::uint32_t tensor, std::uint32_t family) {
    const std::uint32_t output = draft_.families[family].row.output;
    TaskTensor& row = draft_.tensors[output];
    row.graph_tensor = tensor;
    views_[tensor] = {output, layout_of(row)};
    open_family_[tensor] = family;
}

/// A copy of `view` (of shape `dims`) into other pixels of the same logical tensor. `strides`: of the view's logical tensor per
/// axis of `dims`; zeros broadcast.
std::uint32_t Drafter::add_copy(std::string_view name, const View& view, std::span<const std::uint32_t> dims,
                                std::vector<std::uint64_t> strides, const Layout& layout) {
    const std::uint32_t family = add_family(name, FamilyKind::Move, no_id, layout, {view.tensor});
    MoveSpec spec;
    spec.dims.assign(dims.begin(), dims.end());
    spec.layout = normalized(layout);
    spec.sources.push_back({0, view.layout, std::move(strides), std::vector<std::vector<std::int32_t>>(dims.size())});
    draft_.families[family].move = static_cast<std::uint32_t>(draft_.moves.size());
    draft_.moves.push_back(std::move(spec));
    return family;
}

/// The view of `tensor` in pixels `layout`: as it is where it fits, else a relayout (made once per layout).
View Drafter::require(std::uint32_t tensor, const Layout& layout) {
    const View view = view_of(tensor);
    if (view.layout == normalized(layout)) return view;
    for (const auto& [source, other] : relayouts_) {
        if (source == tensor && other.layout == normalized(layout)) return other;
    }
    const auto dims = index_.dims(tensor);
    const std::uint32_t family =
        add_copy(fmt::format("{}:relayout", index_.tensor_name(tensor)), view, dims, row_major_strides(dims), layout);
    const View result{draft_.families[family].row.output, normalized(layout)};
    relayouts_.emplace_back(tensor, result);
    return result;
}

View Drafter::view_of(std::uint32_t tensor) {
    if (views_[tensor].tensor == no_id && shuffled_[tensor] != no_id) unshuffle(tensor);
    WEFT_CHECK(views_[tensor].tensor != no_id, "tensor '{}' has no pixels", index_.tensor_name(tensor));
    return views_[tensor];
}

View Drafter::require_image(std::uint32_t tensor) {
    const auto dims = index_.dims(tensor);
    return require(tensor, image_layout(dims[1], dims[2], dims[3]));
}

void Drafter::add_window(Family& family, std::uint32_t node, std::uint32_t kernel_rows, std::uint32_t kernel_columns) {
    const auto strides = index_.ints(node, AttributeKey::Strides);
    const auto dilations = index_.ints(node, AttributeKey::Dilations);
    const auto pads = index_.ints(node, AttributeKey::Pads);
    const auto at = [](std::span<const std::int32_t> values, std::size_t i, std::int32_t missing) {
        return static_cast<std::uint32_t>(values.size() > i ? values[i] : missing);
    };
    family.kernel_rows = kernel_rows;
    family.kernel_columns = kernel_columns;
    family.stride_rows = at(strides, 0, 1);
    family.stride_columns = at(strides, 1, 1);
    family.dilation_rows = at(dilations, 0, 1);
    family.dilation_columns = at(dilations, 1, 1);
    family.pad_top = at(pads, 0, 0);
    family.pad_left = at(pads, 1, 0);
}

void Drafter::add_bias(std::uint32_t family, std::uint32_t node) {
    const std::uint32_t bias = index_.input(node, 2);
    if (bias == no_id) return;
    draft_.constants.push_back({weight_row(bias), 0, 0, 0, 1, 1.0F, 0.0F});
    draft_.families[family].steps.push_back(
        {static_cast<std::uint32_t>(StepKind::AddOperand), static_cast<std::uint32_t>(OperandKind::ChannelConstant),
         static_cast<std::uint32_t>(draft_.constants.size() - 1), 0, 0});
}

void Drafter::add_conv(std::uint32_t node) {
    const std::uint32_t x_tensor = index_.input(node, 0);
    std::vector<std::uint32_t> inputs = parts_[x_tensor];
    std::vector<std::uint32_t> order;
    if (shuffled_[x_tensor] != no_id && absorbs_shuffle(node)) {
        order = shuffles_[shuffled_[x_tensor]].order;
        inputs.push_back(shuffles_[shuffled_[x_tensor]].view.tensor);
    }
    if (inputs.empty()) inputs.push_back(require_image(x_tensor).tensor);
    const auto body_inputs = static_cast<std::uint32_t>(inputs.size());
    const std::uint32_t weight = index_.input(node, 1);
    const auto weight_dims = index_.dims(weight);
    const std::uint32_t output = index_.outputs(node)[0];
    const auto output_dims = index_.dims(output);
    const std::uint32_t family = add_family(index_.node_name(node), FamilyKind::Matrix, output,
                                            image_layout(output_dims[1], output_dims[2], output_dims[3]), std::move(inputs));
    draft_.families[family].body_inputs = body_inputs;
    add_window(draft_.families[family].row, node, weight_dims[0], weight_dims[1]);
    MatrixSpec spec;
    spec.weight = weight_row(weight);
    spec.groups = static_cast<std::uint32_t>(index_.integer(node, AttributeKey::Group, 1));
    spec.inputs_per_group = weight_dims[2];
    spec.outputs_per_group = weight_dims[3] / spec.groups;
    spec.channel_stride = weight_dims[3];
    spec.column_stride = spec.channel_stride * weight_dims[2];
    spec.row_stride = spec.column_stride * weight_dims[1];
    spec.keeps_order = !order.empty() && spec.groups > 1 && spec.inputs_per_group == 1;
    spec.order = std::move(order);
    draft_.families[family].matrix = static_cast<std::uint32_t>(draft_.matrices.size());
    draft_.matrices.push_back(spec);
    add_bias(family, node);
    if (!spec.keeps_order) return set_result(output, family);
    std::vector<std::uint32_t> output_order(output_dims[1]);
    for (std::uint32_t channel = 0; channel < output_dims[1]; ++channel) output_order[channel] = spec.weight_column(channel);
    set_shuffled(output, family, std::move(output_order));
}

/// One output position: any pixels of x do, weight rows are taken in their order and the kernel is the whole tensor. Several:
/// a 1x1 convolution, where a pixel is exactly one row of the logical x.
void Drafter::add_linear(std::uint32_t node) {
    const std::uint32_t x_tensor = index_.input(node, 0);
    const auto weight_dims = index_.dims(index_.input(node, 1));
    const std::uint32_t inputs = weight_dims[0];
    const std::uint32_t outputs = weight_dims[1];
    const std::uint64_t positions = index_.elem_count(x_tensor) / inputs;
    View x = view_of(x_tensor);
    MatrixSpec spec;
    spec.weight = weight_row(index_.input(node, 1));
    spec.outputs_per_group = outputs;
    Layout layout;
    layout.channels = outputs;
    layout.channel_stride = 1;
    std::uint32_t kernel_rows = 1;
    std::uint32_t kernel_columns = 1;
    if (positions == 1) {
        kernel_rows = x.layout.rows;
        kernel_columns = x.layout.columns;
    } else {
        const auto divides = [&](std::uint32_t stride) { return stride % inputs == 0; };
        const bool fits = x.layout.channels == inputs && (inputs == 1 || x.layout.channel_stride == 1) && divides(x.layout.row_stride) &&
                          divides(x.layout.column_stride);
        if (!fits) {
            x = require(x_tensor, list_layout(static_cast<std::uint32_t>(positions), inputs));
        }
        layout.rows = x.layout.rows;
        layout.columns = x.layout.columns;
        layout.row_stride = narrow<std::uint32_t>(std::uint64_t{x.layout.row_stride} / inputs * outputs);
        layout.column_stride = narrow<std::uint32_t>(std::uint64_t{x.layout.column_stride} / inputs * outputs);
    }
    spec.inputs_per_group = x.layout.channels;
    spec.row_stride = positions == 1 ? x.layout.row_stride * outputs : 0;
    spec.column_stride = positions == 1 ? x.layout.column_stride * outputs : 0;
    spec.channel_stride = positions == 1 ? x.layout.channel_stride * outputs : outputs;
    const std::uint32_t family =
        add_family(index_.node_name(node), FamilyKind::Matrix, index_.outputs(node)[0], layout, {x.tensor});
    draft_.families[family].row.kernel_rows = kernel_rows;
    draft_.families[family].row.kernel_columns = kernel_columns;
    draft_.families[family].matrix = static_cast<std::uint32_t>(draft_.matrices.size());
    draft_.matrices.push_back(spec);
    add_bias(family, node);
    set_result(index_.outputs(node)[0], family);
}

void Drafter::add_remap(std::uint32_t node) {
    const std::uint32_t output = index_.outputs(node)[0];
    const auto dims = index_.dims(output);
    const View view = view_of(index_.input(node, 0));
    const std::uint32_t family = add_copy(index_.node_name(node), view, dims, row_major_strides(index_.dims(index_.input(node, 0))),
                                          default_layout(dims));
    MoveSpec& spec = draft_.moves[draft_.families[family].move];
    spec.fill = index_.real(node, AttributeKey::Fill, 0);
    bool filled = false;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        const auto map = index_.ints(node, static_cast<AttributeKey>(static_cast<std::size_t>(AttributeKey::MapAxis0) + axis));
        spec.sources[0].maps[axis].assign(map.begin(), map.end());
        filled = filled || std::find(map.begin(), map.end(), -1) != map.end();
    }
    set_result(output, family);
    // Fill values are written once, when the program is loaded; steps in place would change them.
    if (filled) open_family_[output] = no_id;
}

void Drafter::add_reshape(std::uint32_t node) {
    const std::uint32_t x = index_.input(node, 0);
    const std::uint32_t output = index_.outputs(node)[0];
    shuffled_[output] = shuffled_[x];
    if (shuffled_[x] == no_id) views_[output] = view_of(x);
    open_family_[output] = uses_[x] == 1 ? open_family_[x] : no_id;
}

void Drafter::add_transpose(std::uint32_t node) {
    const std::uint32_t x = index_.input(node, 0);
    const std::uint32_t output = index_.outputs(node)[0];
    const auto perm = index_.ints(node, AttributeKey::Perm);
    if (shuffled_[x] != no_id && add_shuffle(node)) return;
    const View view = view_of(x);
    if (const auto layout = transposed(view.layout, index_.dims(x), perm)) {
        views_[output] = {view.tensor, *layout};
        open_family_[output] = uses_[x] == 1 ? open_family_[x] : no_id;
        return;
    }
    if (add_shuffle(node)) return;
    const auto source_strides = row_major_strides(index_.dims(x));
    std::vector<std::uint64_t> strides;
    for (const std::int32_t axis : perm) strides.push_back(source_strides[static_cast<std::size_t>(axis)]);
    const auto dims = index_.dims(output);
    set_result(output, add_copy(index_.node_name(node), view, dims, std::move(strides), transpose_layout(output)));
}

/// Where a transposed tensor has to be copied anyway, it is copied into the pixels that its reader wants.
Layout Drafter::transpose_layout(std::uint32_t tensor) const { return input_layout(tensor); }

void Drafter::add_node(std::uint32_t node) {
    switch (index_.kind(node)) {
        case OperatorKind::Conv: return add_conv(node);
        case OperatorKind::Linear: return add_linear(node);
        case OperatorKind::MaxPool:
        case OperatorKind::AveragePool: return add_pool(node);
        case OperatorKind::Concat: return add_concat(node);
        case OperatorKind::Remap: return add_remap(node);
        case OperatorKind::Reshape: return add_reshape(node);
        case OperatorKind::Transpose: return add_transpose(node);
        default: return add_pointwise(node);
    }
}

/// Chip outputs keep the pixels they have; what is a network input, or an output already, is copied.
void Drafter::add_outputs() {
    for (std::uint32_t port = 0; port < split_.chip_outputs.size(); ++port) {
        const std::uint32_t tensor = split_.chip_outputs[port];
        View view = view_of(tensor);
        if (draft_.tensors[view.tensor].producer == no_id || draft_.tensors[view.tensor].output_port != no_id) {
            const auto dims = index_.dims(tensor);
            const std::uint32_t family =
                add_copy(fmt::format("{}:output", index_.tensor_name(tensor)), view, dims, row_major_strides(dims), view.layout);
            view.tensor = draft_.families[family].row.output;
        }
        TaskTensor& row = draft_.tensors[view.tensor];
        row.graph_tensor = tensor;
        row.row_stride = view.layout.row_stride;
        row.column_stride = view.layout.column_stride;
        row.channel_stride = view.layout.channel_stride;
        row.output_port = port;
        draft_.graph_outputs.push_back(view.tensor);
    }
}

/// True where the lanes of a matrix will want the same parts of a network input. The memory serves one request at a time, and a core that
/// waits there keeps its partners waiting: then it is loaded once and passed on.
bool Drafter::is_read_by_matrices(std::uint32_t tensor) const {
    return std::any_of(index_.consumers(tensor).begin(), index_.consumers(tensor).end(), [&](std::uint32_t node) {
        return on_chip(node) && (index_.kind(node) == OperatorKind::Conv || index_.kind(node) == OperatorKind::Linear);
    });
}

Draft Drafter::draft() {
    for (const std::uint32_t tensor : split_.chip_inputs) {
        const Layout layout = input_layout(tensor);
        views_[tensor] = {add_tensor(draft_, tensor, layout, no_id), layout};
        draft_.graph_inputs.push_back(views_[tensor].tensor);
        if (!is_read_by_matrices(tensor)) continue;
        const std::uint32_t loader = add_family(fmt::format("{}:load", index_.tensor_name(tensor)), FamilyKind::Pointwise, no_id, layout, {views_[tensor].tensor});
        views_[tensor].tensor = draft_.families[loader].row.output;
    }
    for (const std::uint32_t node : nodes_by_depth(index_)) {
        if (on_chip(node) && skipped_[node] == 0) add_node(node);
    }
    add_outputs();
    return std::move(draft_);
}

Draft draft_families(const GraphIndex& index, const HostSplit& split, const ChipFacts& chip) { return Drafter(index, split, chip.crossbar_rows).draft(); }

void set_gaps(Draft& draft) {
    for (const DraftFamily& family : draft.families) {
        const Family& row = family.row;
        if (row.kind != static_cast<std::uint32_t>(FamilyKind::Matrix)) continue;
        for (std::uint32_t slot = 0; slot < family.body_inputs; ++slot) {
            TaskTensor& input = draft.tensors[family.inputs[slot]];
            const std::uint32_t end = (draft.tensors[row.output].columns - 1) * row.stride_columns + (row.kernel_columns - 1) * row.dilation_columns + 1;
            const std::uint32_t inside = input.columns + row.pad_left;
            const std::uint32_t overhang = end > inside ? end - inside : 0;
            input.gap = std::max({input.gap, row.pad_left, overhang});
        }
    }
}

}  // namespace weft::preparation
