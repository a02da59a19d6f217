#include "ipu21/layout.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "base/checked.h"

namespace weft::ipu21 {
namespace {

constexpr std::uint32_t word_bytes = 4;
constexpr std::array<std::string_view, 6> order_names{"row-major", "amp-left", "amp-output", "block-major", "amp-transposed-right", "amp-transposed-left"};
constexpr std::uint32_t longest_row_cycles = 44;   // 2 cycles times 22 rows: the usual end of a receiver's row

/// Per part of one axis: how many parts of the other dealing it overlaps. Both lists ascend and cover the same extent.
void count_overlaps(std::span<const Interval> parts, std::span<const Interval> others, std::vector<std::uint32_t>& result) {
    result.assign(parts.size(), 0);
    std::size_t first = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
        if (parts[part].length() == 0) continue;
        while (others[first].end <= parts[part].begin) ++first;
        std::size_t last = first;
        while (others[last].end < parts[part].end) ++last;
        result[part] = static_cast<std::uint32_t>(last - first + 1);
    }
}

/// How the parts of two layouts overlap along one axis.
struct Axis {
    std::vector<std::uint32_t> from_overlaps;   // per part of `from`: parts of `to`
    std::vector<std::uint32_t> to_overlaps;

    void compare(std::span<const Interval> from, std::span<const Interval> to) {
        count_overlaps(from, to, from_overlaps);
        count_overlaps(to, from, to_overlaps);
    }
};

/// Words and transfers of one tile in one role.
struct Load {
    std::uint64_t words = 0;
    std::uint64_t transfers = 0;
};

bool same_places(const TileLayout& a, const TileLayout& b) {
    return a.row_parts == b.row_parts && a.column_parts == b.column_parts && a.replicas == b.replicas && a.row_stride == b.row_stride &&
           a.column_stride == b.column_stride && a.replica_stride == b.replica_stride && a.row_grain == b.row_grain &&
           a.column_grain == b.column_grain;
}

/// Orders that walk micro-blocks alike exchange whole panels.
bool same_traversal(std::uint32_t a, std::uint32_t b) {
    const auto first = [](std::uint32_t order) {
        return order == static_cast<std::uint32_t>(TileOrder::AmpTransposedRight) ? static_cast<std::uint32_t>(TileOrder::AmpLeft) : order;
    };
    return first(a) == first(b);
}

void add_class_copy(const Ipu21& machine, std::uint64_t bytes, ConversionCost& cost) {
    cost.staging_cycles += ceil_divide<std::uint64_t>(bytes, machine.copy_bytes_per_cycle) + machine.copy_call_cycles;
    cost.launch_cycles += machine.launch_cycles;
}

/// Copies and repacking once the data is in the tile.
void add_local_work(const Target& target, MatrixShape shape, const TileLayout& from, const TileLayout& to, ConversionCost& cost) {
    const Ipu21& machine = target.ipu21;
    const bool moved = !same_traversal(from.order, to.order);
    const bool cast = from.elem_bytes != to.elem_bytes;
    const std::uint64_t bytes = shard_bytes(to, shape);
    if (same_places(from, to) && !moved && !cast && from.memory != to.memory) add_class_copy(machine, bytes, cost);
    if (moved) {
        constexpr std::uint64_t pack_cycles_per_elem = 4;
        cost.staging_cycles += bytes / to.elem_bytes * pack_cycles_per_elem;
        cost.launch_cycles += machine.launch_cycles;
    }
    if (cast) {
        cost.staging_cycles += ceil_divide<std::uint64_t>(bytes / to.elem_bytes * (from.elem_bytes + to.elem_bytes), machine.copy_bytes_per_cycle);
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
    std::array<char, 32> order{};
    std::array<char, 24> memory{};
    unsigned bits = 0;
    const std::string copy(text);
    const int fields = std::sscanf(copy.c_str(), "%ux%ux%u strides %u,%u,%u grains %ux%u %31s %23s f%u", &layout.row_parts, &layout.column_parts,
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
                       layout.column_stride, layout.replica_stride, layout.row_grain, layout.column_grain, order_names[layout.order],
                       layout.memory == 0 ? "standard" : "interleaved", 8 * layout.elem_bytes);
}

LayoutParts::LayoutParts(const TileLayout& layout, MatrixShape shape) {
    for (std::uint32_t part = 0; part < layout.row_parts; ++part) rows.push_back(rows_of(layout, shape, part));
    for (std::uint32_t part = 0; part < layout.column_parts; ++part) columns.push_back(columns_of(layout, shape, part));
    for (std::uint32_t tile = 0; tile < layout_tiles(layout); ++tile) {
        const LayoutPart part = part_on(layout, tile);
        row_part.push_back(static_cast<std::uint16_t>(part.row));
        column_part.push_back(static_cast<std::uint16_t>(part.column));
    }
}

ConversionCost estimate_conversion(const Target& target, MatrixShape shape, const TileLayout& from, const TileLayout& to) {
    return estimate_conversion(target, shape, from, LayoutParts(from, shape), to, LayoutParts(to, shape));
}

ConversionCost estimate_conversion(const Target& target, MatrixShape shape, const TileLayout& from, const LayoutParts& from_table, const TileLayout& to,
                                   const LayoutParts& to_table) {
    const Ipu21& machine = target.ipu21;
    ConversionCost cost;
    add_local_work(target, shape, from, to, cost);
    if (same_places(from, to)) return cost;
    thread_local Axis rows;
    thread_local Axis columns;
    rows.compare(from_table.rows, to_table.rows);
    columns.compare(from_table.columns, to_table.columns);
    const bool exclusive = machine.discipline == ExchangeDiscipline::Exclusive;
    const std::uint64_t overhead = exclusive ? machine.receive_tail_cycles + longest_row_cycles + 1 : 1;
    // A multicast keeps two groups of copies from receiving anything else: its receivers, and the copies among which its sender
    // sits. So at most half of the groups receive at a time.
    const std::uint64_t in_weight = exclusive && to.replicas > 1 ? 2 : 1;
    const std::size_t sources = from_table.row_part.size();
    const std::size_t sinks = to_table.row_part.size();
    const std::uint64_t elems_per_word = word_bytes / from.elem_bytes;
    std::uint64_t most_transfers = 0;
    bool moves = false;   // some tile lacks something
    for (std::size_t tile = 0; tile < std::max(sources, sinks); ++tile) {
        const bool sends = tile < sources;
        const bool receives = tile < sinks;
        const std::uint32_t from_row = sends ? from_table.row_part[tile] : 0;
        const std::uint32_t from_column = sends ? from_table.column_part[tile] : 0;
        const std::uint32_t to_row = receives ? to_table.row_part[tile] : 0;
        const std::uint32_t to_column = receives ? to_table.column_part[tile] : 0;
        const std::uint64_t local = sends && receives ? std::uint64_t{intersection(from_table.rows[from_row], to_table.rows[to_row]).length()} *
                                                            intersection(from_table.columns[from_column], to_table.columns[to_column]).length()
                                                      : 0;
        Load in;
        Load out;
        if (receives) {
            in.words = std::uint64_t{to_table.rows[to_row].length()} * to_table.columns[to_column].length() - local;
            in.transfers = std::uint64_t{rows.to_overlaps[to_row]} * columns.to_overlaps[to_column] - (local != 0 ? 1 : 0);
        }
        if (sends) {
            const bool stays = local != 0 && to.replicas == 1;
            out.words = std::uint64_t{from_table.rows[from_row].length()} * from_table.columns[from_column].length() - (stays ? local : 0);
            out.transfers = std::uint64_t{rows.from_overlaps[from_row]} * columns.from_overlaps[from_column] - (stays ? 1 : 0);
            if (from.replicas > 1) {
                out.words = ceil_divide<std::uint64_t>(out.words, from.replicas);
                out.transfers = ceil_divide<std::uint64_t>(out.transfers, from.replicas);
            }
        }
        const auto cycles = [&](const Load& load) { return (load.words + elems_per_word - 1) / elems_per_word + load.transfers * overhead; };
        const std::uint64_t busy = exclusive ? in_weight * cycles(in) + cycles(out) : std::max(cycles(in), cycles(out));
        cost.exchange_cycles = std::max(cost.exchange_cycles, busy);
        const std::uint64_t cut = (in.words + out.words) / elems_per_word / machine.max_transfer_words;   // transfers more where spans are cut
        most_transfers = std::max(most_transfers, in.transfers + out.transfers + cut);
        moves = moves || in.words != 0;
    }
    if (!moves) {
        cost.exchange_cycles = 0;
        // All that is wanted is there, but in the other class: a copy, unless repacking or a cast writes it anew anyway.
        if (from.memory != to.memory && cost.staging_cycles == 0) add_class_copy(machine, shard_bytes(to, shape), cost);
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
