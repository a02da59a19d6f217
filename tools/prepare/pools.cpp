#include "prepare/pools.h"

#include <algorithm>

#include "base/id.h"
#include "prepare/drafter.h"

namespace weft::preparation {
namespace {

std::uint64_t positions_of(const TaskTensor& tensor) { return std::uint64_t{tensor.rows} * tensor.columns; }

/// f(max(a, b)) = max(f(a), f(b)): never falling, and of nothing but the value itself.
bool is_monotone(const Step& step) {
    switch (static_cast<StepKind>(step.kind)) {
        case StepKind::Relu: case StepKind::Clip: case StepKind::Sigmoid: case StepKind::Tanh: return true;
        case StepKind::LeakyRelu: case StepKind::HardSigmoid: return step.alpha >= 0;
        default: return false;
    }
}

/// Per task tensor: families that read it, and outputs of the chip.
std::vector<std::uint32_t> reader_counts(const Draft& draft) {
    std::vector<std::uint32_t> counts(draft.tensors.size(), 0);
    for (const DraftFamily& family : draft.families) {
        for (const std::uint32_t tensor : family.inputs) ++counts[tensor];
    }
    for (const std::uint32_t tensor : draft.graph_outputs) ++counts[tensor];
    return counts;
}

}  // namespace

PoolMode Drafter::pool_mode(std::uint32_t node) const {
    if (index_.kind(node) != OperatorKind::AveragePool) return PoolMode::Maximum;
    return index_.integer(node, AttributeKey::CountIncludePad, 0) != 0 ? PoolMode::AverageCountPads : PoolMode::Average;
}

/// The pool of task tensor `x`, whose pixels are an image, as one family or two; the last one. `output`: the graph tensor that it makes, or none
/// where it makes a part of one.
std::uint32_t Drafter::add_pool_families(std::string_view name, std::uint32_t node, std::uint32_t output, std::uint32_t x) {
    const TaskTensor input = draft_.tensors[x];
    const auto output_dims = index_.dims(index_.outputs(node)[0]);
    const auto kernel = index_.ints(node, AttributeKey::Kernel);
    const PoolMode mode = pool_mode(node);
    Family window{};
    add_window(window, node, static_cast<std::uint32_t>(kernel[0]), static_cast<std::uint32_t>(kernel[1]));
    // Over everything at once: first along each row, where the rows are, then over the rows. Otherwise one core would have to
    // receive the whole tensor.
    const bool whole = window.kernel_rows == input.rows && window.kernel_columns == input.columns && output_dims[2] == 1 && output_dims[3] == 1 &&
                       window.pad_top == 0 && window.pad_left == 0 && window.dilation_rows == 1 && window.dilation_columns == 1;
    // And a maximum of many is one of maxima: of 3 x 3 with a stride of 2 four comparisons along the rows, of which there are twice as many as
    // outputs, and two across them, instead of eight.
    const bool shared = mode == PoolMode::Maximum && window.stride_rows < window.kernel_rows;
    const bool separate = window.kernel_rows > 1 && window.kernel_columns > 1 && (whole || (shared && window.kernel_columns > 2));
    if (separate) {
        const std::uint32_t along = add_family(fmt::format("{}:rows", name), FamilyKind::Pool, no_id,
                                               image_layout(input.channels, input.rows, output_dims[3]), {x});
        Family& row = draft_.families[along].row;
        row.kernel_columns = window.kernel_columns;
        row.stride_columns = window.stride_columns;
        row.dilation_columns = window.dilation_columns;
        row.pad_left = window.pad_left;
        row.pool_mode = static_cast<std::uint32_t>(mode);
        x = row.output;
        window.kernel_columns = window.stride_columns = window.dilation_columns = 1;
        window.pad_left = 0;
    }
    const std::uint32_t family = add_family(name, FamilyKind::Pool, output, image_layout(input.channels, output_dims[2], output_dims[3]), {x});
    Family& row = draft_.families[family].row;
    row.kernel_rows = window.kernel_rows;
    row.kernel_columns = window.kernel_columns;
    row.stride_rows = window.stride_rows;
    row.stride_columns = window.stride_columns;
    row.dilation_rows = window.dilation_rows;
    row.dilation_columns = window.dilation_columns;
    row.pad_top = window.pad_top;
    row.pad_left = window.pad_left;
    row.pool_mode = static_cast<std::uint32_t>(mode);
    return family;
}

/// Pools work on every channel alone: of a tensor in parts, as many pools as it has parts.
void Drafter::add_pool(std::uint32_t node) {
    const std::uint32_t x = index_.input(node, 0);
    const std::uint32_t output = index_.outputs(node)[0];
    if (shuffled_[x] != no_id) {
        const Shuffle shuffle = shuffles_[shuffled_[x]];
        return set_shuffled(output, add_pool_families(index_.node_name(node), node, no_id, shuffle.view.tensor), shuffle.order);
    }
    if (parts_[x].empty()) {
        const View view = require_image(x);
        set_result(output, add_pool_families(index_.node_name(node), node, output, view.tensor));
        return;
    }
    for (const std::uint32_t part : parts_[x]) {
        const std::string name = fmt::format("{}:channels{}", index_.node_name(node), parts_[output].size());
        const std::uint32_t family = add_pool_families(name, node, no_id, part);
        parts_[output].push_back(draft_.families[family].row.output);
    }
}

void move_steps_behind_maxima(Draft& draft) {
    const std::vector<std::uint32_t> readers = reader_counts(draft);
    for (DraftFamily& pool : draft.families) {
        if (pool.row.kind != static_cast<std::uint32_t>(FamilyKind::Pool) || pool.row.pool_mode != static_cast<std::uint32_t>(PoolMode::Maximum)) continue;
        const std::uint32_t x = pool.inputs[0];
        TaskTensor& input = draft.tensors[x];
        if (input.producer == no_id || readers[x] != 1 || positions_of(draft.tensors[pool.row.output]) >= positions_of(input)) continue;
        DraftFamily& producer = draft.families[input.producer];
        // A family that only has its step to do would be left to copy.
        const std::size_t needed = producer.row.kind == static_cast<std::uint32_t>(FamilyKind::Pointwise) ? 1 : 0;
        while (producer.steps.size() > needed && is_monotone(producer.steps.back())) {
            pool.steps.insert(pool.steps.begin(), producer.steps.back());
            producer.steps.pop_back();
            input.graph_tensor = no_id;      // no longer what the graph calls so
        }
    }
}

}  // namespace weft::preparation
