#include "ipu21/rearrange.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace weft::ipu21 {
namespace {

std::uint64_t elems_of(MatrixShape shape) { return std::uint64_t{shape.rows} * shape.columns; }

/// An axis as one of the two matrices has it: `inner` rows, or columns, lie between neighbouring indices.
struct SideAxis {
    std::uint32_t axis = 0;
    std::uint32_t extent = 0;
    std::uint64_t inner = 1;
};

/// Axes that make up whole rows, and those inside of a row, outermost first. An axis in the middle of which a row ends is neither.
struct Side {
    std::vector<SideAxis> rows;
    std::vector<SideAxis> columns;
};

/// `order`: axes outermost first; `unit`: elements between neighbouring indices of each axis.
Side side_of(std::span<const TileAxis> axes, std::span<const std::uint32_t> order, std::span<const std::uint64_t> unit, MatrixShape shape) {
    Side side;
    std::uint64_t covered = 1;
    for (const std::uint32_t axis : order) {
        const std::uint32_t extent = axes[axis].extent;
        if (unit[axis] % shape.columns == 0) {
            side.rows.push_back({axis, extent, unit[axis] / shape.columns});
        } else if (shape.columns % (unit[axis] * extent) == 0) {
            side.columns.push_back({axis, extent, unit[axis]});
            covered *= extent;
        }
    }
    if (covered != shape.columns) side.columns.clear();   // the outer part of a row belongs to an axis that goes on in the next
    return side;
}

/// Elements of the output between neighbouring indices of each axis.
std::vector<std::uint64_t> output_units(std::span<const TileAxis> axes) {
    std::vector<std::uint64_t> units(axes.size());
    std::uint64_t unit = 1;
    for (std::size_t i = axes.size(); i-- > 0;) {
        units[i] = unit;
        unit *= axes[i].extent;
    }
    return units;
}

std::vector<std::uint64_t> input_units(std::span<const TileAxis> axes) {
    std::vector<std::uint64_t> units;
    for (const TileAxis& axis : axes) units.push_back(axis.input_stride);
    return units;
}

/// Axes by descending unit.
std::vector<std::uint32_t> outermost_first(std::span<const std::uint64_t> units) {
    std::vector<std::uint32_t> order(units.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return units[a] > units[b]; });
    return order;
}

/// Both matrices' view of the axes.
struct Sides {
    std::vector<std::uint32_t> input_order;
    Side input;
    Side output;

    explicit Sides(const Rearrangement& r) {
        const auto units = output_units(r.axes);
        std::vector<std::uint32_t> order(r.axes.size());
        std::iota(order.begin(), order.end(), 0U);
        output = side_of(r.axes, order, units, r.output);
        const auto strides = input_units(r.axes);
        input_order = outermost_first(strides);
        input = side_of(r.axes, input_order, strides, r.input);
    }
};

/// How an axis is dealt to tiles: in whole grains of its indices, `stride` tiles between neighbouring parts.
struct AxisCut {
    std::uint32_t parts = 1;
    std::uint32_t grain = 1;
    std::uint64_t stride = 0;
};

/// How the rows or columns of a matrix are dealt.
struct Dealing {
    std::uint32_t extent = 1;
    std::uint32_t parts = 1;
    std::uint32_t grain = 1;
    std::uint64_t stride = 0;
};

bool deals_equally(std::uint32_t extent, std::uint32_t grain, std::uint32_t parts) { return extent % grain == 0 && extent / grain % parts == 0; }

/// The cuts that a dealing makes: outer axes entirely, then one in part. False where a part would begin inside an axis's index.
bool read_cuts(std::span<const SideAxis> axes, const Dealing& dealing, std::vector<AxisCut>& cuts) {
    if (dealing.parts == 1) return true;
    std::size_t used = 0;
    std::uint32_t left = dealing.parts;
    if (!deals_equally(dealing.extent, dealing.grain, dealing.parts)) {
        if (axes.empty() || dealing.grain % axes[0].inner != 0) return false;
        cuts[axes[0].axis] = {left, static_cast<std::uint32_t>(dealing.grain / axes[0].inner), 0};
        left = 1;
        used = 1;
    }
    for (; left > 1 && used < axes.size(); ++used) {
        const std::uint32_t extent = axes[used].extent;
        const std::uint32_t parts = std::min(left, extent);
        if (extent % parts != 0 || left % parts != 0) return false;
        cuts[axes[used].axis] = {parts, extent / parts, 0};
        left /= parts;
    }
    if (left > 1) return false;
    std::uint64_t stride = dealing.stride;
    while (used-- > 0) {
        AxisCut& cut = cuts[axes[used].axis];
        cut.stride = stride;
        stride *= cut.parts;
    }
    return true;
}

/// The dealing that makes exactly these cuts, if there is one; grains as long as a part where parts are equal.
std::optional<Dealing> dealing_of(std::span<const SideAxis> axes, std::uint32_t extent, std::span<const AxisCut> cuts) {
    Dealing dealing{extent, 1, 1, 0};
    bool open = true;   // everything further out is cut into single indices
    for (const SideAxis& axis : axes) {
        const AxisCut& cut = cuts[axis.axis];
        if (cut.parts == 1) {
            open = false;
            continue;
        }
        const bool equal = deals_equally(axis.extent, cut.grain, cut.parts);
        const bool first = dealing.parts == 1;
        if (!open || (!first && (!equal || dealing.stride != cut.stride * cut.parts))) return std::nullopt;
        const std::uint64_t grain = (equal ? axis.extent / cut.parts : cut.grain) * axis.inner;
        dealing = {extent, dealing.parts * cut.parts, static_cast<std::uint32_t>(grain), cut.stride};
        open = cut.parts == axis.extent && equal;
    }
    return dealing;
}

bool all_read(const Side& side, std::span<const AxisCut> cuts) {
    std::size_t known = 0;
    for (const auto* axes : {&side.rows, &side.columns}) {
        for (const SideAxis& axis : *axes) known += cuts[axis.axis].parts > 1 ? 1 : 0;
    }
    return known == static_cast<std::size_t>(std::ranges::count_if(cuts, [](const AxisCut& cut) { return cut.parts > 1; }));
}

/// A layout that makes exactly these cuts, in `replicas` copies; order, memory and precision of `like`.
std::optional<TileLayout> layout_of(const Side& side, MatrixShape shape, std::span<const AxisCut> cuts, const TileLayout& like) {
    if (!all_read(side, cuts)) return std::nullopt;
    const auto rows = dealing_of(side.rows, shape.rows, cuts);
    const auto columns = dealing_of(side.columns, shape.columns, cuts);
    if (!rows || !columns) return std::nullopt;
    TileLayout layout = like;
    layout.row_parts = rows->parts;
    layout.column_parts = columns->parts;
    const std::uint32_t tiles = layout_tiles(layout);
    layout.row_stride = rows->parts > 1 ? static_cast<std::uint32_t>(rows->stride) : tiles;
    layout.column_stride = columns->parts > 1 ? static_cast<std::uint32_t>(columns->stride) : tiles;
    layout.replica_stride = like.replicas > 1 ? like.replica_stride : tiles;
    layout.row_grain = rows->grain;
    layout.column_grain = columns->grain;
    return is_bijection(layout) ? std::optional(layout) : std::nullopt;
}

/// Axes of which a tile has more than one index, in the order of one side; `rows` of them are rows, or no_id where one is neither.
struct LocalSide {
    std::vector<std::uint32_t> axes;
    std::size_t rows = 0;
    bool split = true;   ///< all axes are rows or columns
};

LocalSide local_side(const Side& side, std::span<const std::uint32_t> order, std::span<const std::uint8_t> several) {
    LocalSide local;
    const auto has = [](std::span<const SideAxis> axes, std::uint32_t axis) { return std::ranges::find(axes, axis, &SideAxis::axis) != axes.end(); };
    for (const std::uint32_t axis : order) {
        if (several[axis] == 0) continue;
        const bool row = has(side.rows, axis);
        local.rows += row ? 1 : 0;
        local.split = local.split && (row || has(side.columns, axis));
        local.axes.push_back(axis);
    }
    return local;
}

LocalOrder local_order(const Rearrangement& r, const Sides& sides, std::span<const AxisCut> cuts) {
    std::vector<std::uint8_t> several;
    std::vector<std::uint32_t> order(r.axes.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t axis = 0; axis < cuts.size(); ++axis) several.push_back(dealt_interval(r.axes[axis].extent, cuts[axis].grain, cuts[axis].parts, 0).length() > 1 ? 1 : 0);
    const LocalSide in = local_side(sides.input, sides.input_order, several);
    const LocalSide out = local_side(sides.output, order, several);
    const bool split = in.split && out.split;
    if (in.axes == out.axes && split && in.rows == out.rows) return LocalOrder::Same;
    // The output's rows are the input's columns, and the other way round.
    std::vector<std::uint32_t> turned(out.axes.begin() + static_cast<std::ptrdiff_t>(out.rows), out.axes.end());
    turned.insert(turned.end(), out.axes.begin(), out.axes.begin() + static_cast<std::ptrdiff_t>(out.rows));
    if (split && in.axes == turned && in.rows == out.axes.size() - out.rows) return LocalOrder::Transposed;
    return in.axes == out.axes ? LocalOrder::Linear : LocalOrder::Other;
}

bool same_dealing(std::uint32_t extent, std::uint32_t a, std::uint32_t b, std::uint32_t parts) {
    if (a == b || parts == 1) return true;
    for (std::uint32_t part = 0; part < parts; ++part) {
        if (dealt_interval(extent, a, parts, part) != dealt_interval(extent, b, parts, part)) return false;
    }
    return true;
}

/// Splits axes such that a row of `columns` elements ends between two of them; `units`: elements between neighbouring indices.
void split_at_rows(std::vector<TileAxis>& axes, std::uint64_t columns, std::vector<std::uint64_t> (*units_of)(std::span<const TileAxis>)) {
    const std::vector<std::uint64_t> units = units_of(axes);
    std::vector<TileAxis> result;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const TileAxis& axis = axes[i];
        const std::uint64_t whole = std::lcm(units[i], columns) / units[i];   // indices from one row's end to the next that meets an index
        if (units[i] % columns == 0 || whole <= 1 || whole >= axis.extent || axis.extent % whole != 0) {
            result.push_back(axis);
            continue;
        }
        const auto inner = static_cast<std::uint32_t>(whole);
        result.push_back({axis.extent / inner, axis.input_stride * inner});
        result.push_back({inner, axis.input_stride});
    }
    axes = std::move(result);
}

}  // namespace

bool is_permutation(const Rearrangement& r) {
    std::vector<TileAxis> axes = r.axes;
    std::ranges::sort(axes, [](const TileAxis& a, const TileAxis& b) { return std::pair(a.input_stride, a.extent) < std::pair(b.input_stride, b.extent); });
    std::uint64_t expected = 1;
    for (const TileAxis& axis : axes) {
        if (axis.extent == 0) return false;
        if (axis.extent == 1) continue;
        if (axis.input_stride != expected || expected > elems_of(r.input)) return false;
        expected *= axis.extent;
    }
    return expected == elems_of(r.input) && expected == elems_of(r.output);
}

Rearrangement refined(const Rearrangement& r) {
    Rearrangement result{r.input, r.output, {}};
    for (const TileAxis& axis : r.axes) {
        if (axis.extent == 1) continue;
        if (!result.axes.empty() && result.axes.back().input_stride == std::uint64_t{axis.input_stride} * axis.extent) {
            result.axes.back() = {result.axes.back().extent * axis.extent, axis.input_stride};
        } else {
            result.axes.push_back(axis);
        }
    }
    split_at_rows(result.axes, r.output.columns, output_units);
    split_at_rows(result.axes, r.input.columns, input_units);
    return result;
}

Rearrangement inverse(const Rearrangement& r) {
    Rearrangement result{r.output, r.input, {}};
    const auto units = output_units(r.axes);
    for (const std::uint32_t axis : outermost_first(input_units(r.axes))) result.axes.push_back({r.axes[axis].extent, static_cast<std::uint32_t>(units[axis])});
    return result;
}

std::optional<TileLayout> carried_layout(const Rearrangement& r, const TileLayout& input, LocalOrder* local) {
    const Sides sides(r);
    std::vector<AxisCut> cuts;
    for (const TileAxis& axis : r.axes) cuts.push_back({1, axis.extent, 0});
    if (!read_cuts(sides.input.rows, {r.input.rows, input.row_parts, input.row_grain, input.row_stride}, cuts) ||
        !read_cuts(sides.input.columns, {r.input.columns, input.column_parts, input.column_grain, input.column_stride}, cuts)) {
        return std::nullopt;
    }
    if (local != nullptr) *local = local_order(r, sides, cuts);
    return layout_of(sides.output, r.output, cuts, input);
}

namespace {

/// All ways to cut axes over at most `tiles` tiles that both matrices can be dealt by.
class PairEnumerator {
public:
    PairEnumerator(const Rearrangement& r, std::uint32_t tiles) : r_(r), sides_(r), tiles_(tiles) {
        for (const TileAxis& axis : r_.axes) cuts_.push_back({1, axis.extent, 0});
    }

    std::vector<CarriedPair> run() {
        visit(0, 1);
        return std::move(pairs_);
    }

private:
    void visit(std::size_t axis, std::uint32_t used) {
        if (axis == cuts_.size()) return add();
        const std::uint32_t extent = r_.axes[axis].extent;
        const std::uint32_t room = std::min(extent, tiles_ / used);
        for (std::uint32_t parts = 1; parts <= room; ++parts) {
            const bool even = extent % parts == 0;
            if (!even && parts != room) continue;   // uneven parts are worth it on all the tiles that are left
            cuts_[axis] = {parts, even ? extent / parts : 1, 0};
            visit(axis + 1, used * parts);
        }
        cuts_[axis] = {1, extent, 0};
    }

    /// Tiles are numbered along the output's axes, or along the input's where the output's numbers are none of the input.
    void add() {
        std::vector<std::uint32_t> order(cuts_.size());
        std::iota(order.begin(), order.end(), 0U);
        if (!add_numbered(order)) (void)add_numbered(sides_.input_order);
    }

    bool add_numbered(std::span<const std::uint32_t> order) {
        std::uint64_t stride = 1;
        for (std::size_t i = order.size(); i-- > 0;) {
            cuts_[order[i]].stride = stride;
            stride *= cuts_[order[i]].parts;
        }
        TileLayout like{};
        like.replicas = 1;
        const auto input = layout_of(sides_.input, r_.input, cuts_, like);
        const auto output = layout_of(sides_.output, r_.output, cuts_, like);
        if (!input || !output) return false;
        pairs_.push_back({*input, *output, local_order(r_, sides_, cuts_)});
        return true;
    }

    const Rearrangement& r_;
    Sides sides_;
    std::uint32_t tiles_;
    std::vector<AxisCut> cuts_;
    std::vector<CarriedPair> pairs_;
};

}  // namespace

std::vector<CarriedPair> carried_pairs(const Rearrangement& r, std::uint32_t tiles, std::size_t count) {
    std::vector<CarriedPair> pairs = PairEnumerator(r, tiles).run();
    std::ranges::stable_sort(pairs, std::ranges::greater{}, [](const CarriedPair& pair) { return layout_tiles(pair.input); });
    if (pairs.size() > count) pairs.resize(count);
    return pairs;
}

bool same_parts(const TileLayout& a, const TileLayout& b) {
    const auto same = [](std::uint32_t parts_a, std::uint32_t parts_b, std::uint32_t stride_a, std::uint32_t stride_b) {
        return parts_a == parts_b && (parts_a == 1 || stride_a == stride_b);   // no stride leads to a second part
    };
    return same(a.row_parts, b.row_parts, a.row_stride, b.row_stride) && same(a.column_parts, b.column_parts, a.column_stride, b.column_stride) &&
           same(a.replicas, b.replicas, a.replica_stride, b.replica_stride);
}

std::optional<TileLayout> with_grains(TileLayout layout, MatrixShape shape, std::uint32_t row_grain, std::uint32_t column_grain) {
    if (!same_dealing(shape.rows, layout.row_grain, row_grain, layout.row_parts) || !same_dealing(shape.columns, layout.column_grain, column_grain, layout.column_parts)) {
        return std::nullopt;
    }
    layout.row_grain = row_grain;
    layout.column_grain = column_grain;
    return layout;
}

std::optional<TileLayout> in_order(TileLayout layout, MatrixShape shape, TileOrder order, std::uint32_t amp_columns) {
    const bool plain = order == TileOrder::RowMajor;
    const bool streamed = order == TileOrder::AmpLeft || order == TileOrder::AmpOutput;
    const std::uint32_t row_block = plain || streamed ? 1 : amp_columns;
    const std::uint32_t column_block = plain || order == TileOrder::AmpTransposedLeft ? 1 : amp_columns;
    const auto fit = [](std::uint32_t extent, std::uint32_t grain, std::uint32_t parts, std::uint32_t block) {
        return same_dealing(extent, grain, block, parts) ? block : grain % block == 0 ? grain : 0;
    };
    const std::uint32_t rows = fit(shape.rows, layout.row_grain, layout.row_parts, row_block);
    const std::uint32_t columns = fit(shape.columns, layout.column_grain, layout.column_parts, column_block);
    if (rows == 0 || columns == 0) return std::nullopt;
    layout.order = static_cast<std::uint32_t>(order);
    return with_grains(layout, shape, rows, columns);
}

namespace {

std::optional<TileOrder> transposed_order(TileOrder order) {
    switch (order) {
        case TileOrder::AmpLeft: return TileOrder::AmpTransposedLeft;
        case TileOrder::AmpTransposedLeft: return TileOrder::AmpLeft;
        case TileOrder::AmpTransposedRight: return TileOrder::BlockMajor;
        case TileOrder::BlockMajor: return TileOrder::AmpTransposedRight;
        case TileOrder::AmpOutput:
        case TileOrder::RowMajor: break;
    }
    return std::nullopt;
}

}  // namespace

std::optional<TileLayout> viewed_layout(const Rearrangement& r, const TileLayout& input, const TileLayout& carried, LocalOrder local) {
    const auto order = static_cast<TileOrder>(input.order);
    if (local == LocalOrder::Same) return with_grains(carried, r.output, input.row_grain, input.column_grain);
    if (local == LocalOrder::Transposed) {
        const auto turned = transposed_order(order);
        if (!turned) return std::nullopt;
        TileLayout layout = carried;
        layout.order = static_cast<std::uint32_t>(*turned);
        return with_grains(layout, r.output, input.column_grain, input.row_grain);
    }
    // Rows of another length: no gap may stand behind them.
    const bool whole = r.input.columns % input.column_grain == 0;
    if (local != LocalOrder::Linear || order != TileOrder::RowMajor || !whole) return std::nullopt;
    const auto layout = in_order(carried, r.output, TileOrder::RowMajor, 1);
    return layout && r.output.columns % layout->column_grain == 0 ? layout : std::nullopt;
}

Rearrangement rearrangement_of(const Tasks& tasks, std::uint32_t op) {
    const auto at = std::ranges::lower_bound(tasks.tile_rearrangements, op, {}, &TileRearrangement::operator_index);
    if (at == tasks.tile_rearrangements.end() || at->operator_index != op) bad_input("the tasks do not say what operator {} rearranges", op);
    const TileOperator& row = tasks.tile_operators[op];
    const auto shape = [&](std::uint32_t value) { return MatrixShape{tasks.tile_values[value].rows, tasks.tile_values[value].columns}; };
    const auto axes = tasks.tile_axes.subspan(at->first_axis, at->axis_count);
    return refined({shape(tasks.tile_inputs[row.first_input]), shape(row.output), {axes.begin(), axes.end()}});
}

}  // namespace weft::ipu21
