#include <algorithm>

#include "base/checked.h"
#include "pim/kernel_parts.h"

namespace weft::kernel {
namespace {

/// A copy by addresses.
struct Piece {
    std::int32_t target = 0;
    std::int32_t source = 0;
    std::int32_t length = 0;
    std::int32_t source_stride = 1;
};

std::int32_t address_of(const RowAddress& rows, const TaskTensor& tensor, std::uint32_t position, std::uint32_t channel) {
    return element_address(rows, tensor, static_cast<std::int32_t>(position / tensor.columns),
                           static_cast<std::int32_t>(position % tensor.columns)) +
           static_cast<std::int32_t>(channel);
}

/// The copies of output positions [first, end) as addresses; neighbours that continue each other are joined.
void collect(const Emission& emission, std::span<const MoveCopy> copies, std::vector<Piece>& pieces) {
    pieces.clear();
    for (const MoveCopy& copy : copies) {
        Piece piece;
        piece.target = address_of(emission.space.output, emission.output, copy.output_position, copy.output_channel);
        piece.source = address_of(emission.space.inputs[copy.input], emission.input(copy.input), copy.source_position,
                                  copy.source_channel);
        piece.length = static_cast<std::int32_t>(copy.length);
        piece.source_stride = copy.length == 1 ? 1 : copy.source_stride;
        if (!pieces.empty()) {
            Piece& last = pieces.back();
            if (last.target + last.length == piece.target && last.source_stride == 1 && piece.source_stride == 1 &&
                last.source + last.length == piece.source &&
                last.length + piece.length <= static_cast<std::int32_t>(segment_limit_elems)) {
                last.length += piece.length;
                continue;
            }
        }
        pieces.push_back(piece);
    }
}

void push(Emission& emission, const Piece& piece, std::int32_t target_step, std::int32_t source_step) {
    const Address target{piece.target, target_step};
    const Address source{piece.source, source_step};
    if (piece.source_stride == 1) {
        emission.body.push_back({Opcode::Lmv, target, source, {}, piece.length, 0});
    } else {
        emission.body.push_back({Opcode::Vmv, target, source, {piece.source_stride, 0}, piece.length, 0});
    }
}

/// Longest period that is looked for: one position's copies of a concatenation of many tensors, or of a transposition.
constexpr std::size_t longest_period = 64;

/// Repetitions of the first `period` pieces with constant steps.
std::size_t repetitions(std::span<const Piece> pieces, std::size_t period) {
    std::size_t count = 1;
    while ((count + 1) * period <= pieces.size()) {
        for (std::size_t i = 0; i < period; ++i) {
            const Piece& base = pieces[i];
            const Piece& next = pieces[period + i];
            const Piece& here = pieces[count * period + i];
            const auto n = static_cast<std::int32_t>(count);
            if (here.length != base.length || here.source_stride != base.source_stride ||
                here.target - base.target != n * (next.target - base.target) ||
                here.source - base.source != n * (next.source - base.source)) {
                return count;
            }
        }
        ++count;
    }
    return count;
}

/// Emit the pieces as loops: at each point the period that covers most pieces.
void emit_pieces(Emission& emission, std::span<const Piece> pieces) {
    while (!pieces.empty()) {
        std::size_t best_period = 1;
        std::size_t best_count = 1;
        for (std::size_t period = 1; period <= std::min(longest_period, pieces.size()); ++period) {
            const std::size_t count = repetitions(pieces, period);
            if (count > 1 && count * period > best_count * best_period) {
                best_period = period;
                best_count = count;
            }
        }
        emission.body.clear();
        for (std::size_t i = 0; i < best_period; ++i) {
            const bool loop = best_count > 1;
            push(emission, pieces[i], loop ? pieces[best_period + i].target - pieces[i].target : 0,
                 loop ? pieces[best_period + i].source - pieces[i].source : 0);
        }
        emission.code.append(emission.body, narrow<std::uint32_t>(best_count), emission.label());
        pieces = pieces.subspan(best_period * best_count);
    }
}

/// Writes the fill value over output positions [first, end), all of one row; the copies then overwrite what they know better.
/// Not needed for zero: local memory starts so, and nothing else writes those elements.
void emit_fill(Emission& emission, float value, std::uint32_t first, std::uint32_t end) {
    const std::uint32_t channels = emission.output.channels;
    const auto limit = static_cast<std::int32_t>(std::min(emission.output.columns * channels, segment_limit_elems));
    const std::int32_t source = emission.memory.fill(value, limit);
    std::int32_t target = address_of(emission.space.output, emission.output, first, 0);
    const std::int32_t target_end = target + static_cast<std::int32_t>((end - first) * channels);
    emission.body.clear();
    for (; target < target_end; target += limit) push(emission, {target, source, std::min(limit, target_end - target), 1}, 0, 0);
    emission.code.append(emission.body, 1, emission.label());
}

}  // namespace

void emit_move(Emission& emission, std::uint32_t first_position, std::uint32_t position_count) {
    const auto range = std::find_if(emission.tasks.moves.begin(), emission.tasks.moves.end(),
                                    [&](const MoveRange& move) { return move.family == emission.family_id.value; });
    WEFT_CHECK(range != emission.tasks.moves.end());
    const auto all = emission.tasks.copies.subspan(range->first_copy, range->copy_count);
    const auto before = [](const MoveCopy& copy, std::uint32_t position) { return copy.output_position < position; };
    std::vector<Piece> pieces;
    const std::uint32_t columns = emission.output.columns;
    for (std::uint32_t position = first_position; position < first_position + position_count;) {
        const std::uint32_t end = std::min(first_position + position_count, (position / columns + 1) * columns);
        if (range->fill != 0) emit_fill(emission, range->fill, position, end);
        const auto from = std::lower_bound(all.begin(), all.end(), position, before);
        const auto to = std::lower_bound(from, all.end(), end, before);
        collect(emission, all.subspan(static_cast<std::size_t>(from - all.begin()), static_cast<std::size_t>(to - from)), pieces);
        emit_pieces(emission, pieces);
        emit_steps(emission, position / columns, position % columns, (end - 1) % columns + 1);
        position = end;
    }
}

}  // namespace weft::kernel
