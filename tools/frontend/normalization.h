#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "frontend/constant.h"
#include "frontend/proto.h"

namespace weft::frontend {

/// A layer normalisation written out: (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale [+ offset], means over the last axis.
struct LayerNormPattern {
    std::string x;
    std::string scale;
    std::string offset;    ///< empty: none
    double epsilon = 0;
};

/// What the matcher must know of the names that nodes read.
struct PatternNames {
    const onnx::GraphProto& graph;
    const std::map<std::string, int>& producers;                       ///< node that writes a name; absent or -1: none
    std::function<const Constant*(const std::string&)> constant;       ///< null: computed, or not known
    std::function<std::size_t(const std::string&)> rank;               ///< of a computed operand; 0: not known
};

/// The normalisation that ends in `node`, an Add of the offset or a Mul by the scale as exporters write it (square by Pow or Mul,
/// axes as attribute or input). Nothing where anything differs.
[[nodiscard]] std::optional<LayerNormPattern> match_layer_norm(const PatternNames& names, const onnx::NodeProto& node);

}  // namespace weft::frontend
