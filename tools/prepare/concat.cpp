#include <algorithm>

#include "prepare/drafter.h"

namespace weft::preparation {
namespace {

/// Parts that one tensor may stand as. Each of them ends the strips of a window early and sends messages of its own.
constexpr std::size_t most_parts = 4;

}  // namespace

/// True where every reader of `tensor` can read it as `count` parts: convolutions of one group do, whose strips name the part that
/// they read; so do pools, a part at a time, and further concatenations, if what they give can be read so in turn.
bool Drafter::takes_parts(std::uint32_t tensor, std::size_t count) const {
    if (count > most_parts || index_.consumers(tensor).empty()) return false;
    if (std::find(split_.chip_outputs.begin(), split_.chip_outputs.end(), tensor) != split_.chip_outputs.end()) return false;
    return std::all_of(index_.consumers(tensor).begin(), index_.consumers(tensor).end(), [&](std::uint32_t node) {
        if (!on_chip(node)) return false;
        const std::uint32_t output = index_.outputs(node)[0];
        switch (index_.kind(node)) {
            case OperatorKind::Conv: return index_.integer(node, AttributeKey::Group, 1) == 1;
            case OperatorKind::MaxPool:
            case OperatorKind::AveragePool: return index_.dims(output)[2] * index_.dims(output)[3] > 1 && takes_parts(output, count);
            default: return false;
        }
    });
}

/// A concatenation by channel of images whose readers take it as parts needs no copy: each part stays where it is.
bool Drafter::add_as_parts(std::uint32_t node, std::uint32_t axis) {
    const std::uint32_t output = index_.outputs(node)[0];
    const auto dims = index_.dims(output);
    if (dims.size() != 4 || dims[0] != 1 || axis != 1 || !takes_parts(output, index_.inputs(node).size())) return false;
    std::vector<std::uint32_t> parts;
    for (const std::uint32_t tensor : index_.inputs(node)) {
        const auto part = index_.dims(tensor);
        if (!parts_[tensor].empty() || view_of(tensor).layout != image_layout(part[1], part[2], part[3])) return false;
        parts.push_back(view_of(tensor).tensor);
    }
    for (const std::uint32_t tensor : index_.inputs(node)) open_family_[tensor] = no_id;
    parts_[output] = std::move(parts);
    return true;
}

void Drafter::add_concat(std::uint32_t node) {
    const std::uint32_t output = index_.outputs(node)[0];
    const auto dims = index_.dims(output);
    std::int32_t axis = index_.integer(node, AttributeKey::Axis, 0);
    if (axis < 0) axis += static_cast<std::int32_t>(dims.size());
    if (add_as_parts(node, static_cast<std::uint32_t>(axis))) return;
    MoveSpec spec;
    spec.dims.assign(dims.begin(), dims.end());
    spec.layout = default_layout(dims);
    std::vector<std::uint32_t> inputs;
    std::int32_t first = 0;
    for (const std::uint32_t tensor : index_.inputs(node)) {
        const auto source_dims = index_.dims(tensor);
        const View view = view_of(tensor);
        MoveSource source{static_cast<std::uint32_t>(inputs.size()), view.layout, row_major_strides(source_dims),
                          std::vector<std::vector<std::int32_t>>(dims.size())};
        auto& map = source.maps[static_cast<std::size_t>(axis)];
        map.assign(dims[static_cast<std::size_t>(axis)], -1);
        for (std::uint32_t i = 0; i < source_dims[static_cast<std::size_t>(axis)]; ++i) {
            map[static_cast<std::size_t>(first) + i] = static_cast<std::int32_t>(i);
        }
        first += static_cast<std::int32_t>(source_dims[static_cast<std::size_t>(axis)]);
        inputs.push_back(view.tensor);
        spec.sources.push_back(std::move(source));
    }
    const std::uint32_t family = add_family(index_.node_name(node), FamilyKind::Move, output, spec.layout, std::move(inputs));
    draft_.families[family].move = static_cast<std::uint32_t>(draft_.moves.size());
    draft_.moves.push_back(std::move(spec));
    set_result(output, family);
}

}  // namespace weft::preparation
