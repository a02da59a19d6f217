#include "ipu21/layout.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "base/checked.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint32_t word_bytes = 4;
constexpr std::array<std::string_view, 4> order_names{"row-major", "amp-left", "amp-output", "block-major"};
constexpr std::uint32_t longest_row_cycles = 44;   // 2 cycles times 22 rows: the usual end of a receiver's row

/// Per part of one axis: how many parts of the other dealing it overlaps.
std::vector<std::uint32_t> overlaps(std::uint32_t extent, std::uint32_t grain, std::uint32_t parts, std::uint32_t other_grain,
                                    std::uint32_t other_parts) {
    std::vector<std::uint32_t> result(parts, 0);
    for (std::uint32_t part = 0; part < parts; ++part) {
        const Interval run = dealt_interval(extent, grain, parts, part);
        if (run.length() == 0) continue;
        result[part] = part_of(extent, other_grain, other_parts, run.end - 1) - part_of(extent, other_grain, other_parts, run.begin) + 1;
    }
    return result;
}

struct Axis {
    std::vector<std::uint32_t> from_overlaps;   // per part of `from`: parts of `to`
    std::vector<std::uint32_t> to_overlaps;
    std::vector<std::uint32_t> from_length;
    std::vector<std::uint32_t> to_length;

    Axis(std::uint32_t extent, std::uint32_t from_grain, std::uint32_t from_parts, std::uint32_t to_grain, std::uint32_t to_parts)
        : from_overlaps(overlaps(extent, from_grain, from_parts, to_grain, to_parts)),
          to_overlaps(overlaps(extent, to_grain, to_parts, from_grain, from_parts)) {
        for (std::uint32_t part = 0; part < from_parts; ++part) from_length.push_back(dealt_interval(extent, from_grain, from_parts, part).length());
        for (std::uint32_t part = 0; part < to_parts; ++part) to_length.push_back(dealt_interval(extent, to_grain, to_parts, part).length());
    }
};

/// Words and transfers of one tile in one role.
struct Load {
    std::uint64_t words = 0;
    std::uint64_t transfers = 0;
};

std::uint64_t local_elems(MatrixShape shape, const TileLayout& from, const LayoutPart& a, const TileLayout& to, const LayoutPart& b) {
    const std::uint64_t rows = intersection(rows_of(from, shape, a.row), rows_of(to, shape, b.row)).length();
    return rows == 0 ? 0 : rows * intersection(columns_of(from, shape, a.column), columns_of(to, shape, b.column)).length();
}

bool same_places(const TileLayout& a, const TileLayout& b) {
    return a.row_parts == b.row_parts && a.column_parts == b.column_parts && a.replicas == b.replicas && a.row_stride == b.row_stride &&
           a.column_stride == b.column_stride && a.replica_stride == b.replica_stride && a.row_grain == b.row_grain &&
           a.column_grain == b.column_grain;
}

/// Copies and repacking once the data is in the tile.
void add_local_work(const Target& target, MatrixShape shape, const TileLayout& from, const TileLayout& to, ConversionCost& cost) {
    const Ipu21& machine = target.ipu21;
    const bool moved = from.order != to.order || from.elem_bytes != to.elem_bytes;
    const std::uint64_t bytes = shard_bytes(to, shape);
    if (same_places(from, to) && !moved && from.memory != to.memory) {
        cost.staging_cycles += ceil_divide<std::uint64_t>(bytes, machine.copy_bytes_per_cycle) + machine.copy_call_cycles;
        cost.launch_cycles += machine.launch_cycles;
    }
    if (moved) {
        constexpr std::uint64_t pack_cycles_per_elem = 4;
        cost.staging_cycles += bytes / to.elem_bytes * pack_cycles_per_elem;
        cost.launch_cycles += machine.launch_cycles;
    }
}

}  // namespace

Interval dealt_interval(std::uint32_t extent, std::uint32_t grain, std::uint32_t parts, std::uint32_t part) {
    const std::uint32_t grains = ceil_divide(extent, grain);
    const std::uint32_t base = grains / parts;
    const std::uint32_t extra = grains % parts;
    const auto start = [&](std::uint32_t p) { return std::min(extent, (p * base + std::min(p, extra)) * grain); };
    return {start(part), start(part + 1)};
}

std::uint32_t part_of(std::uint32_t extent, std::uint32_t grain, std::uint32_t parts, std::uint32_t index) {
    const std::uint32_t grains = ceil_divide(extent, grain);
    const std::uint32_t base = grains / parts;
    const std::uint32_t extra = grains % parts;
    const std::uint32_t at = index / grain;
    const std::uint32_t longer = extra * (base + 1);   // grains in the longer runs
    return at < longer ? at / (base + 1) : extra + (at - longer) / base;
}

LayoutPart part_on(const TileLayout& layout, std::uint32_t tile) {
    if (tile >= layout_tiles(layout)) return {};
    return {tile / layout.row_stride % layout.row_parts, tile / layout.column_stride % layout.column_parts,
            tile / layout.replica_stride % layout.replicas, true};
}

bool parse_layout(std::string_view text, TileLayout& layout) {
    std::array<char, 24> order{};
    std::array<char, 24> memory{};
    unsigned bits = 0;
    const std::string copy(text);
    const int fields = std::sscanf(copy.c_str(), "%ux%ux%u strides %u,%u,%u grains %ux%u %23s %23s f%u", &layout.row_parts, &layout.column_parts,
                                   &layout.replicas, &layout.row_stride, &layout.column_stride, &layout.replica_stride, &layout.row_grain,
                                   &layout.column_grain, order.data(), memory.data(), &bits);
    if (fields != 11 || (bits != 16 && bits != 32)) return false;
    layout.elem_bytes = bits / 8;
    layout.memory = std::string_view(memory.data()) == "interleaved" ? 1 : 0;
    for (layout.order = 0; layout.order < order_names.size() && order_names[layout.order] != order.data(); ++layout.order) {
    }
    return layout.order < order_names.size() && layout.row_grain > 0 && layout.column_grain > 0 && is_bijection(layout) && to_text(layout) == text;
}

bool is_bijection(const TileLayout& layout) {
    std::array<std::pair<std::uint64_t, std::uint64_t>, 3> axes{{{layout.row_stride, layout.row_parts},
                                                                 {layout.column_stride, layout.column_parts},
                                                                 {layout.replica_stride, layout.replicas}}};
    std::ranges::sort(axes);
    std::uint64_t expected = 1;
    for (const auto& [stride, parts] : axes) {
        if (stride == 0 || parts == 0) return false;
        if (parts == 1) continue;
        if (stride != expected) return false;
        expected *= parts;
    }
    return true;
}

std::uint64_t shard_bytes(const TileLayout& layout, MatrixShape shape) {
    const std::uint64_t rows = std::uint64_t{ceil_divide(ceil_divide(shape.rows, layout.row_grain), layout.row_parts)} * layout.row_grain;
    const std::uint64_t columns =
        std::uint64_t{ceil_divide(ceil_divide(shape.columns, layout.column_grain), layout.column_parts)} * layout.column_grain;
    return rows * columns * layout.elem_bytes;
}

std::string to_text(const TileLayout& layout) {
    return fmt::format("{}x{}x{} strides {},{},{} grains {}x{} {} {} f{}", layout.row_parts, layout.column_parts, layout.replicas, layout.row_stride,
                       layout.column_stride, layout.replica_stride, layout.row_grain, layout.column_grain, order_names[layout.order & 3U],
                       layout.memory == 0 ? "standard" : "interleaved", 8 * layout.elem_bytes);
}

ConversionCost estimate_conversion(const Target& target, MatrixShape shape, const TileLayout& from, const TileLayout& to) {
    const Ipu21& machine = target.ipu21;
    ConversionCost cost;
    add_local_work(target, shape, from, to, cost);
    if (same_places(from, to)) return cost;
    const Axis rows(shape.rows, from.row_grain, from.row_parts, to.row_grain, to.row_parts);
    const Axis columns(shape.columns, from.column_grain, from.column_parts, to.column_grain, to.column_parts);
    const bool exclusive = machine.discipline == ExchangeDiscipline::Exclusive;
    const std::uint64_t overhead = exclusive ? machine.receive_tail_cycles + longest_row_cycles + 1 : 1;
    // A multicast keeps two groups of copies from receiving anything else: its receivers, and the copies among which its sender
    // sits. So at most half of the groups receive at a time.
    const std::uint64_t in_weight = exclusive && to.replicas > 1 ? 2 : 1;
    const std::uint32_t tiles = std::max(layout_tiles(from), layout_tiles(to));
    std::uint64_t most_transfers = 0;
    bool moves = false;   // some tile lacks something
    for (std::uint32_t tile = 0; tile < tiles; ++tile) {
        const LayoutPart source = part_on(from, tile);
        const LayoutPart sink = part_on(to, tile);
        const std::uint64_t local = source.held && sink.held ? local_elems(shape, from, source, to, sink) : 0;
        Load in;
        Load out;
        if (sink.held) {
            in.words = std::uint64_t{rows.to_length[sink.row]} * columns.to_length[sink.column] - local;
            in.transfers = std::uint64_t{rows.to_overlaps[sink.row]} * columns.to_overlaps[sink.column] - (local != 0 ? 1 : 0);
        }
        if (source.held) {
            const bool stays = local != 0 && to.replicas == 1;
            out.words = std::uint64_t{rows.from_length[source.row]} * columns.from_length[source.column] - (stays ? local : 0);
            out.transfers = std::uint64_t{rows.from_overlaps[source.row]} * columns.from_overlaps[source.column] - (stays ? 1 : 0);
            out.words = ceil_divide<std::uint64_t>(out.words, from.replicas);
            out.transfers = ceil_divide<std::uint64_t>(out.transfers, from.replicas);
        }
        const auto cycles = [&](const Load& load) { return ceil_divide<std::uint64_t>(load.words * from.elem_bytes, word_bytes) + load.transfers * overhead; };
        const std::uint64_t busy = exclusive ? in_weight * cycles(in) + cycles(out) : std::max(cycles(in), cycles(out));
        cost.exchange_cycles = std::max(cost.exchange_cycles, busy);
        most_transfers = std::max(most_transfers, in.transfers + out.transfers);
        moves = moves || in.words != 0;
    }
    if (!moves) {
        cost.exchange_cycles = 0;
        return cost;
    }
    if (!exclusive) cost.exchange_cycles += machine.receive_tail_cycles + longest_row_cycles;
    cost.phases = 1;
    cost.launch_cycles += machine.measured_boundary_cycles;
    cost.row_bytes = word_bytes * (1 + machine.exchange_row_words * most_transfers);
    return cost;
}

Phase conversion_phase(const Target& target, MatrixShape shape, const TileLayout& from, const TileLayout& to) {
    Phase phase;
    std::vector<std::uint32_t> receivers;
    for (std::uint32_t row = 0; row < to.row_parts; ++row) {
        const Interval to_rows = rows_of(to, shape, row);
        if (to_rows.length() == 0) continue;
        const std::uint32_t first_row = part_of(shape.rows, from.row_grain, from.row_parts, to_rows.begin);
        const std::uint32_t last_row = part_of(shape.rows, from.row_grain, from.row_parts, to_rows.end - 1);
        for (std::uint32_t column = 0; column < to.column_parts; ++column) {
            const Interval to_columns = columns_of(to, shape, column);
            if (to_columns.length() == 0) continue;
            const std::uint32_t first_column = part_of(shape.columns, from.column_grain, from.column_parts, to_columns.begin);
            const std::uint32_t last_column = part_of(shape.columns, from.column_grain, from.column_parts, to_columns.end - 1);
            for (std::uint32_t r = first_row; r <= last_row; ++r) {
                for (std::uint32_t c = first_column; c <= last_column; ++c) {
                    const std::uint64_t elems = std::uint64_t{intersection(to_rows, rows_of(from, shape, r)).length()} *
                                                intersection(to_columns, columns_of(from, shape, c)).length();
                    receivers.clear();
                    for (std::uint32_t copy = 0; copy < to.replicas; ++copy) {
                        const std::uint32_t tile = layout_tile(to, row, column, copy);
                        const LayoutPart held = part_on(from, tile);
                        if (!held.held || held.row != r || held.column != c) receivers.push_back(tile);
                    }
                    const std::uint32_t sender = layout_tile(from, r, c, (row * to.column_parts + column) % from.replicas);
                    add_transfer(phase, TileId(sender), receivers, ceil_divide<std::uint64_t>(elems * from.elem_bytes, word_bytes),
                                 target.ipu21.max_transfer_words);
                }
            }
        }
    }
    return phase;
}

}  // namespace weft::ipu21
