#pragma once

#include "artifact/target.h"
#include "artifact/tasks.h"
#include "ipu21/layout.h"

namespace weft::ipu21 {

/// Products of two activations, [m, k] x [k, n] for each of `batch` matrices. Matrices are dealt to `groups` groups of tiles, in whole numbers;
/// a group's tiles form a grid of rows x columns blocks of every matrix of the group, one after the other. Tile (group * rows + row) * columns +
/// column has rows of a and columns of b entire, so nothing is exchanged but by the conversions that bring them there.
struct BatchedProduct {
    std::uint32_t batch = 1;
    std::uint32_t m = 0;
    std::uint32_t n = 0;
    std::uint32_t k = 0;
    std::uint32_t groups = 1;
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
    std::uint32_t elem_bytes = 2;
    std::uint32_t amp_columns = 16;
    TileMemory loaded_memory = TileMemory::Interleaved;   ///< where b lies

    [[nodiscard]] std::uint32_t tiles() const { return groups * rows * columns; }
    [[nodiscard]] std::uint32_t matrices() const { return batch / groups; }   ///< per tile
};

/// Whether layouts can say it: rows of several matrices must be dealt alike to every matrix, and a tile with several has all of their rows.
[[nodiscard]] bool is_legal(const BatchedProduct& product);

/// a streams through the matrix unit, b is loaded.
[[nodiscard]] TileLayout streamed_layout(const BatchedProduct& product);
[[nodiscard]] TileLayout loaded_layout(const BatchedProduct& product);
[[nodiscard]] TileLayout result_layout(const BatchedProduct& product, TileMemory memory);

/// Failure(bad_input) where the layouts of a plan are not those of its grid; `name`: of the operator.
void check_product(const Tasks& tasks, const TileOperator& op, const TilePlan& plan, std::string_view name);

}  // namespace weft::ipu21
