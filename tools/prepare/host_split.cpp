#include "prepare/host_split.h"

#include <algorithm>

#include "base/failure.h"

namespace weft::preparation {
namespace {

using Side = HostSplit::Side;

bool is_matrix(OperatorKind kind) { return kind == OperatorKind::Conv || kind == OperatorKind::Linear; }

bool is_view(OperatorKind kind) { return kind == OperatorKind::Reshape || kind == OperatorKind::Transpose; }

bool needs_image(OperatorKind kind) {
    return kind == OperatorKind::Conv || kind == OperatorKind::MaxPool || kind == OperatorKind::AveragePool;
}

/// Per node: does a matrix operator lie strictly before (after) it?
struct MatrixReach {
    std::vector<char> before;
    std::vector<char> after;
};

MatrixReach matrix_reach(const GraphIndex& index) {
    MatrixReach reach{std::vector<char>(index.node_count(), 0), std::vector<char>(index.node_count(), 0)};
    for (std::uint32_t node = 0; node < index.node_count(); ++node) {
        for (const std::uint32_t tensor : index.inputs(node)) {
            if (tensor == no_id || index.producer(tensor) == no_id) continue;
            const std::uint32_t other = index.producer(tensor);
            if (reach.before[other] != 0 || is_matrix(index.kind(other))) reach.before[node] = 1;
        }
    }
    for (auto node = static_cast<std::uint32_t>(index.node_count()); node-- > 0;) {
        for (const std::uint32_t tensor : index.outputs(node)) {
            for (const std::uint32_t other : index.consumers(tensor)) {
                if (reach.after[other] != 0 || is_matrix(index.kind(other))) reach.after[node] = 1;
            }
        }
    }
    return reach;
}

/// Everything before a head node is head, everything behind a tail node is tail.
void close_sides(const GraphIndex& index, std::vector<Side>& side) {
    for (auto node = static_cast<std::uint32_t>(index.node_count()); node-- > 0;) {
        if (side[node] != Side::head) continue;
        for (const std::uint32_t tensor : index.inputs(node)) {
            if (tensor != no_id && index.producer(tensor) != no_id) side[index.producer(tensor)] = Side::head;
        }
    }
    for (std::uint32_t node = 0; node < index.node_count(); ++node) {
        if (side[node] != Side::tail) continue;
        for (const std::uint32_t tensor : index.outputs(node)) {
            for (const std::uint32_t other : index.consumers(tensor)) side[other] = Side::tail;
        }
    }
}

/// Views that only host work feeds, or whose results only the host's tail reads, cost nothing there.
void move_views(const GraphIndex& index, std::vector<Side>& side) {
    for (std::uint32_t node = 0; node < index.node_count(); ++node) {
        if (side[node] != Side::chip || !is_view(index.kind(node))) continue;
        const std::uint32_t source = index.input(node, 0);
        if (index.producer(source) != no_id && side[index.producer(source)] == Side::head) side[node] = Side::head;
    }
    for (auto node = static_cast<std::uint32_t>(index.node_count()); node-- > 0;) {
        if (side[node] != Side::chip || !is_view(index.kind(node))) continue;
        const auto consumers = index.consumers(index.outputs(node)[0]);
        const bool all_tail = std::all_of(consumers.begin(), consumers.end(), [&](std::uint32_t other) { return side[other] == Side::tail; });
        if (!consumers.empty() && all_tail) side[node] = Side::tail;
    }
}

bool only_moves(OperatorKind kind) { return is_view(kind) || kind == OperatorKind::Concat || kind == OperatorKind::Remap; }

/// Data that only move before the first or after the last computation are in the host's hands anyway: it writes the inputs and reads
/// the outputs in whatever order it likes, where a core would copy element by element and hold everything until the last part is there.
/// Networks without matrix operators keep their moves, so that there is something to run.
void leave_outer_moves(const GraphIndex& index, const MatrixReach& reach, std::vector<Side>& side) {
    for (std::uint32_t node = 0; node < index.node_count(); ++node) {
        if (side[node] != Side::chip || !only_moves(index.kind(node)) || reach.after[node] == 0 || reach.before[node] != 0) continue;
        const auto inputs = index.inputs(node);
        const bool outermost = std::all_of(inputs.begin(), inputs.end(), [&](std::uint32_t tensor) {
            return tensor == no_id || index.is_weight(tensor) || index.producer(tensor) == no_id ||
                   side[index.producer(tensor)] == Side::head;
        });
        if (outermost) side[node] = Side::head;
    }
    for (auto node = static_cast<std::uint32_t>(index.node_count()); node-- > 0;) {
        if (side[node] != Side::chip || !only_moves(index.kind(node)) || reach.before[node] == 0 || reach.after[node] != 0) continue;
        const auto consumers = index.consumers(index.outputs(node)[0]);
        if (std::all_of(consumers.begin(), consumers.end(), [&](std::uint32_t other) { return side[other] == Side::tail; })) {
            side[node] = Side::tail;
        }
    }
}

void find_boundary(const GraphIndex& index, HostSplit& split) {
    std::vector<char> is_output(index.tensor_count(), 0);
    for (const std::uint32_t tensor : index.graph().outputs) is_output[tensor] = 1;
    const auto made_by = [&](std::uint32_t tensor) {
        const std::uint32_t producer = index.producer(tensor);
        return producer == no_id ? Side::head : split.side[producer];
    };
    const auto read_by = [&](std::uint32_t tensor, Side side) {
        const auto consumers = index.consumers(tensor);
        return std::any_of(consumers.begin(), consumers.end(), [&](std::uint32_t node) { return split.side[node] == side; });
    };
    for (std::uint32_t tensor = 0; tensor < index.tensor_count(); ++tensor) {
        if (index.is_weight(tensor)) continue;
        if (made_by(tensor) == Side::head && read_by(tensor, Side::chip)) split.chip_inputs.push_back(tensor);
    }
    // Network outputs in their order, then what only the host's tail reads.
    for (const std::uint32_t tensor : index.graph().outputs) {
        if (made_by(tensor) == Side::chip && std::find(split.chip_outputs.begin(), split.chip_outputs.end(), tensor) == split.chip_outputs.end()) {
            split.chip_outputs.push_back(tensor);
        }
    }
    for (std::uint32_t tensor = 0; tensor < index.tensor_count(); ++tensor) {
        if (is_output[tensor] == 0 && made_by(tensor) == Side::chip && read_by(tensor, Side::tail)) split.chip_outputs.push_back(tensor);
    }
}

std::string shape_objection(const GraphIndex& index, std::uint32_t node) {
    for (const auto tensors : {index.inputs(node), index.outputs(node)}) {
        for (const std::uint32_t tensor : tensors) {
            if (tensor != no_id && index.elem_count(tensor) == 0) return fmt::format("tensor '{}' is empty", index.tensor_name(tensor));
        }
    }
    const auto dims = index.dims(index.input(node, 0));
    if (needs_image(index.kind(node)) && (dims.size() != 4 || dims[0] != 1)) return "its input is not of shape [1, C, H, W]";
    return {};
}

}  // namespace

std::string chip_objection(const GraphIndex& index, std::uint32_t node) {
    const auto weight_operand = [&](std::size_t first) {
        for (std::size_t i = first; i < index.inputs(node).size(); ++i) {
            if (index.input(node, i) != no_id && index.is_weight(index.input(node, i))) return true;
        }
        return false;
    };
    switch (index.kind(node)) {
        case OperatorKind::Softmax:
        case OperatorKind::LogSoftmax:
        case OperatorKind::Exp: return "the chip has no exponential";
        case OperatorKind::Cast: return "the chip computes in one number type";
        case OperatorKind::MatMul: return "both sides of the product are computed by the network";
        case OperatorKind::Gelu:
        case OperatorKind::LayerNorm:
        case OperatorKind::Erf:
        case OperatorKind::Sqrt:
        case OperatorKind::HostOther: return "the chip has no such operator";
        case OperatorKind::Div: return "the chip has no division (a constant divisor belongs folded into a factor)";
        case OperatorKind::Add:
        case OperatorKind::Sub:
        case OperatorKind::Mul:
        case OperatorKind::Max:
        case OperatorKind::Min:
            if (index.is_weight(index.input(node, 0)) && index.is_weight(index.input(node, 1))) return "both operands are constants";
            break;
        case OperatorKind::PRelu:
            if (index.is_weight(index.input(node, 0))) return "its input is a constant";
            if (!index.is_weight(index.input(node, 1))) return "its slope is not a constant";
            break;
        case OperatorKind::Conv:
        case OperatorKind::Linear:
        case OperatorKind::MaxPool:
        case OperatorKind::AveragePool:
        case OperatorKind::Relu:
        case OperatorKind::LeakyRelu:
        case OperatorKind::Clip:
        case OperatorKind::HardSigmoid:
        case OperatorKind::HardSwish:
        case OperatorKind::Sigmoid:
        case OperatorKind::Tanh:
        case OperatorKind::Concat:
        case OperatorKind::Remap:
        case OperatorKind::Transpose:
        case OperatorKind::Reshape:
            if (index.is_weight(index.input(node, 0))) return "its input is a constant";
            if (index.kind(node) == OperatorKind::Concat && weight_operand(1)) return "it concatenates a constant";
            break;
        default: return "the chip has no such operator";
    }
    return shape_objection(index, node);
}

HostSplit split_host(const GraphIndex& index, bool allow_host) {
    HostSplit split;
    split.side.assign(index.node_count(), Side::chip);
    const MatrixReach reach = matrix_reach(index);
    std::vector<std::string> refused;
    for (std::uint32_t node = 0; node < index.node_count(); ++node) {
        const std::string objection = chip_objection(index, node);
        if (objection.empty()) continue;
        const bool matrix = is_matrix(index.kind(node));
        if (allow_host && !matrix && reach.after[node] == 0) {
            split.side[node] = Side::tail;
        } else if (allow_host && !matrix && reach.before[node] == 0) {
            split.side[node] = Side::head;
        } else {
            const char* where = matrix ? "" : allow_host ? "; it stands between matrix operators, so the host cannot take it" : "; --no-host forbids the host";
            refused.push_back(fmt::format("  {} '{}': {}{}", GraphIndex::kind_name(index.kind(node)), index.node_name(node), objection, where));
        }
    }
    if (!refused.empty()) {
        refuse("{} operator{} cannot be computed:\n{}", refused.size(), refused.size() == 1 ? "" : "s", fmt::join(refused, "\n"));
    }
    close_sides(index, split.side);
    move_views(index, split.side);
    if (allow_host) leave_outer_moves(index, reach, split.side);
    for (std::uint32_t node = 0; node < index.node_count(); ++node) {
        if (split.side[node] == Side::head) split.head.push_back(node);
        if (split.side[node] == Side::tail) split.tail.push_back(node);
    }
    find_boundary(index, split);
    return split;
}

}  // namespace weft::preparation
