#include "ipu21/batched_product.h"

#include "base/checked.h"

namespace weft::ipu21 {
namespace {

/// b's rows stand in whole micro-blocks where every group's matrices end at one.
std::uint32_t loaded_row_grain(const BatchedProduct& p) {
    return p.groups == 1 || std::uint64_t{p.matrices()} * p.k % p.amp_columns == 0 ? p.amp_columns : 1;
}

}  // namespace

bool is_legal(const BatchedProduct& p) {
    if (p.groups == 0 || p.rows == 0 || p.columns == 0 || p.batch % p.groups != 0) return false;
    if (p.rows > p.m || p.columns > ceil_divide(p.n, p.amp_columns)) return false;
    const bool alone = p.batch == 1 || p.m % p.rows == 0;
    return alone && (p.rows == 1 || p.matrices() == 1);
}

TileLayout streamed_layout(const BatchedProduct& p) {
    return {static_cast<std::uint32_t>(TileOrder::AmpLeft), static_cast<std::uint32_t>(TileMemory::Standard), p.elem_bytes, p.groups * p.rows, 1, p.columns,
            p.columns, p.tiles(), 1, 1, p.amp_columns};
}

TileLayout loaded_layout(const BatchedProduct& p) {
    return {static_cast<std::uint32_t>(TileOrder::BlockMajor), static_cast<std::uint32_t>(p.loaded_memory), p.elem_bytes, p.groups, p.columns, p.rows,
            p.rows * p.columns, 1, p.columns, loaded_row_grain(p), p.amp_columns};
}

TileLayout result_layout(const BatchedProduct& p, TileMemory memory) {
    return {static_cast<std::uint32_t>(TileOrder::AmpLeft), static_cast<std::uint32_t>(memory), p.elem_bytes, p.groups * p.rows, p.columns, 1,
            p.columns, 1, p.tiles(), 1, p.amp_columns};
}

void check_product(const Tasks& tasks, const TileOperator& op, const TilePlan& plan, std::string_view name) {
    const auto layout = [&](std::uint32_t slot) -> const TileLayout& { return tasks.tile_layouts[tasks.plan_layouts[plan.first_layout + slot]]; };
    const TileLayout& result = tasks.tile_layouts[plan.output_layout];
    BatchedProduct product{op.batch, op.m, op.n, op.k, plan.inner, plan.rows, plan.columns, result.elem_bytes, layout(0).column_grain,
                           static_cast<TileMemory>(layout(1).memory)};
    const bool grid = is_legal(product) && plan.tiles == product.tiles();
    if (!grid || layout(0) != streamed_layout(product) || layout(1) != loaded_layout(product) || result != result_layout(product, static_cast<TileMemory>(result.memory))) {
        bad_input("the plan of operator '{}' does not fit its sizes", name);
    }
}

}  // namespace weft::ipu21
