#include "prepare/lanes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "base/id.h"

namespace weft::preparation {
namespace {

/// The least run of positions that covers everything added.
struct Hull {
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t last = 0;
    void add(std::uint64_t from, std::uint64_t to) {
        first = std::min(first, from);
        last = std::max(last, to);
    }
    [[nodiscard]] bool empty() const { return first > last; }
};

struct PositionRange {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
};

/// Input positions that the tiles at output positions `range` touch.
Hull window_hull(const Family& family, const WindowReach& reach, const TaskTensor& input, const TaskTensor& output, PositionRange range) {
    Hull hull;
    const std::uint64_t columns = output.columns;
    for (std::uint64_t row = range.first / columns; row <= (range.end - 1) / columns; ++row) {
        const std::uint64_t first = row == range.first / columns ? range.first % columns : 0;
        const std::uint64_t last = row == (range.end - 1) / columns ? (range.end - 1) % columns : columns - 1;
        const auto window_row = static_cast<std::int64_t>(row * family.stride_rows) - family.pad_top;
        // A tile never leaves its row: the last one may start earlier and compute some outputs again. The reach is the tile's.
        const std::uint64_t last_origin = columns - family.tile_columns;
        const auto window_first = static_cast<std::int64_t>(std::min(first, last_origin) * family.stride_columns) - family.pad_left;
        const auto window_last = static_cast<std::int64_t>(std::min(last, last_origin) * family.stride_columns) - family.pad_left;
        const std::int64_t row_low = std::max<std::int64_t>(0, window_row + reach.first_row);
        const std::int64_t row_high = std::min<std::int64_t>(std::int64_t{input.rows} - 1, window_row + reach.last_row);
        const std::int64_t column_low = std::max<std::int64_t>(0, window_first + reach.first_column);
        const std::int64_t column_high = std::min<std::int64_t>(std::int64_t{input.columns} - 1, window_last + reach.last_column);
        if (row_low > row_high || column_low > column_high) continue;   // padding only
        hull.add(static_cast<std::uint64_t>(row_low * input.columns + column_low), static_cast<std::uint64_t>(row_high * input.columns + column_high));
    }
    return hull;
}

/// Source position of the last element of a copy.
std::uint64_t last_source_position(const MoveCopy& copy, const TaskTensor& source) {
    const std::uint64_t pitch = (std::uint64_t{source.columns} + source.gap) * source.channels;
    const std::uint64_t first = copy.source_position / source.columns * pitch + copy.source_position % source.columns * source.channels + copy.source_channel;
    const std::uint64_t last = first + std::uint64_t{copy.length - 1} * static_cast<std::uint64_t>(copy.source_stride);
    return last / pitch * source.columns + last % pitch / source.channels;
}

class LaneCutter {
public:
    LaneCutter(TasksColumns& columns, std::uint32_t family) : columns_(columns), family_(columns.families[family]), id_(family) {
        const Tasks tasks = view(columns);
        if (kind() == FamilyKind::Matrix || kind() == FamilyKind::Pool) reach_ = window_reach(tasks, family_);
        operand_kinds_.assign(family_.input_count, OperandKind::None);
        for (const Step& step : tasks.steps.subspan(family_.first_step, family_.step_count)) {
            const auto operand = static_cast<OperandKind>(step.operand_kind);
            if (operand == OperandKind::Input || operand == OperandKind::InputBroadcast) operand_kinds_[step.operand] = operand;
        }
        if (kind() == FamilyKind::Move) {
            for (const MoveRange& range : columns.moves) {
                if (range.family == family) next_copy_ = range.first_copy, end_copy_ = range.first_copy + range.copy_count;
            }
        }
    }

    void cut(std::uint64_t lane_ns) {
        const TaskTensor& output = columns_.tensors[family_.output];
        tiles_per_row_ = ceil_divide(output.columns, family_.tile_columns);
        const std::uint64_t tiles = std::uint64_t{output.rows} * tiles_per_row_;
        const std::uint64_t work = checked_multiply(tiles, family_.tile_ns);
        const std::uint64_t lanes = std::clamp<std::uint64_t>(ceil_divide(work, lane_ns), 1, tiles);
        Family& row = columns_.families[id_];
        row.first_lane = narrow<std::uint32_t>(columns_.lanes.size());
        row.lane_count = narrow<std::uint32_t>(lanes);
        for (std::uint64_t lane = 0; lane < lanes; ++lane) add_lane({tiles * lane / lanes, tiles * (lane + 1) / lanes}, output);
    }

private:
    [[nodiscard]] FamilyKind kind() const { return static_cast<FamilyKind>(family_.kind); }

    /// First position of a tile, where the one before it ends.
    [[nodiscard]] std::uint64_t position_of(std::uint64_t tile, const TaskTensor& output) const {
        return tile / tiles_per_row_ * output.columns + tile % tiles_per_row_ * family_.tile_columns;
    }

    /// The first position that the tile at `first` really computes: a row's last tile may reach back over the one before.
    [[nodiscard]] std::uint64_t first_computed(std::uint64_t first, const TaskTensor& output) const {
        const std::uint64_t row = first / output.columns * output.columns;
        return std::min(first, row + output.columns - family_.tile_columns);
    }

    void add_lane(PositionRange tiles, const TaskTensor& output) {
        const PositionRange range{position_of(tiles.first, output), position_of(tiles.end, output)};
        Lane lane;
        lane.family = id_;
        lane.first_tile = static_cast<std::uint32_t>(tiles.first);
        lane.tile_count = static_cast<std::uint32_t>(tiles.end - tiles.first);
        lane.first_position = static_cast<std::uint32_t>(range.first);
        lane.position_count = static_cast<std::uint32_t>(range.end - range.first);
        lane.first_demand = narrow<std::uint32_t>(columns_.demands.size());
        lane.work_ns = lane.tile_count * family_.tile_ns;
        std::vector<Hull> hulls(family_.input_count);
        if (kind() == FamilyKind::Move) hulls = copy_hulls(range);
        for (std::uint32_t slot = 0; slot < family_.input_count; ++slot) {
            const TaskTensor& input = columns_.tensors[columns_.inputs[family_.first_input + slot]];
            if (operand_kinds_[slot] == OperandKind::Input || (kind() == FamilyKind::Pointwise && slot == 0)) {
                hulls[slot].add(first_computed(range.first, output), range.end - 1);
            } else if (operand_kinds_[slot] == OperandKind::InputBroadcast) {
                hulls[slot].add(0, 0);
            } else if (kind() == FamilyKind::Matrix || kind() == FamilyKind::Pool) {
                hulls[slot] = window_hull(family_, reach_, input, columns_.tensors[family_.output], range);
            }
            if (hulls[slot].empty()) continue;
            columns_.demands.push_back({slot, static_cast<std::uint32_t>(hulls[slot].first), static_cast<std::uint32_t>(hulls[slot].last - hulls[slot].first + 1)});
        }
        lane.demand_count = narrow<std::uint32_t>(columns_.demands.size()) - lane.first_demand;
        columns_.lanes.push_back(lane);
    }

    /// Lanes come in order, and so do copies.
    std::vector<Hull> copy_hulls(PositionRange range) {
        std::vector<Hull> hulls(family_.input_count);
        for (; next_copy_ < end_copy_ && columns_.copies[next_copy_].output_position < range.end; ++next_copy_) {
            const MoveCopy& copy = columns_.copies[next_copy_];
            const TaskTensor& source = columns_.tensors[columns_.inputs[family_.first_input + copy.input]];
            hulls[copy.input].add(copy.source_position, last_source_position(copy, source));
        }
        return hulls;
    }

    TasksColumns& columns_;
    const Family family_;
    std::uint32_t id_;
    std::uint64_t tiles_per_row_ = 1;
    WindowReach reach_;
    std::vector<OperandKind> operand_kinds_;
    std::uint32_t next_copy_ = 0;
    std::uint32_t end_copy_ = 0;
};

}  // namespace

WindowReach window_reach(const Tasks& tasks, const Family& family) {
    if (static_cast<FamilyKind>(family.kind) == FamilyKind::Pool) {
        return {0, std::int64_t{family.kernel_rows - 1} * family.dilation_rows, 0, std::int64_t{family.kernel_columns - 1} * family.dilation_columns};
    }
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
    WindowReach reach{far, 0, far, 0};
    const std::int64_t channels = tasks.tensors[tasks.inputs[family.first_input]].channels;
    for (const Strip& strip : tasks.strips.subspan(family.first_strip, family.strip_count)) {
        for (const Piece& piece : tasks.pieces.subspan(strip.first_piece, strip.piece_count)) {
            reach.first_row = std::min<std::int64_t>(reach.first_row, piece.row);
            reach.last_row = std::max<std::int64_t>(reach.last_row, piece.row);
            reach.first_column = std::min<std::int64_t>(reach.first_column, piece.column_elems / channels);
            reach.last_column = std::max<std::int64_t>(reach.last_column, (std::int64_t{piece.column_elems} + piece.length - 1) / channels);
        }
    }
    return reach;
}

void cut_lanes(TasksColumns& columns, std::uint64_t lane_ns) {
    for (std::uint32_t family = 0; family < columns.families.size(); ++family) LaneCutter(columns, family).cut(std::max<std::uint64_t>(1, lane_ns));
}

}  // namespace weft::preparation
