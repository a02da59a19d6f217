#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact/tasks.h"
#include "base/id.h"
#include "pim/placement.h"

namespace weft {

/// A run of positions that a lane makes or reads.
struct LaneSpan {
    PositionSpan span;
    std::uint32_t lane = 0;
};

struct LaneRows {
    RowRange rows;
    std::uint32_t lane = 0;
};

/// All lanes that read one tensor at one level: those of a core share a buffer.
struct ReaderGroup {
    std::uint32_t level = 0;
    std::uint32_t delays = 0;
    std::uint32_t first_span = 0;
    std::uint32_t span_count = 0;
    std::uint32_t first_rows = 0;
    std::uint32_t rows_count = 0;
};

/// What lanes make and read, whatever their cores: columns for who prices many placements of the same tasks.
class LaneGeometry {
public:
    LaneGeometry(const Tasks& tasks, const Rhythm& rhythm);

    /// Of the tensor's producer, ascending.
    [[nodiscard]] std::span<const LaneSpan> owned(TensorId tensor) const;
    /// Rows of its tensor that a lane computes.
    [[nodiscard]] RowRange output_rows(std::uint32_t lane) const { return output_rows_[lane]; }

    [[nodiscard]] std::span<const ReaderGroup> groups(TensorId tensor) const;
    /// What the lanes of a group read, by first position; a lane once for each input slot.
    [[nodiscard]] std::span<const LaneSpan> wanted(const ReaderGroup& group) const { return std::span(wanted_).subspan(group.first_span, group.span_count); }
    /// Rows that they read or that their windows reach, padding included.
    [[nodiscard]] std::span<const LaneRows> wanted_rows(const ReaderGroup& group) const { return std::span(wanted_rows_).subspan(group.first_rows, group.rows_count); }

    /// Spans of all tensors: what pricing everything once has to look at.
    [[nodiscard]] std::size_t span_count() const { return owned_.size() + wanted_.size(); }

private:
    void add_outputs(const Tasks& tasks);
    void add_groups(const Tasks& tasks, const Rhythm& rhythm);
    void add_reader(const Tasks& tasks, FamilyId reader, std::uint32_t slot);

    std::vector<LaneSpan> owned_;
    std::vector<std::uint32_t> first_owned_;    // per tensor and the end
    std::vector<RowRange> output_rows_;          // per lane
    std::vector<ReaderGroup> groups_;
    std::vector<std::uint32_t> first_group_;    // per tensor and the end
    std::vector<LaneSpan> wanted_;
    std::vector<LaneRows> wanted_rows_;
};

}  // namespace weft
