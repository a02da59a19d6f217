#include "prepare/matrix.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "prepare/shuffle.h"

namespace weft::preparation {
namespace {

/// One axis of the window of a tile.
struct WindowAxis {
    std::uint32_t kernel;
    std::uint32_t stride;
    std::uint32_t dilation;

    /// Input lines of the tile's window that some tap of some of its `positions` reads.
    [[nodiscard]] std::vector<char> needed(std::uint32_t positions) const {
        std::vector<char> lines((positions - 1) * stride + (kernel - 1) * dilation + 1, 0);
        for (std::uint32_t position = 0; position < positions; ++position) {
            for (std::uint32_t tap = 0; tap < kernel; ++tap) lines[position * stride + tap * dilation] = 1;
        }
        return lines;
    }

    /// Calls function(position, tap) for everything that reads input line `line`.
    template <class Function>
    void for_each_tap(std::uint32_t line, std::uint32_t positions, const Function& function) const {
        for (std::uint32_t position = 0; position < positions && position * stride <= line; ++position) {
            const std::uint32_t distance = line - position * stride;
            if (distance % dilation == 0 && distance / dilation < kernel) function(position, distance / dilation);
        }
    }
};

WindowAxis row_axis(const Family& window) { return {window.kernel_rows, window.stride_rows, window.dilation_rows}; }
WindowAxis column_axis(const Family& window) { return {window.kernel_columns, window.stride_columns, window.dilation_columns}; }

/// Neighbouring channels of a pixel.
struct ChannelRun {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// Channels of one input's pixels that a block reads.
std::vector<ChannelRun> channel_runs(const MatrixProblem& problem, const ChannelBlock& block, std::uint32_t channels) {
    const MatrixSpec& spec = problem.spec;
    if (spec.groups == 1) return {{0, channels}};
    const std::uint32_t first = block.first_group * spec.inputs_per_group;
    const std::uint32_t count = block.group_count * spec.inputs_per_group;
    if (!spec.is_scattered()) return {{first, count}};
    std::vector<ChannelRun> runs;
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        const std::uint32_t input = spec.input_channel(channel);
        if (input < first || input - first >= count) continue;
        if (!runs.empty() && runs.back().first + runs.back().count == channel) ++runs.back().count;
        else runs.push_back({channel, 1});
    }
    return runs;
}

/// Contiguous runs of input elements that a block's window consists of, by input row, input, input column, channel. Neighbouring
/// columns are one run where the block has all channels of the input.
std::vector<Piece> window_segments(const MatrixProblem& problem, const ChannelBlock& block, const MappingChoice& choice) {
    const auto rows = row_axis(problem.window).needed(choice.tile_rows);
    const auto columns = column_axis(problem.window).needed(choice.tile_columns);
    std::vector<Piece> segments;
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
        if (rows[row] == 0 || row < block.first_row || row - block.first_row >= block.row_count) continue;
        for (std::uint32_t input = 0; input < problem.input_channels.size(); ++input) {
            const std::uint32_t channels = problem.input_channels[input];
            const std::vector<ChannelRun> runs = channel_runs(problem, block, channels);
            const bool whole = runs.front().count == channels;
            for (std::uint32_t column = 0; column < columns.size(); ++column) {
                if (columns[column] == 0) continue;
                if (whole && column > 0 && columns[column - 1] != 0) segments.back().length += channels;
                else for (const ChannelRun& run : runs) segments.push_back({input, row, column * channels + run.first, run.count});
            }
        }
    }
    return segments;
}

using PieceList = std::vector<Piece>;

Piece part_of(const Piece& piece, std::uint32_t first, std::uint32_t length) {
    return {piece.input, piece.row, piece.column_elems + first, length};
}

/// Every full piece of limits[input] elements in place; what remains of a segment goes in place too, or to `rest`.
std::vector<PieceList> cut_in_place(const std::vector<Piece>& segments, std::span<const std::uint32_t> limits, std::vector<Piece>* rest) {
    std::vector<PieceList> strips;
    for (const Piece& segment : segments) {
        const std::uint32_t limit = limits[segment.input];
        for (std::uint32_t first = 0; first < segment.length; first += limit) {
            const std::uint32_t length = std::min(limit, segment.length - first);
            if (length < limit && rest != nullptr) rest->push_back(part_of(segment, first, length));
            else strips.push_back({part_of(segment, first, length)});
        }
    }
    return strips;
}

/// Segments one behind the other, cut every `limit` elements.
void cut_dense(const std::vector<Piece>& segments, std::uint32_t limit, std::vector<PieceList>& strips) {
    std::uint32_t room = 0;
    for (const Piece& segment : segments) {
        for (std::uint32_t first = 0; first < segment.length;) {
            if (room == 0) {
                strips.emplace_back();
                room = limit;
            }
            const std::uint32_t length = std::min(room, segment.length - first);
            strips.back().push_back(part_of(segment, first, length));
            room -= length;
            first += length;
        }
    }
}

/// Matrix rows, blocks, columns and targets of a strip that reads `pieces`. Only the output positions and groups that its rows
/// reach get columns.
class StripBuilder {
public:
    StripBuilder(const MatrixProblem& problem, const ChannelBlock& block, const MappingChoice& choice)
        : problem_(problem), block_(block), tile_rows_(choice.tile_rows), tile_columns_(choice.tile_columns), slot_(choice.positions()) {}

    [[nodiscard]] MappedStrip build(PieceList pieces, const ChipFacts& chip, bool blocks) {
        MappedStrip strip;
        std::uint32_t first_group = problem_.spec.groups;
        std::uint32_t end_group = 0;
        std::fill(slot_.begin(), slot_.end(), unreached);
        for_each_run(pieces, [&](const Run& run) {
            first_group = std::min(first_group, run.group);
            end_group = std::max(end_group, run.group + 1);
            for_each_tap(run, [&](std::uint32_t position, std::uint32_t, std::uint32_t) { slot_[position] = 0; });
            strip.rows += run.length;
        });
        const bool dense = problem_.spec.groups == 1;
        const std::uint32_t first_output = dense ? block_.first_output : first_group * problem_.spec.outputs_per_group;
        const std::uint32_t width = dense ? block_.output_count : (end_group - first_group) * problem_.spec.outputs_per_group;
        for (std::uint32_t position = 0; position < slot_.size(); ++position) {
            if (slot_[position] == unreached) continue;
            slot_[position] = strip.columns;
            strip.targets.push_back({strip.columns, position / tile_columns_, position % tile_columns_, first_output, width});
            strip.columns += width;
        }
        strip.crossbars = ceil_divide(strip.columns, chip.results_per_crossbar);
        if (blocks) add_blocks(strip, pieces, first_group);
        strip.pieces = std::move(pieces);
        return strip;
    }

private:
    static constexpr std::uint32_t unreached = 0xffffffffU;

    /// Elements of one input position and one group, evenly spaced in it.
    struct Run {
        std::uint32_t row;
        std::uint32_t column;
        std::uint32_t group;
        std::uint32_t first_channel;    // within the group
        std::uint32_t length;
        std::uint32_t step;
    };

    /// The leading run of `count` channels of a pixel from `channel` on.
    [[nodiscard]] Run run_at(std::uint32_t channel, std::uint32_t count) const {
        const MatrixSpec& spec = problem_.spec;
        const std::uint32_t input = spec.input_channel(channel);
        const std::uint32_t first = input % spec.inputs_per_group;
        const EvenRun even = spec.is_scattered() ? even_run(std::span(spec.order).subspan(channel, count)) : EvenRun{count, 1};
        const std::uint32_t in_group = (spec.inputs_per_group - 1 - first) / even.step + 1;
        return {0, 0, input / spec.inputs_per_group, first, std::min(even.length, in_group), even.step};
    }

    template <class Function>
    void for_each_run(const PieceList& pieces, const Function& function) const {
        for (const Piece& piece : pieces) {
            const auto inputs = std::span(problem_.input_channels);
            const std::uint32_t channels = inputs[piece.input];
            const std::uint32_t before = std::accumulate(inputs.begin(), inputs.begin() + piece.input, 0U);
            for (std::uint32_t done = 0; done < piece.length;) {
                const std::uint32_t element = piece.column_elems + done;
                Run run = run_at(before + element % channels, std::min(piece.length - done, channels - element % channels));
                run.row = piece.row;
                run.column = element / channels;
                function(run);
                done += run.length;
            }
        }
    }

    /// Calls function(output position of the tile, kernel row, kernel column) for everything that reads the run.
    template <class Function>
    void for_each_tap(const Run& run, const Function& function) const {
        row_axis(problem_.window).for_each_tap(run.row, tile_rows_, [&](std::uint32_t row, std::uint32_t kernel_row) {
            column_axis(problem_.window).for_each_tap(run.column, tile_columns_, [&](std::uint32_t column, std::uint32_t kernel_column) {
                function(row * tile_columns_ + column, kernel_row, kernel_column);
            });
        });
    }

    void add_blocks(MappedStrip& strip, const PieceList& pieces, std::uint32_t first_group) {
        const MatrixSpec& spec = problem_.spec;
        const bool dense = spec.groups == 1;
        last_block_.assign(strip.columns, unreached);
        std::uint32_t row = 0;
        for_each_run(pieces, [&](const Run& run) {
            for_each_tap(run, [&](std::uint32_t position, std::uint32_t kernel_row, std::uint32_t kernel_column) {
                MatrixBlock block;
                block.weight = spec.weight;
                block.row = row;
                block.rows = run.length;
                block.column = slot_[position] + (dense ? 0 : (run.group - first_group) * spec.outputs_per_group);
                block.columns = dense ? block_.output_count : spec.outputs_per_group;
                block.offset = kernel_row * spec.row_stride + kernel_column * spec.column_stride + run.first_channel * spec.channel_stride +
                               (dense ? block_.first_output : spec.weight_column(run.group * spec.outputs_per_group));
                block.row_stride = run.step * spec.channel_stride;
                block.column_stride = 1;
                add_block(strip.blocks, block);
            });
            row += run.length;
        });
    }

    /// Append a block of the matrix, or extend the last one of its columns where it continues the same weight rows.
    void add_block(std::vector<MatrixBlock>& blocks, const MatrixBlock& block) {
        std::uint32_t& last_index = last_block_[block.column];
        if (last_index != unreached) {
            MatrixBlock& last = blocks[last_index];
            const std::uint32_t stride = last.rows == 1 ? block.offset - last.offset : last.row_stride;
            if (last.row + last.rows == block.row && block.offset > last.offset && last.offset + last.rows * stride == block.offset &&
                (block.rows == 1 || block.row_stride == stride)) {
                last.rows += block.rows;
                last.row_stride = stride;
                return;
            }
        }
        last_index = static_cast<std::uint32_t>(blocks.size());
        blocks.push_back(block);
    }

    const MatrixProblem& problem_;
    const ChannelBlock& block_;
    std::uint32_t tile_rows_;
    std::uint32_t tile_columns_;
    std::vector<std::uint32_t> slot_;           // per output position of the tile: its first column, or unreached
    std::vector<std::uint32_t> last_block_;     // per column: the last block that starts there
};

}  // namespace

bool alike(const MatrixProblem& a, const MatrixProblem& b) {
    const auto key = [](const MatrixProblem& problem) {
        const MatrixSpec& spec = problem.spec;
        const Family& window = problem.window;
        return std::array{spec.groups,           spec.inputs_per_group,  spec.outputs_per_group,  window.kernel_rows,     window.kernel_columns,
                          window.stride_rows,    window.stride_columns,  window.dilation_rows,    window.dilation_columns, problem.output_rows,
                          problem.output_columns};
    };
    return key(a) == key(b) && a.input_channels == b.input_channels && a.bias == b.bias && a.clamp == b.clamp && a.spec.order == b.spec.order &&
           a.spec.keeps_order == b.spec.keeps_order;
}

std::uint32_t window_rows(const MatrixProblem& problem, std::uint32_t tile_rows) {
    return (tile_rows - 1) * problem.window.stride_rows + (problem.window.kernel_rows - 1) * problem.window.dilation_rows + 1;
}

std::string_view form_name(StripForm form) {
    switch (form) {
        case StripForm::rows: return "rows";
        case StripForm::pixels: return "pixels";
        case StripForm::gather: return "gather";
        case StripForm::mixed: return "mixed";
    }
    return "unknown";
}

std::vector<MappedStrip> map_block(const MatrixProblem& problem, const ChannelBlock& block, const MappingChoice& choice, const ChipFacts& chip,
                                   bool blocks) {
    const auto segments = window_segments(problem, block, choice);
    const std::uint32_t limit = chip.crossbar_rows - (problem.bias_in_matrix() ? 1 : 0);
    std::vector<PieceList> lists;
    if (choice.form == StripForm::gather) {
        cut_dense(segments, limit, lists);
    } else {
        std::vector<std::uint32_t> limits;
        for (const std::uint32_t channels : problem.input_channels) {
            const std::uint32_t pixel = problem.spec.groups == 1 ? channels : block.group_count * problem.spec.inputs_per_group;
            limits.push_back(choice.form == StripForm::pixels && pixel < limit ? limit / pixel * pixel : limit);
        }
        std::vector<Piece> rest;
        lists = cut_in_place(segments, limits, choice.form == StripForm::mixed ? &rest : nullptr);
        cut_dense(rest, limit, lists);
    }
    StripBuilder builder(problem, block, choice);
    std::vector<MappedStrip> strips;
    strips.reserve(lists.size());
    for (PieceList& pieces : lists) strips.push_back(builder.build(std::move(pieces), chip, blocks));
    return strips;
}

std::vector<ChannelBlock> channel_blocks(const MatrixProblem& problem, std::uint32_t groups_per_block) {
    if (problem.spec.groups == 1) return {ChannelBlock{0, 1, 0, problem.spec.outputs_per_group}};
    std::vector<ChannelBlock> blocks;
    for (std::uint32_t first = 0; first < problem.spec.groups; first += groups_per_block) {
        const std::uint32_t count = std::min(groups_per_block, problem.spec.groups - first);
        blocks.push_back(ChannelBlock{first, count, first * problem.spec.outputs_per_group, count * problem.spec.outputs_per_group});
    }
    return blocks;
}

namespace {

std::vector<std::uint32_t> block_sizes(const MatrixProblem& problem, const ChipFacts& chip) {
    if (problem.spec.groups == 1) return {1};
    const std::uint32_t inputs = problem.spec.inputs_per_group;
    const std::uint32_t taps = problem.window.kernel_rows * problem.window.kernel_columns;
    std::vector<std::uint32_t> sizes{problem.spec.groups};
    for (const std::uint32_t elems : {inputs, inputs * problem.window.kernel_columns, inputs * taps, chip.crossbar_rows / 16, chip.crossbar_rows / 32}) {
        sizes.push_back(std::clamp(chip.crossbar_rows / std::max(elems, 1U), 1U, problem.spec.groups));
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    // Alone, a narrow group wastes nearly the whole strip.
    if (sizes.size() > 1 && sizes.front() == 1 && inputs * taps * 2 <= chip.crossbar_rows) sizes.erase(sizes.begin());
    return sizes;
}

/// Sizes that cut an axis into few tiles without much overlap: ceil(extent / k).
std::vector<std::uint32_t> tile_sizes(std::uint32_t extent, std::uint32_t widest) {
    std::vector<std::uint32_t> widths;
    for (std::uint32_t count = extent; count > 0; --count) {
        const std::uint32_t width = ceil_divide(extent, count);
        if (width > widest) break;
        if (widths.empty() || widths.back() != width) widths.push_back(width);
    }
    return widths;
}

/// Forms worth comparing for a block of groups.
std::vector<StripForm> strip_forms(const MatrixProblem& problem, std::uint32_t groups_per_block, const ChipFacts& chip) {
    const std::uint32_t pixel = groups_per_block * problem.spec.inputs_per_group;
    // The channels of some groups lie here and there in the pixels.
    if (problem.spec.is_scattered() && groups_per_block < problem.spec.groups) return {StripForm::gather};
    // Where the block has only some channels, its segments are single pixels: two in one strip save far more than their copies cost.
    if (pixel < problem.pixel_channels() && 2 * pixel <= chip.crossbar_rows) return {StripForm::gather};
    std::vector<StripForm> forms{StripForm::rows, StripForm::gather, StripForm::mixed};
    const auto is_cut = [&](std::uint32_t channels) { return channels < chip.crossbar_rows && chip.crossbar_rows % channels != 0; };
    const bool dense = problem.spec.groups == 1;
    const bool cuts_pixels = dense ? std::any_of(problem.input_channels.begin(), problem.input_channels.end(), is_cut) : is_cut(pixel);
    if (cuts_pixels) forms.insert(forms.begin() + 1, StripForm::pixels);
    return forms;
}

}  // namespace

std::vector<MappingLadder> mapping_ladders(const MatrixProblem& problem, std::uint32_t widest_tile, const ChipFacts& chip) {
    std::vector<MappingLadder> ladders;
    const std::uint32_t widest = std::max(widest_tile, 1U);
    const auto heights = tile_sizes(problem.output_rows, widest);
    const auto widths = tile_sizes(problem.output_columns, widest);
    for (const std::uint32_t size : block_sizes(problem, chip)) {
        for (const StripForm form : strip_forms(problem, size, chip)) {
            for (const std::uint32_t height : heights) ladders.push_back({{height, 1, size, form}, widths});
        }
    }
    return ladders;
}

}  // namespace weft::preparation
