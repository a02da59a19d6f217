#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "prepare/graph_index.h"

namespace weft::preparation {

/// Which part of a network runs where.
struct HostSplit {
    enum class Side : std::uint8_t { head, chip, tail };
    std::vector<Side> side;                     ///< per node
    std::vector<std::uint32_t> head;            ///< node ids in order
    std::vector<std::uint32_t> tail;
    std::vector<std::uint32_t> chip_inputs;     ///< graph tensors that the host hands to the chip
    std::vector<std::uint32_t> chip_outputs;    ///< graph tensors that the chip hands to the host
};

/// Operators that the chip lacks move to the host where only host work lies before them (with everything before them) or
/// nothing but non-matrix operators lies behind them (with everything behind them); views next to them follow. Anything
/// else is refused, in one message that lists every node with its reason. `allow_host` false refuses all of them.
[[nodiscard]] HostSplit split_host(const GraphIndex& index, bool allow_host);

/// Why the chip cannot compute a node; empty where it can.
[[nodiscard]] std::string chip_objection(const GraphIndex& index, std::uint32_t node);

}  // namespace weft::preparation
