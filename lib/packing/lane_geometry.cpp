#include "packing/lane_geometry.h"

#include <algorithm>
#include <tuple>

#include "base/checked.h"

namespace weft {

namespace {

bool starts_before(const LaneSpan& a, const LaneSpan& b) { return a.span.first < b.span.first; }

/// A family's input slot.
struct Reader {
    std::uint32_t tensor = 0;
    std::uint32_t level = 0;
    std::uint32_t family = 0;
    std::uint32_t slot = 0;
};

std::vector<Reader> sorted_readers(const Tasks& tasks, const Rhythm& rhythm) {
    std::vector<Reader> readers;
    for (std::uint32_t f = 0; f < tasks.families.size(); ++f) {
        const Family& family = tasks.families[f];
        for (std::uint32_t slot = 0; slot < family.input_count; ++slot) readers.push_back({tasks.inputs[family.first_input + slot], rhythm.family_level[f], f, slot});
    }
    std::stable_sort(readers.begin(), readers.end(), [](const Reader& a, const Reader& b) { return std::pair(a.tensor, a.level) < std::pair(b.tensor, b.level); });
    return readers;
}

}  // namespace

LaneGeometry::LaneGeometry(const Tasks& tasks, const Rhythm& rhythm) {
    add_outputs(tasks);
    add_groups(tasks, rhythm);
}

void LaneGeometry::add_outputs(const Tasks& tasks) {
    output_rows_.resize(tasks.lanes.size());
    for (const TaskTensor& tensor : tasks.tensors) {
        first_owned_.push_back(narrow<std::uint32_t>(owned_.size()));
        if (tensor.producer == no_id) continue;
        const Family& family = tasks.families[tensor.producer];
        const TileGrid grid(family, tensor);
        for (std::uint32_t l = family.first_lane; l < family.first_lane + family.lane_count; ++l) {
            const Lane& lane = tasks.lanes[l];
            grid.for_each_owned_span(lane.first_tile, lane.tile_count, [&](PositionSpan span) { owned_.push_back({span, l}); });
            grid.for_each_row(lane.first_tile, lane.tile_count, [&](const TileRectangle&, const TileRectangle& computed) {
                output_rows_[l].add({static_cast<std::int32_t>(computed.first_row), static_cast<std::int32_t>(computed.end_row)});
            });
        }
        std::sort(owned_.begin() + first_owned_.back(), owned_.end(), starts_before);
    }
    first_owned_.push_back(narrow<std::uint32_t>(owned_.size()));
}

void LaneGeometry::add_groups(const Tasks& tasks, const Rhythm& rhythm) {
    const std::vector<Reader> readers = sorted_readers(tasks, rhythm);
    std::size_t next = 0;
    for (std::uint32_t t = 0; t < tasks.tensors.size(); ++t) {
        const std::uint32_t producer = tasks.tensors[t].producer;
        first_group_.push_back(narrow<std::uint32_t>(groups_.size()));
        while (next < readers.size() && readers[next].tensor == t) {
            ReaderGroup group;
            group.level = readers[next].level;
            group.delays = (producer == no_id ? load_time(rhythm.exchange, rhythm.slots_per_round, group.level)
                                              : travel_time(rhythm.exchange, rhythm.slots_per_round, rhythm.family_level[producer], group.level)).delays;
            group.first_span = narrow<std::uint32_t>(wanted_.size());
            group.first_rows = narrow<std::uint32_t>(wanted_rows_.size());
            for (; next < readers.size() && readers[next].tensor == t && readers[next].level == group.level; ++next) {
                add_reader(tasks, FamilyId(readers[next].family), readers[next].slot);
            }
            std::sort(wanted_.begin() + group.first_span, wanted_.end(), starts_before);
            group.span_count = narrow<std::uint32_t>(wanted_.size()) - group.first_span;
            group.rows_count = narrow<std::uint32_t>(wanted_rows_.size()) - group.first_rows;
            groups_.push_back(group);
        }
    }
    first_group_.push_back(narrow<std::uint32_t>(groups_.size()));
}

void LaneGeometry::add_reader(const Tasks& tasks, FamilyId reader, std::uint32_t slot) {
    const Family& family = tasks.families[reader.index()];
    const TaskTensor& tensor = tasks.tensors[tasks.inputs[family.first_input + slot]];
    const bool matrix = family.kind == static_cast<std::uint32_t>(FamilyKind::Matrix);
    const RowRange strips = matrix ? strip_rows(tasks, family) : RowRange{};
    for (std::uint32_t l = family.first_lane; l < family.first_lane + family.lane_count; ++l) {
        const Lane& lane = tasks.lanes[l];
        RowRange rows;
        for (const Demand& demand : tasks.demands.subspan(lane.first_demand, lane.demand_count)) {
            if (demand.input != slot || demand.position_count == 0) continue;
            wanted_.push_back({{demand.first_position, demand.position_count}, l});
            rows.add({static_cast<std::int32_t>(demand.first_position / tensor.columns),
                      static_cast<std::int32_t>((demand.first_position + demand.position_count - 1) / tensor.columns) + 1});
        }
        if (matrix) rows.add(window_rows(tasks, reader, lane.first_tile, lane.tile_count, strips));
        wanted_rows_.push_back({rows, l});
    }
}

std::span<const LaneSpan> LaneGeometry::owned(TensorId tensor) const {
    return std::span(owned_).subspan(first_owned_[tensor.index()], first_owned_[tensor.index() + 1] - first_owned_[tensor.index()]);
}

std::span<const ReaderGroup> LaneGeometry::groups(TensorId tensor) const {
    return std::span(groups_).subspan(first_group_[tensor.index()], first_group_[tensor.index() + 1] - first_group_[tensor.index()]);
}

}  // namespace weft
