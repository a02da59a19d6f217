#include "prepare/matrix.h"

#include <algorithm>

#include "base/checked.h"

namespace weft::preparation {
namespace {

/// Contiguous runs of input elements that a block's window consists of, by kernel row, kernel column, channel. A kernel row is
/// one run where the block has all channels and the kernel no holes.
std::vector<Piece> window_segments(const MatrixProblem& problem, const ChannelBlock& block) {
    const Family& window = problem.window;
    const std::uint32_t first = block.first_group * problem.spec.inputs_per_group;
    const std::uint32_t count = block.group_count * problem.spec.inputs_per_group;
    const bool whole_rows = count == problem.input_channels && window.dilation_columns == 1;
    std::vector<Piece> segments;
    for (std::uint32_t row = 0; row < window.kernel_rows; ++row) {
        const std::uint32_t input_row = row * window.dilation_rows;
        if (whole_rows) {
            segments.push_back({0, input_row, 0, window.kernel_columns * count});
            continue;
        }
        for (std::uint32_t column = 0; column < window.kernel_columns; ++column) {
            segments.push_back({0, input_row, column * window.dilation_columns * problem.input_channels + first, count});
        }
    }
    return segments;
}

using PieceList = std::vector<Piece>;

Piece part_of(const Piece& piece, std::uint32_t first, std::uint32_t length) {
    return {piece.input, piece.row, piece.column_elems + first, length};
}

/// Every full piece of `limit` elements in place; what remains of a segment goes in place too, or to `rest`.
std::vector<PieceList> cut_in_place(const std::vector<Piece>& segments, std::uint32_t limit, std::vector<Piece>* rest) {
    std::vector<PieceList> strips;
    for (const Piece& segment : segments) {
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

/// Append a block of the matrix, or extend the one before where it continues the same weight rows and columns.
void add_block(std::vector<MatrixBlock>& blocks, const MatrixBlock& block) {
    if (!blocks.empty()) {
        MatrixBlock& last = blocks.back();
        const bool continues = last.column == block.column && last.columns == block.columns && last.row + last.rows == block.row;
        const std::uint32_t stride = last.rows == 1 ? block.offset - last.offset : last.row_stride;
        if (continues && block.offset > last.offset && last.offset + last.rows * stride == block.offset &&
            (block.rows == 1 || block.row_stride == stride)) {
            last.rows += block.rows;
            last.row_stride = stride;
            return;
        }
    }
    blocks.push_back(block);
}

/// Matrix rows, blocks, columns and targets of a strip that reads `pieces`. Only the groups that its rows reach get columns.
class StripBuilder {
public:
    StripBuilder(const MatrixProblem& problem, const ChannelBlock& block) : problem_(problem), block_(block) {}

    [[nodiscard]] MappedStrip build(PieceList pieces, const ChipFacts& chip) const {
        MappedStrip strip;
        const auto [first_group, end_group] = groups_of(pieces);
        const bool dense = problem_.spec.groups == 1;
        const std::uint32_t first_output = dense ? block_.first_output : first_group * problem_.spec.outputs_per_group;
        strip.columns = dense ? block_.output_count : (end_group - first_group) * problem_.spec.outputs_per_group;
        for (const Piece& piece : pieces) {
            for_each_run(piece, [&](const Run& run) { add_run(strip, run, first_group); });
        }
        strip.pieces = std::move(pieces);
        strip.crossbars = ceil_divide(strip.columns, chip.results_per_crossbar);
        strip.targets.push_back({0, 0, 0, first_output, strip.columns});
        return strip;
    }

private:
    /// Elements of one tap and one group.
    struct Run {
        std::uint32_t kernel_row;
        std::uint32_t kernel_column;
        std::uint32_t group;
        std::uint32_t first_channel;    // within the group
        std::uint32_t length;
    };

    template <class Function>
    void for_each_run(const Piece& piece, const Function& function) const {
        const std::uint32_t channels = problem_.input_channels;
        for (std::uint32_t done = 0; done < piece.length;) {
            const std::uint32_t element = piece.column_elems + done;
            const std::uint32_t channel = element % channels;
            const std::uint32_t group = channel / problem_.spec.inputs_per_group;
            const std::uint32_t first = channel % problem_.spec.inputs_per_group;
            const std::uint32_t length = std::min(piece.length - done, problem_.spec.inputs_per_group - first);
            function(Run{piece.row / problem_.window.dilation_rows, element / channels / problem_.window.dilation_columns, group, first, length});
            done += length;
        }
    }

    [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> groups_of(const PieceList& pieces) const {
        std::uint32_t first = problem_.spec.groups;
        std::uint32_t end = 0;
        for (const Piece& piece : pieces) {
            for_each_run(piece, [&](const Run& run) {
                first = std::min(first, run.group);
                end = std::max(end, run.group + 1);
            });
        }
        return {first, end};
    }

    void add_run(MappedStrip& strip, const Run& run, std::uint32_t first_group) const {
        const MatrixSpec& spec = problem_.spec;
        const bool dense = spec.groups == 1;
        MatrixBlock block;
        block.weight = spec.weight;
        block.row = strip.rows;
        block.rows = run.length;
        block.column = dense ? 0 : (run.group - first_group) * spec.outputs_per_group;
        block.columns = dense ? block_.output_count : spec.outputs_per_group;
        block.offset = run.kernel_row * spec.row_stride + run.kernel_column * spec.column_stride + run.first_channel * spec.channel_stride +
                       (dense ? block_.first_output : run.group * spec.outputs_per_group);
        block.row_stride = spec.channel_stride;
        block.column_stride = 1;
        add_block(strip.blocks, block);
        strip.rows += run.length;
    }

    const MatrixProblem& problem_;
    const ChannelBlock& block_;
};

}  // namespace

std::string_view form_name(StripForm form) {
    switch (form) {
        case StripForm::rows: return "rows";
        case StripForm::gather: return "gather";
        case StripForm::mixed: return "mixed";
    }
    return "unknown";
}

std::vector<MappedStrip> map_block(const MatrixProblem& problem, const ChannelBlock& block, StripForm form, const ChipFacts& chip) {
    const auto segments = window_segments(problem, block);
    std::vector<PieceList> lists;
    if (form == StripForm::gather) {
        cut_dense(segments, chip.crossbar_rows, lists);
    } else {
        std::vector<Piece> rest;
        lists = cut_in_place(segments, chip.crossbar_rows, form == StripForm::mixed ? &rest : nullptr);
        cut_dense(rest, chip.crossbar_rows, lists);
    }
    const StripBuilder builder(problem, block);
    std::vector<MappedStrip> strips;
    strips.reserve(lists.size());
    for (PieceList& pieces : lists) strips.push_back(builder.build(std::move(pieces), chip));
    return strips;
}

std::vector<ChannelBlock> channel_blocks(const MatrixProblem& problem, std::uint32_t groups_per_block) {
    if (problem.spec.groups == 1) return {{0, 1, 0, problem.spec.outputs_per_group}};
    std::vector<ChannelBlock> blocks;
    for (std::uint32_t first = 0; first < problem.spec.groups; first += groups_per_block) {
        const std::uint32_t count = std::min(groups_per_block, problem.spec.groups - first);
        blocks.push_back({first, count, first * problem.spec.outputs_per_group, count * problem.spec.outputs_per_group});
    }
    return blocks;
}

std::vector<MappingChoice> mapping_choices(const MatrixProblem& problem, const ChipFacts& chip) {
    std::vector<std::uint32_t> sizes{1};
    if (problem.spec.groups > 1) {
        const std::uint32_t inputs = problem.spec.inputs_per_group;
        const std::uint32_t taps = problem.window.kernel_rows * problem.window.kernel_columns;
        const auto clamp = [&](std::uint32_t size) { return std::clamp(size, 1U, problem.spec.groups); };
        for (const std::uint32_t elems : {inputs, inputs * problem.window.kernel_columns, inputs * taps}) sizes.push_back(clamp(chip.crossbar_rows / elems));
        sizes.push_back(problem.spec.groups);
        std::sort(sizes.begin(), sizes.end());
        sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
        // Alone, a narrow group wastes nearly the whole strip.
        if (sizes.size() > 1 && sizes.front() == 1 && inputs * taps * 2 <= chip.crossbar_rows) sizes.erase(sizes.begin());
    }
    std::vector<MappingChoice> choices;
    for (const std::uint32_t size : sizes) {
        for (const StripForm form : {StripForm::rows, StripForm::gather, StripForm::mixed}) choices.push_back({size, form});
    }
    return choices;
}

}  // namespace weft::preparation
