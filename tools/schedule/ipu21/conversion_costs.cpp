#include "schedule/ipu21/conversion_costs.h"

#include <map>

#include "ipu21/operand.h"

namespace weft::ipu21 {

ConversionCosts::ConversionCosts(const Tasks& tasks, const Target& target) : tasks_(tasks), target_(target), topology_(target) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> shapes;
    for (const TileValue& value : tasks.tile_values) {
        shape_of_value_.push_back(shapes.try_emplace({value.rows, value.columns}, static_cast<std::uint32_t>(shapes.size())).first->second);
    }
    parts_.resize(shapes.size());
    for (auto& of_shape : parts_) of_shape.resize(tasks.tile_layouts.size());
    known_.resize(shapes.size());
}

const LayoutParts& ConversionCosts::parts(std::uint32_t shape, std::uint32_t layout, MatrixShape matrix) {
    std::unique_ptr<LayoutParts>& held = parts_[shape][layout];
    if (!held) held = std::make_unique<LayoutParts>(tasks_.tile_layouts[layout], matrix);
    return *held;
}

ConversionCosts::Known& ConversionCosts::known(std::uint32_t value, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t shape = shape_of_value_[value];
    Known& entry = known_[shape][std::uint64_t{from} << 32U | to];
    if (entry.valid) return entry;
    const TileLayout& source = tasks_.tile_layouts[from];
    const TileLayout& sink = tasks_.tile_layouts[to];
    const MatrixShape matrix = matrix_shape(tasks_, value);
    entry.cost = estimate_conversion(target_, matrix, source, parts(shape, from, matrix), sink, parts(shape, to, matrix));
    entry.largest = sink.memory == static_cast<std::uint32_t>(TileMemory::Standard) ? operand_bytes(target_.ipu21, sink, matrix) : 0;
    entry.valid = true;
    return entry;
}

FormatChange ConversionCosts::change(std::uint32_t value, std::uint32_t from, std::uint32_t to) {
    const Known& entry = known(value, from, to);
    return {entry.cost.total(), entry.cost.row_bytes, {}, entry.largest, true};
}

std::uint64_t ConversionCosts::exchange_cycles(std::uint32_t value, std::uint32_t from, std::uint32_t to) {
    return known(value, from, to).cost.exchange_cycles;
}

bool ConversionCosts::schedule(std::uint32_t value, std::uint32_t from, std::uint32_t to) {
    Known& entry = known(value, from, to);
    if (entry.scheduled || entry.cost.phases == 0) return false;
    const Phase phase = conversion_phase(target_, matrix_shape(tasks_, value), tasks_.tile_layouts[from], tasks_.tile_layouts[to]);
    entry.cost.exchange_cycles = schedule_phase(target_, topology_, phase).cycles;
    entry.scheduled = true;
    return true;
}

}  // namespace weft::ipu21
