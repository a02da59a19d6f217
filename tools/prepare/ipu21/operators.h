#pragma once

#include "artifact/tasks.h"
#include "prepare/graph_index.h"

namespace weft::ipu21 {

/// The graph as operators on matrices: fills tile_values, tile_operators, tile_inputs and name_pool of `tasks` (plans are not
/// there yet). Values are rows x columns, all leading axes flattened into rows.
///
/// Linear becomes Gemm (a Linear that only column slices read becomes one Gemm per slice). Elementwise nodes that depend on
/// one value melt into one operator, Gelu where a Gelu, Erf or Tanh is among them. softmax(scale q k' + mask) v over heads,
/// with the transposes around it, becomes Attention. Reshape that keeps the matrix is a view; runs of other
/// Reshape and Transpose nodes become one Rearrange where they can. MatMul of two activations becomes Product. Everything else is
/// refused (Failure) in one complete list.
void import_operators(const preparation::GraphIndex& index, TasksColumns& tasks);

}  // namespace weft::ipu21
