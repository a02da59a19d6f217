#pragma once

#include <optional>

#include "prepare/graph_index.h"

namespace weft::ipu21 {

/// One scaled dot-product attention found around a Softmax node.
struct AttentionMatch {
    std::uint32_t q = 0;            ///< tensors [batch, rows, heads * head_columns] before the heads are split
    std::uint32_t k = 0;
    std::uint32_t v = 0;
    std::uint32_t output = 0;       ///< tensor [batch, rows, heads * head_columns] after the heads are joined
    std::uint32_t last_node = 0;
    std::uint32_t batch = 1;
    std::uint32_t heads = 1;
    std::uint32_t query_rows = 0;
    std::uint32_t key_rows = 0;
    std::uint32_t head_columns = 0;
    std::vector<std::uint32_t> nodes;   ///< all nodes that it stands for, ascending
};

/// The attention whose softmax is node `softmax`, or nothing: its operands must be split into heads by Reshape and Transpose
/// and joined the same way, scores may be scaled and masked by constants, and nothing else may read what lies between.
[[nodiscard]] std::optional<AttentionMatch> match_attention(const preparation::GraphIndex& index, std::uint32_t softmax);

}  // namespace weft::ipu21
