#include <algorithm>

#include "base/checked.h"
#include "pim/kernel_parts.h"
#include "pim/tiles.h"

namespace weft::kernel {
namespace {

/// Row of tiles: first output row and the tiles' first columns are clamped, so that the last tile of a row or column lies inside
/// the tensor and computes some outputs a second time (to the same values).
std::uint32_t tile_origin(std::uint32_t tile, std::uint32_t size, std::uint32_t extent) {
    return std::min(tile * size, extent > size ? extent - size : 0U);
}

std::int32_t window_address(const Emission& emission, const Piece& piece, std::uint32_t y, std::uint32_t x) {
    const Family& family = emission.family;
    const TaskTensor& input = emission.input(piece.input);
    const std::int32_t row = window_origin_row(family, band_of(emission.tasks, emission.family_id.index()), y) + static_cast<std::int32_t>(piece.row);
    const auto column = static_cast<std::int32_t>(x * family.stride_columns) - static_cast<std::int32_t>(family.pad_left);
    return element_address(emission.space.inputs[piece.input], input, row, column) + static_cast<std::int32_t>(piece.column_elems);
}

/// A target's first output among those of a tile, row by row.
std::size_t output_index(const Family& family, std::uint32_t channels, const StripTarget& target) {
    return (std::size_t{target.row} * family.tile_columns + target.column) * channels + target.channel;
}

/// Which of a tile's outputs already hold a sum.
class TouchedOutputs {
public:
    TouchedOutputs(const Family& family, std::uint32_t channels)
        : family_(family), channels_(channels), touched_(family.tile_rows * family.tile_columns * channels, 0) {}

    [[nodiscard]] std::size_t index(const StripTarget& target) const { return output_index(family_, channels_, target); }
    /// Length of the leading part of [first, first + length) that has one state; the state in `touched`.
    std::uint32_t same_state(std::size_t first, std::uint32_t length, bool& touched) const {
        touched = touched_[first] != 0;
        std::uint32_t count = 1;
        while (count < length && (touched_[first + count] != 0) == touched) ++count;
        return count;
    }
    void mark(std::size_t first, std::uint32_t length) { std::fill_n(touched_.begin() + static_cast<std::ptrdiff_t>(first), length, 1); }

private:
    const Family& family_;
    std::uint32_t channels_;
    std::vector<char> touched_;
};

struct MatrixScratch {
    std::int32_t gather = 0;     // up to the largest gathered strip
    std::int32_t partial = 0;    // one strip's results
};

/// The family's bias where it is added to results: its values for `elems` neighbouring outputs from a first channel on.
struct BiasValues {
    std::vector<char> lacking;   // per output of a tile: no matrix has its bias; empty where all have
    std::int32_t address = 0;
    std::int32_t elems = 0;

    /// Length of the leading part of [first, first + length) that is alike; whether the bias is missing there in `lacks`.
    std::uint32_t same_state(std::size_t first, std::uint32_t length, bool& lacks) const {
        lacks = !lacking.empty() && lacking[first] != 0;
        if (lacking.empty()) return length;
        std::uint32_t count = 1;
        while (count < length && (lacking[first + count] != 0) == lacks) ++count;
        return count;
    }
};

/// Outputs of a tile whose bias is in no matrix.
std::vector<char> outputs_without_bias(const Emission& emission) {
    const FamilyBias bias = bias_of(emission.tasks, emission.family_id.index());
    if (bias.constant == no_id) return {};
    const Family& family = emission.family;
    const std::size_t row_elems = std::size_t{family.tile_columns} * emission.output.channels;
    std::vector<char> lacking(family.tile_rows * row_elems, 0);
    std::fill_n(lacking.begin() + static_cast<std::ptrdiff_t>(bias.first_row * row_elems), bias.row_count * row_elems, 1);
    for (const Strip& strip : emission.tasks.strips.subspan(family.first_strip, family.strip_count)) {
        if (strip.bias_row == 0) continue;
        for (const StripTarget& target : emission.tasks.targets.subspan(strip.first_target, strip.target_count)) {
            std::fill_n(lacking.begin() + static_cast<std::ptrdiff_t>(output_index(family, emission.output.channels, target)), target.length, 0);
        }
    }
    if (std::find(lacking.begin(), lacking.end(), 1) == lacking.end()) lacking.clear();
    return lacking;
}

/// Where a strip adds the bias, its values in local memory.
BiasValues place_bias(Emission& emission) {
    BiasValues bias{outputs_without_bias(emission), 0, 0};
    if (bias.lacking.empty()) return bias;
    const std::uint32_t positions = std::min(emission.family.tile_columns, segment_positions(emission.output));
    const std::uint32_t constant = bias_of(emission.tasks, emission.family_id.index()).constant;
    bias.address = emission.memory.channel_constant(emission.tasks, constant, emission.output.channels, positions);
    bias.elems = static_cast<std::int32_t>(positions * emission.output.channels);
    return bias;
}

/// output = result + bias, for `count` neighbouring outputs of which the first has channel `channel`.
void emit_with_bias(Emission& emission, const BiasValues& bias, Address output, Address result, std::int32_t channel, std::int32_t count) {
    const auto channels = static_cast<std::int32_t>(emission.output.channels);
    for (std::int32_t done = 0; done < count;) {
        const std::int32_t first = (channel + done) % channels;
        const std::int32_t length = std::min(count - done, bias.elems - first);
        emission.body.push_back({Opcode::Vvadd, output.plus(done), result.plus(done), {bias.address + first, 0}, length, 0});
        done += length;
    }
}

std::int32_t largest_gather(const Tasks& tasks, const Family& family) {
    std::uint32_t largest = 0;
    for (const Strip& strip : tasks.strips.subspan(family.first_strip, family.strip_count)) {
        if (strip.piece_count > 1 && strip.bias_row == 0) largest = std::max(largest, strip.rows);
    }
    return static_cast<std::int32_t>(largest);
}

/// The strip's input vector: its address, after the copies that gather it.
Address strip_input(Emission& emission, const Strip& strip, std::int32_t gather, std::uint32_t y, std::uint32_t x,
                    std::span<const std::int32_t> tile_stride) {
    const auto pieces = emission.tasks.pieces.subspan(strip.first_piece, strip.piece_count);
    const auto source = [&](const Piece& piece) { return Address{window_address(emission, piece, y, x), tile_stride[piece.input]}; };
    if (pieces.size() == 1 && strip.bias_row == 0) return source(pieces[0]);
    std::int32_t offset = 0;
    for (const Piece& piece : pieces) {
        const auto length = static_cast<std::int32_t>(piece.length);
        emission.body.push_back({Opcode::Lmv, {gather + offset, 0}, source(piece), {}, length, 0});
        offset += length;
    }
    return {gather, 0};
}

/// One mvmul and the additions of its results to the tile's outputs.
void emit_strip(Emission& emission, const Strip& strip, std::uint32_t group, Address input, const MatrixScratch& scratch, const BiasValues& bias,
                Address tile_output, TouchedOutputs& touched) {
    const auto pitch = pitch_elems(emission.output);
    const auto channels = static_cast<std::int32_t>(emission.output.channels);
    const auto targets = emission.tasks.targets.subspan(strip.first_target, strip.target_count);
    const auto place = [&](const StripTarget& target) {
        return tile_output.plus(static_cast<std::int32_t>(target.row) * pitch + static_cast<std::int32_t>(target.column) * channels +
                                static_cast<std::int32_t>(target.channel));
    };
    const auto number = static_cast<std::int32_t>(group);
    const auto clamp = static_cast<std::int32_t>(bias_of(emission.tasks, emission.family_id.index()).clamp);
    bool state = false;
    bool lacks = false;
    if (targets.size() == 1 && targets[0].first_column == 0 && targets[0].length == strip.columns &&
        bias.same_state(touched.index(targets[0]), targets[0].length, lacks) == targets[0].length && !lacks &&
        touched.same_state(touched.index(targets[0]), targets[0].length, state) == targets[0].length && !state) {
        emission.body.push_back({Opcode::Mvmul, place(targets[0]), input, {}, clamp, number});
        touched.mark(touched.index(targets[0]), targets[0].length);
        return;
    }
    emission.body.push_back({Opcode::Mvmul, {scratch.partial, 0}, input, {}, clamp, number});
    for (const StripTarget& target : targets) {
        for (std::uint32_t done = 0; done < target.length;) {
            const std::size_t first = touched.index(target) + done;
            std::uint32_t count = touched.same_state(first, target.length - done, state);
            if (!state) count = bias.same_state(first, count, lacks);
            const Address result{scratch.partial + static_cast<std::int32_t>(target.first_column + done), 0};
            const Address output = place(target).plus(static_cast<std::int32_t>(done));
            const auto length = static_cast<std::int32_t>(count);
            if (state) {
                emission.body.push_back({Opcode::Vvadd, output, output, result, length, 0});
            } else if (lacks) {
                emit_with_bias(emission, bias, output, result, static_cast<std::int32_t>(target.channel + done), length);
            } else {
                emission.body.push_back({Opcode::Lmv, output, result, {}, length, 0});
            }
            touched.mark(first, count);
            done += count;
        }
    }
}

/// `trips` tiles from output position (y, x) on, in steps of the tile's columns. One loop per strip, so that messages can stand between
/// two mvmuls of a tile: tiles of one loop share no outputs.
void emit_tiles(Emission& emission, std::uint32_t y, std::uint32_t x, std::uint32_t trips, const MatrixScratch& scratch, const BiasValues& bias,
                std::span<const std::int32_t> bias_gathers) {
    const Family& family = emission.family;
    std::vector<std::int32_t> tile_stride(family.input_count);
    for (std::uint32_t slot = 0; slot < family.input_count; ++slot) {
        tile_stride[slot] = static_cast<std::int32_t>(family.tile_columns * family.stride_columns * emission.input(slot).channels);
    }
    const Address output{element_address(emission.space.output, emission.output, static_cast<std::int32_t>(y), static_cast<std::int32_t>(x)),
                         static_cast<std::int32_t>(family.tile_columns * emission.output.channels)};
    TouchedOutputs touched(family, emission.output.channels);
    for (std::uint32_t s = 0; s < family.strip_count; ++s) {
        const Strip& strip = emission.tasks.strips[family.first_strip + s];
        emission.body.clear();
        const std::int32_t gather = strip.bias_row != 0 ? bias_gathers[s] : scratch.gather;
        const Address input = strip_input(emission, strip, gather, y, x, tile_stride);
        emit_strip(emission, strip, emission.space.first_group + s, input, scratch, bias, output, touched);
        emission.code.append(emission.body, trips, emission.label());
    }
}

}  // namespace

std::int32_t matrix_scratch_elems(const Tasks& tasks, const Family& family) {
    std::uint32_t columns = 0;
    for (const Strip& strip : tasks.strips.subspan(family.first_strip, family.strip_count)) columns = std::max(columns, strip.columns);
    return largest_gather(tasks, family) + static_cast<std::int32_t>(columns);
}

void emit_matrix(Emission& emission, std::uint32_t first_tile, std::uint32_t tile_count) {
    const Family& family = emission.family;
    const MatrixScratch scratch{emission.space.scratch, emission.space.scratch + largest_gather(emission.tasks, family)};
    const BiasValues bias = place_bias(emission);
    std::vector<std::int32_t> bias_gathers(family.strip_count, 0);
    for (std::uint32_t s = 0; s < family.strip_count; ++s) {
        const Strip& strip = emission.tasks.strips[family.first_strip + s];
        if (strip.bias_row != 0) bias_gathers[s] = emission.memory.gather_buffer_with_one(static_cast<std::int32_t>(strip.rows));
    }
    const std::uint32_t tiles_per_row = ceil_divide(emission.output.columns, family.tile_columns);
    const std::uint32_t whole_tiles = emission.output.columns / family.tile_columns;
    for (std::uint32_t tile = first_tile; tile < first_tile + tile_count;) {
        const std::uint32_t tile_row = tile / tiles_per_row;
        const std::uint32_t first = tile % tiles_per_row;
        const std::uint32_t end = std::min(tiles_per_row, first + (first_tile + tile_count - tile));
        const std::uint32_t y = tile_origin(tile_row, family.tile_rows, emission.output.rows);
        if (const std::uint32_t regular = std::min(end, whole_tiles); first < regular) {
            emit_tiles(emission, y, first * family.tile_columns, regular - first, scratch, bias, bias_gathers);
        }
        if (end > whole_tiles) {
            emit_tiles(emission, y, tile_origin(whole_tiles, family.tile_columns, emission.output.columns), 1, scratch, bias, bias_gathers);
        }
        const std::uint32_t first_column = tile_origin(first, family.tile_columns, emission.output.columns);
        const std::uint32_t end_column = std::min(emission.output.columns, end * family.tile_columns);
        for (std::uint32_t row = y; row < std::min(y + family.tile_rows, emission.output.rows); ++row) {
            emit_steps(emission, row, first_column, end_column);
        }
        tile += end - first;
    }
}

}  // namespace weft::kernel
