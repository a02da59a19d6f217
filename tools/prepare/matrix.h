#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "prepare/cost.h"
#include "prepare/draft.h"

namespace weft::preparation {

/// A Conv or Linear, ready to be mapped.
struct MatrixProblem {
    MatrixSpec spec;
    Family window;                      ///< kernel, stride, dilation
    std::vector<std::uint32_t> input_channels;  ///< of every input's pixels; several are the parts of a concatenation (one group only)
    std::uint32_t output_rows = 1;
    std::uint32_t output_columns = 1;
    bool bias = false;                  ///< the outputs get one value per channel added,
    bool clamp = false;                 ///< and are clamped at zero then

    /// Constants that are added have one stride: what has none has its bias in matrices only.
    [[nodiscard]] bool bias_in_matrix() const { return bias && spec.keeps_order; }
    [[nodiscard]] std::uint32_t pixel_channels() const { return std::accumulate(input_channels.begin(), input_channels.end(), 0U); }
    [[nodiscard]] std::uint32_t output_channels() const { return spec.groups * spec.outputs_per_group; }
};

/// True where two problems differ in their weights only, so that they have the same mappings at the same cost.
[[nodiscard]] bool alike(const MatrixProblem& a, const MatrixProblem& b);

/// How the elements of a window become strips.
enum class StripForm : std::uint8_t {
    rows,       ///< every contiguous segment of the window in pieces of its own, read in place
    pixels,     ///< as rows, but no pixel is cut where a whole one fits a strip: fewer outputs per strip
    gather,     ///< the whole window copied densely
    mixed       ///< full pieces in place, what remains of the segments gathered
};
[[nodiscard]] std::string_view form_name(StripForm form);

/// One way to map a problem: a tile of output positions that are computed together (their inputs overlap, so that several need
/// far fewer strips than as many single ones), which groups share a strip (all of them in dense layers), and the form.
struct MappingChoice {
    std::uint32_t tile_rows = 1;
    std::uint32_t tile_columns = 1;
    std::uint32_t groups_per_block = 1;
    StripForm form = StripForm::rows;
    bool banded = false;                        ///< parts sum whole input rows of the window, and make the output rows that these reach only

    [[nodiscard]] std::uint32_t positions() const { return tile_rows * tile_columns; }
    auto operator<=>(const MappingChoice&) const = default;
};

/// Groups [first_group, first_group + group_count) together, or, in layers of one group, outputs [first_output, first_output +
/// output_count) of all inputs; of the window's input rows all, or [first_row, first_row + row_count).
struct ChannelBlock {
    std::uint32_t first_group = 0;
    std::uint32_t group_count = 1;
    std::uint32_t first_output = 0;
    std::uint32_t output_count = 0;
    std::uint32_t first_row = 0;
    std::uint32_t row_count = 0xffffffffU;
};

/// Input rows under the window of a tile, unread ones between dilated taps included.
[[nodiscard]] std::uint32_t window_rows(const MatrixProblem& problem, std::uint32_t tile_rows);

/// The strips of one block of channels under a choice, in the order of the window's elements. A strip has columns only for the
/// output positions and groups that its rows reach. Without `blocks`, the matrix itself is left out: enough to price it.
[[nodiscard]] std::vector<MappedStrip> map_block(const MatrixProblem& problem, const ChannelBlock& block, const MappingChoice& choice,
                                                 const ChipFacts& chip, bool blocks = true);

/// The blocks that a choice cuts a layer's outputs into.
[[nodiscard]] std::vector<ChannelBlock> channel_blocks(const MatrixProblem& problem, std::uint32_t groups_per_block);

/// Mappings that differ in the width of their tiles only, ascending. Their crossbars rise with the width.
struct MappingLadder {
    MappingChoice choice;                       ///< with a width of one
    std::vector<std::uint32_t> widths;
};

/// The mappings worth comparing: every form for a few block sizes and for tiles of 1 to `widest_tile` rows and columns. The ladders of
/// a block size and form follow each other by height.
[[nodiscard]] std::vector<MappingLadder> mapping_ladders(const MatrixProblem& problem, std::uint32_t widest_tile, const ChipFacts& chip);

}  // namespace weft::preparation
