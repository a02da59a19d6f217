#pragma once

#include <optional>
#include <span>
#include <vector>

#include "artifact/tasks.h"
#include "ipu21/layout.h"

namespace weft::ipu21 {

/// The elements of a matrix in another order, or under another shape: what Transpose and Reshape do. `axes` in the output's order, outermost
/// first; see TileRearrangement in the schema.
struct Rearrangement {
    MatrixShape input;
    MatrixShape output;
    std::vector<TileAxis> axes;
};

/// Whether the axes are a permutation of all elements of both shapes.
[[nodiscard]] bool is_permutation(const Rearrangement& rearrangement);

/// The same permutation with as few axes as possible, but cut where the rows of either matrix end, as far as that can be done. Only whole
/// axes can be dealt to tiles.
[[nodiscard]] Rearrangement refined(const Rearrangement& rearrangement);

/// From the output back to the input.
[[nodiscard]] Rearrangement inverse(const Rearrangement& rearrangement);

/// How a tile's part of the output follows from its part of the input when both hold the same elements.
enum class LocalOrder : std::uint8_t {
    Same,         ///< the same matrix
    Transposed,   ///< its transpose
    Linear,       ///< the same elements row by row, in rows of another length
    Other
};

/// The layout of the output under which every tile holds the elements that it holds of the input under `input`; none where that is no layout.
/// Its order and memory are those of `input`. `local` (may be null): how the parts follow from one another. The rearrangement is refined.
[[nodiscard]] std::optional<TileLayout> carried_layout(const Rearrangement& rearrangement, const TileLayout& input, LocalOrder* local = nullptr);

/// Pairs of layouts that cut the axes over as many tiles as they can, input first, most tiles first; at most `count`.
struct CarriedPair {
    TileLayout input;
    TileLayout output;
    LocalOrder local = LocalOrder::Other;
};
[[nodiscard]] std::vector<CarriedPair> carried_pairs(const Rearrangement& rearrangement, std::uint32_t tiles, std::size_t count);

/// Whether both put the same parts on every tile, as far as grains are the same.
[[nodiscard]] bool same_parts(const TileLayout& a, const TileLayout& b);

/// `layout` with these grains where every part stays what it is.
[[nodiscard]] std::optional<TileLayout> with_grains(TileLayout layout, MatrixShape shape, std::uint32_t row_grain, std::uint32_t column_grain);

/// `layout` in `order`, with the smallest grains whose micro-blocks are whole; none where a part would end inside of one.
[[nodiscard]] std::optional<TileLayout> in_order(TileLayout layout, MatrixShape shape, TileOrder order, std::uint32_t amp_columns);

/// The layout under which the bytes of the input in `input` are the output; `carried`: what carried_layout() gives, with its `local`. The
/// matrix unit's orders have transposed counterparts (a streamed operand is the transpose of a swapped product's result, a loaded
/// one that of the other side's), row-major has the same elements in longer or shorter rows.
[[nodiscard]] std::optional<TileLayout> viewed_layout(const Rearrangement& rearrangement, const TileLayout& input, const TileLayout& carried, LocalOrder local);

/// What operator `op` does, refined. Failure(bad_input) where the tasks do not say it.
[[nodiscard]] Rearrangement rearrangement_of(const Tasks& tasks, std::uint32_t op);

}  // namespace weft::ipu21
