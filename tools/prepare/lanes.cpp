#include "prepare/lanes.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/id.h"
#include "pim/tiles.h"

namespace weft::preparation {
namespace {

/// Input rows and columns that the tiles which compute `computed` read, padding left out; empty where there is only padding.
TileRectangle window_rectangle(const Family& family, const FamilyBand& band, const WindowReach& reach, const TaskTensor& input, const TileRectangle& computed) {
    const auto line = [](std::uint32_t output, std::uint32_t stride, std::uint32_t pad) {
        return static_cast<std::int64_t>(std::uint64_t{output} * stride) - pad;
    };
    // The reach is a whole tile's, so the last tile's origin counts.
    const auto cut = [](std::int64_t first, std::int64_t last, std::uint32_t extent, std::uint32_t& from, std::uint32_t& end) {
        from = static_cast<std::uint32_t>(std::max<std::int64_t>(0, first));
        end = static_cast<std::uint32_t>(std::clamp<std::int64_t>(last + 1, 0, extent));
    };
    TileRectangle rectangle;
    cut(window_origin_row(family, band, computed.first_row) + reach.first_row, window_origin_row(family, band, computed.end_row - family.tile_rows) + reach.last_row,
        input.rows, rectangle.first_row, rectangle.end_row);
    cut(line(computed.first_column, family.stride_columns, family.pad_left) + reach.first_column,
        line(computed.end_column - family.tile_columns, family.stride_columns, family.pad_left) + reach.last_column, input.columns,
        rectangle.first_column, rectangle.end_column);
    return rectangle;
}

/// Collects the positions that a lane reads of one input.
class DemandDraft {
public:
    void add(std::uint64_t first, std::uint64_t last) {
        spans_.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last - first + 1)});
    }

    void add(const TileRectangle& rectangle, const TaskTensor& tensor) {
        if (rectangle.first_column >= rectangle.end_column) return;
        for (std::uint32_t row = rectangle.first_row; row < rectangle.end_row; ++row) {
            spans_.push_back({row * tensor.columns + rectangle.first_column, rectangle.end_column - rectangle.first_column});
        }
    }

    /// The least run of positions that covers everything.
    void join() {
        if (spans_.empty()) return;
        const PositionSpan hull = std::accumulate(spans_.begin(), spans_.end(), spans_.front(), [](PositionSpan sum, const PositionSpan& span) {
            const std::uint32_t first = std::min(sum.first, span.first);
            return PositionSpan{first, std::max(sum.first + sum.count, span.first + span.count) - first};
        });
        spans_.assign(1, hull);
    }

    /// Ascending, touching and overlapping runs joined.
    void append_to(std::vector<Demand>& demands, std::uint32_t slot) {
        std::sort(spans_.begin(), spans_.end(), [](const PositionSpan& a, const PositionSpan& b) { return a.first < b.first; });
        const std::size_t begin = demands.size();
        for (const PositionSpan& span : spans_) {
            if (demands.size() > begin && span.first <= demands.back().first_position + demands.back().position_count) {
                const std::uint32_t end = std::max(demands.back().first_position + demands.back().position_count, span.first + span.count);
                demands.back().position_count = end - demands.back().first_position;
            } else {
                demands.push_back({slot, span.first, span.count});
            }
        }
    }

private:
    std::vector<PositionSpan> spans_;
};

/// Source position of the last element of a copy.
std::uint64_t last_source_position(const MoveCopy& copy, const TaskTensor& source) {
    const std::uint64_t pitch = (std::uint64_t{source.columns} + source.gap) * source.channels;
    const std::uint64_t first = copy.source_position / source.columns * pitch + copy.source_position % source.columns * source.channels + copy.source_channel;
    const std::uint64_t last = first + std::uint64_t{copy.length - 1} * static_cast<std::uint64_t>(copy.source_stride);
    return last / pitch * source.columns + last % pitch / source.channels;
}

class LaneCutter {
public:
    LaneCutter(TasksColumns& columns, std::uint32_t family) : columns_(columns), family_(columns.families[family]), band_(band_of(view(columns), family)), id_(family) {
        const Tasks tasks = view(columns);
        operand_kinds_.assign(family_.input_count, OperandKind::None);
        for (const Step& step : tasks.steps.subspan(family_.first_step, family_.step_count)) {
            const auto operand = static_cast<OperandKind>(step.operand_kind);
            if (operand == OperandKind::Input || operand == OperandKind::InputBroadcast) operand_kinds_[step.operand] = operand;
        }
        reaches_.resize(family_.input_count);
        for (std::uint32_t slot = 0; slot < family_.input_count; ++slot) {
            if (reads_window(slot)) reaches_[slot] = window_reach(tasks, family_, slot);
        }
        if (kind() == FamilyKind::Move) {
            for (const MoveRange& range : columns.moves) {
                if (range.family == family) next_copy_ = range.first_copy, end_copy_ = range.first_copy + range.copy_count;
            }
        }
    }

    void cut(std::uint64_t lane_ns) {
        const TaskTensor& output = columns_.tensors[family_.output];
        const TileGrid grid(family_, output);
        const std::uint64_t tiles = grid.tile_count();
        const std::uint64_t work = checked_multiply(tiles, family_.tile_ns);
        const std::uint64_t lanes = std::clamp<std::uint64_t>(ceil_divide(work, lane_ns), 1, tiles);
        Family& row = columns_.families[id_];
        row.first_lane = narrow<std::uint32_t>(columns_.lanes.size());
        row.lane_count = narrow<std::uint32_t>(lanes);
        for (std::uint64_t lane = 0; lane < lanes; ++lane) {
            const std::uint64_t first = tiles * lane / lanes;
            add_lane(grid, narrow<std::uint32_t>(first), narrow<std::uint32_t>(tiles * (lane + 1) / lanes - first));
        }
    }

private:
    [[nodiscard]] FamilyKind kind() const { return static_cast<FamilyKind>(family_.kind); }
    [[nodiscard]] bool reads_window(std::uint32_t slot) const {
        return (kind() == FamilyKind::Matrix || kind() == FamilyKind::Pool) && operand_kinds_[slot] == OperandKind::None;
    }
    [[nodiscard]] const TaskTensor& input(std::uint32_t slot) const { return columns_.tensors[columns_.inputs[family_.first_input + slot]]; }

    void add_lane(const TileGrid& grid, std::uint32_t first_tile, std::uint32_t tile_count) {
        Lane lane;
        lane.family = id_;
        lane.first_tile = first_tile;
        lane.tile_count = tile_count;
        lane.first_demand = narrow<std::uint32_t>(columns_.demands.size());
        lane.work_ns = lane.tile_count * family_.tile_ns;
        std::uint32_t end = 0;
        lane.first_position = no_id;
        grid.for_each_owned_span(first_tile, tile_count, [&](PositionSpan span) {
            lane.first_position = std::min(lane.first_position, span.first);
            end = std::max(end, span.first + span.count);
        });
        lane.position_count = end - lane.first_position;
        std::vector<DemandDraft> drafts(family_.input_count);
        if (kind() == FamilyKind::Move) add_copies(lane.first_position + lane.position_count, drafts);
        for (std::uint32_t slot = 0; slot < family_.input_count; ++slot) {
            add_positions(grid, lane, slot, drafts[slot]);
            drafts[slot].append_to(columns_.demands, slot);
        }
        lane.demand_count = narrow<std::uint32_t>(columns_.demands.size()) - lane.first_demand;
        columns_.lanes.push_back(lane);
    }

    void add_positions(const TileGrid& grid, const Lane& lane, std::uint32_t slot, DemandDraft& draft) const {
        const bool elementwise = operand_kinds_[slot] == OperandKind::Input || (kind() == FamilyKind::Pointwise && slot == 0);
        if (!elementwise && operand_kinds_[slot] == OperandKind::InputBroadcast) {
            draft.add(0, 0);
        } else if (kind() == FamilyKind::BandSum && !elementwise) {
            add_band_rows(grid, lane, slot, draft);
        } else if (elementwise || reads_window(slot)) {
            const TaskTensor& source = input(slot);
            grid.for_each_row(lane.first_tile, lane.tile_count, [&](const TileRectangle&, const TileRectangle& computed) {
                draft.add(elementwise ? computed : window_rectangle(family_, band_, reaches_[slot], source, computed), source);
            });
        }
    }

    /// The rows of a band that the lane's rows are sums of.
    void add_band_rows(const TileGrid& grid, const Lane& lane, std::uint32_t slot, DemandDraft& draft) const {
        const TaskTensor& source = input(slot);
        const Family& part = columns_.families[source.producer];
        const FamilyBand band = band_of(view(columns_), source.producer);
        grid.for_each_row(lane.first_tile, lane.tile_count, [&](const TileRectangle& owned, const TileRectangle&) {
            for (std::uint32_t row = owned.first_row; row < owned.end_row; ++row) {
                const auto from = band_row(part, band, row);
                if (from) draft.add({*from, *from + 1, owned.first_column, owned.end_column}, source);
            }
        });
    }

    /// Lanes come in order, and so do copies.
    void add_copies(std::uint32_t end_position, std::vector<DemandDraft>& drafts) {
        for (; next_copy_ < end_copy_ && columns_.copies[next_copy_].output_position < end_position; ++next_copy_) {
            const MoveCopy& copy = columns_.copies[next_copy_];
            drafts[copy.input].add(copy.source_position, last_source_position(copy, input(copy.input)));
        }
        for (DemandDraft& draft : drafts) draft.join();
    }

    TasksColumns& columns_;
    const Family family_;
    const FamilyBand band_;
    std::uint32_t id_;
    std::vector<WindowReach> reaches_;         // per slot, of those that are read through the window
    std::vector<OperandKind> operand_kinds_;
    std::uint32_t next_copy_ = 0;
    std::uint32_t end_copy_ = 0;
};

}  // namespace

WindowReach window_reach(const Tasks& tasks, const Family& family, std::uint32_t slot) {
    if (static_cast<FamilyKind>(family.kind) == FamilyKind::Pool) {
        return {0, std::int64_t{family.kernel_rows - 1} * family.dilation_rows, 0, std::int64_t{family.kernel_columns - 1} * family.dilation_columns};
    }
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
    WindowReach reach{far, 0, far, 0};
    const std::int64_t channels = tasks.tensors[tasks.inputs[family.first_input + slot]].channels;
    for (const Strip& strip : tasks.strips.subspan(family.first_strip, family.strip_count)) {
        for (const Piece& piece : tasks.pieces.subspan(strip.first_piece, strip.piece_count)) {
            if (piece.input != slot) continue;
            reach.first_row = std::min<std::int64_t>(reach.first_row, piece.row);
            reach.last_row = std::max<std::int64_t>(reach.last_row, piece.row);
            reach.first_column = std::min<std::int64_t>(reach.first_column, piece.column_elems / channels);
            reach.last_column = std::max<std::int64_t>(reach.last_column, (std::int64_t{piece.column_elems} + piece.length - 1) / channels);
        }
    }
    // A part of a layer may leave a part of its input to the others.
    return reach.first_row == far ? WindowReach{0, -1, 0, -1} : reach;
}

void cut_lanes(TasksColumns& columns, std::uint64_t lane_ns) {
    for (std::uint32_t family = 0; family < columns.families.size(); ++family) LaneCutter(columns, family).cut(std::max<std::uint64_t>(1, lane_ns));
}

}  // namespace weft::preparation
