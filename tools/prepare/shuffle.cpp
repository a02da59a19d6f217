// Channel shuffles. A tensor whose channels stand in another order in the pixels that it is made from needs no copy where its readers can do
// with that order: matrices read their rows in any, and what works on every channel alone keeps it. Others have it moved into its own.

#include "prepare/shuffle.h"

#include <algorithm>

#include "prepare/drafter.h"

namespace weft::preparation {

EvenRun even_run(std::span<const std::uint32_t> values) {
    EvenRun run;
    if (values.size() < 2 || values[1] <= values[0]) return run;
    run.step = values[1] - values[0];
    while (run.length < values.size() && values[run.length] == values[run.length - 1] + run.step) ++run.length;
    return run;
}

std::vector<std::uint32_t> inverse_order(std::span<const std::uint32_t> order) {
    std::vector<std::uint32_t> inverse(order.size());
    for (std::uint32_t channel = 0; channel < order.size(); ++channel) inverse[order[channel]] = channel;
    return inverse;
}

std::uint32_t moved_runs(std::span<const std::uint32_t> order) {
    const std::vector<std::uint32_t> sources = inverse_order(order);
    std::uint32_t runs = 0;
    for (std::size_t done = 0; done < sources.size(); ++runs) done += even_run(std::span(sources).subspan(done)).length;
    return runs;
}

std::uint32_t group_runs(std::span<const std::uint32_t> order, std::uint32_t per_group) {
    std::uint32_t runs = 1;
    for (std::size_t channel = 1; channel < order.size(); ++channel) runs += order[channel] / per_group != order[channel - 1] / per_group ? 1 : 0;
    return runs;
}

/// A transpose that only shuffles channels of an image, or of one that is shuffled already.
bool Drafter::add_shuffle(std::uint32_t node) {
    const std::uint32_t x = index_.input(node, 0);
    const std::uint32_t output = index_.outputs(node)[0];
    const std::uint32_t before = shuffled_[x];
    View view = before != no_id ? shuffles_[before].view : view_of(x);
    auto order = shuffled_channels(view.layout, index_.dims(x), index_.ints(node, AttributeKey::Perm));
    if (!order) return false;
    if (before != no_id) {
        std::vector<std::uint32_t> both = shuffles_[before].order;
        for (std::uint32_t& channel : both) channel = (*order)[channel];
        order = std::move(both);
    }
    view.layout = image_layout(view.layout.channels, view.layout.rows, view.layout.columns);
    open_family_[output] = uses_[x] == 1 ? open_family_[x] : no_id;
    if (std::is_sorted(order->begin(), order->end())) {
        views_[output] = view;
    } else {
        shuffled_[output] = static_cast<std::uint32_t>(shuffles_.size());
        shuffles_.push_back({view, std::move(*order), {}});
    }
    return true;
}

/// `tensor` is what `family` computes, its channels in the order `order`.
void Drafter::set_shuffled(std::uint32_t tensor, std::uint32_t family, std::vector<std::uint32_t> order) {
    TaskTensor& row = draft_.tensors[draft_.families[family].row.output];
    row.graph_tensor = no_id;       // in this order the graph has no name for it
    shuffled_[tensor] = static_cast<std::uint32_t>(shuffles_.size());
    shuffles_.push_back({{draft_.families[family].row.output, image_layout(row.channels, row.rows, row.columns)}, std::move(order), {}});
    open_family_[tensor] = family;
}

/// True where no tensor but `tensor` is a view of the same shuffled pixels.
bool Drafter::is_only_view(std::uint32_t tensor) const {
    while (true) {
        const std::uint32_t node = index_.producer(tensor);
        if (node == no_id || index_.kind(node) != OperatorKind::Reshape) return true;
        tensor = index_.input(node, 0);
        if (uses_[tensor] != 1) return false;
    }
}

/// The pixels of a shuffled tensor in its own order, moved there when they are first asked for.
void Drafter::unshuffle(std::uint32_t tensor) {
    const std::uint32_t shuffle = shuffled_[tensor];
    open_family_[tensor] = no_id;
    if (shuffles_[shuffle].moved.tensor == no_id) {
        const View& view = shuffles_[shuffle].view;
        const std::vector<std::uint32_t> dims{view.layout.channels, view.layout.rows, view.layout.columns};
        const std::uint32_t family = add_copy(fmt::format("{}:shuffle", index_.tensor_name(tensor)), view, dims, row_major_strides(dims), view.layout);
        const std::vector<std::uint32_t> sources = inverse_order(shuffles_[shuffle].order);
        draft_.moves[draft_.families[family].move].sources[0].maps[0].assign(sources.begin(), sources.end());
        set_result(tensor, family);
        shuffles_[shuffle].moved = views_[tensor];
        if (!is_only_view(tensor)) open_family_[tensor] = no_id;
    }
    views_[tensor] = shuffles_[shuffle].moved;
}

/// True where a convolution reads its shuffled input without copies, or with no more than the move would make.
bool Drafter::absorbs_shuffle(std::uint32_t node) const {
    const std::uint32_t x = index_.input(node, 0);
    const std::uint32_t output = index_.outputs(node)[0];
    const auto groups = static_cast<std::uint32_t>(index_.integer(node, AttributeKey::Group, 1));
    if (groups == 1) return true;
    const std::vector<std::uint32_t>& order = shuffles_[shuffled_[x]].order;
    const std::uint32_t per_group = static_cast<std::uint32_t>(order.size()) / groups;
    const auto dims = index_.dims(output);
    // The outputs keep the order, for which strips spare a row; moving them instead of the inputs should not cost more.
    if (per_group == 1) return crossbar_rows_ > 1 && index_.elem_count(output) <= index_.elem_count(x);
    const auto weight = index_.dims(index_.input(node, 1));
    // One strip reads the whole pixel for all groups, in no more crossbars than groups apart.
    if (weight[0] * weight[1] == 1 && order.size() <= crossbar_rows_) return true;
    const std::uint64_t gathers = std::uint64_t{dims[2]} * dims[3] * weight[0] * weight[1] * group_runs(order, per_group);
    return gathers <= shuffles_[shuffled_[x]].view.layout.positions() * moved_runs(order);
}

}  // namespace weft::preparation
