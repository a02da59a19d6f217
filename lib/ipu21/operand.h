#pragma once

#include <algorithm>

#include "artifact/target.h"
#include "artifact/tasks.h"
#include "base/checked.h"
#include "ipu21/layout.h"

namespace weft::ipu21 {

/// Where the standard region ends for everything that is placed: behind it stands the code, and at the region's end, which instruction fetch
/// reads ahead of the code, nothing. A fetch that ran on would meet the first interleaved element.
[[nodiscard]] constexpr std::uint32_t standard_end(const Ipu21& machine) {
    return machine.interleaved_begin - std::max(machine.support_bytes, machine.fetch_guard_bytes);
}

/// What the regions offer, the standard one alone and both together.
[[nodiscard]] constexpr std::uint32_t standard_room(const Ipu21& machine) { return standard_end(machine) - machine.standard_begin; }
[[nodiscard]] constexpr std::uint32_t interleaved_room(const Ipu21& machine) { return machine.placeable_end - machine.interleaved_begin; }
[[nodiscard]] constexpr std::uint32_t whole_room(const Ipu21& machine) { return standard_room(machine) + interleaved_room(machine); }

/// Bytes read past the end of an operand that streams through the matrix unit.
[[nodiscard]] constexpr std::uint32_t stream_tail_bytes(const Ipu21& machine, std::uint32_t elem_bytes) {
    return elem_bytes == 2 ? machine.stream_tail_f16_bytes : machine.stream_tail_f32_bytes;
}

/// Access tail of a value in a layout: what stands as the matrix unit streams it may be streamed.
[[nodiscard]] inline std::uint32_t tail_bytes(const Ipu21& machine, const TileLayout& layout) {
    return layout.order == static_cast<std::uint32_t>(TileOrder::AmpLeft) ? stream_tail_bytes(machine, layout.elem_bytes) : 0;
}

/// Alignment of a value in a layout: all orders but row-major are the matrix unit's.
[[nodiscard]] inline std::uint32_t alignment_of(const Ipu21& machine, const TileLayout& layout) {
    return layout.order == static_cast<std::uint32_t>(TileOrder::RowMajor) ? machine.operand_alignment_bytes : machine.amp_alignment_bytes;
}

/// `bytes` up to the next multiple of the matrix unit's alignment.
[[nodiscard]] constexpr std::uint64_t padded_bytes(const Ipu21& machine, std::uint64_t bytes) {
    return ceil_divide<std::uint64_t>(bytes, machine.amp_alignment_bytes) * machine.amp_alignment_bytes;
}

/// What a value takes of the fullest tile at most, wherever it is placed: payload, tail, and the gap up to the next aligned address.
[[nodiscard]] inline std::uint64_t operand_bytes(const Ipu21& machine, const TileLayout& layout, MatrixShape shape) {
    return padded_bytes(machine, shard_bytes(layout, shape) + tail_bytes(machine, layout));
}

}  // namespace weft::ipu21
