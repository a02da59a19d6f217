#include "lower/ipu21/host.h"

#include <algorithm>

#include "base/checked.h"
#include "ipu21/layout.h"

namespace weft::ipu21 {
namespace {

/// A value in its layout: every copy is sent to the tiles, one of them comes back.
TileHostTransfer transfer_of(const Tasks& tasks, const Ipu21& machine, const StepProgram& program, std::uint32_t buffer, bool from_tiles) {
    const TileBuffer& row = program.buffers[buffer];
    const TileLayout& layout = tasks.tile_layouts[row.layout];
    const MatrixShape shape{tasks.tile_values[row.value].rows, tasks.tile_values[row.value].columns};
    TileHostTransfer transfer{};
    transfer.buffer = buffer;
    transfer.from_tiles = from_tiles ? 1 : 0;
    transfer.tensor_bytes = std::uint64_t{shape.rows} * shape.columns * layout.elem_bytes;
    const std::uint64_t packet = from_tiles ? machine.host_read_packet_bytes : machine.host_long_packet_bytes;
    const std::uint64_t copies = from_tiles ? 1 : layout.replicas;
    for (std::uint32_t r = 0; r < layout.row_parts; ++r) {
        for (std::uint32_t c = 0; c < layout.column_parts; ++c) {
            const std::uint64_t bytes = std::uint64_t{rows_of(layout, shape, r).length()} * columns_of(layout, shape, c).length() * layout.elem_bytes;
            transfer.tile_bytes += copies * bytes;
            transfer.packets += copies * ceil_divide(bytes, packet);   // what is left over takes a short one, or another long one
            transfer.rendezvous = std::max(transfer.rendezvous, static_cast<std::uint32_t>(ceil_divide<std::uint64_t>(bytes, machine.host_window_bytes)));
        }
    }
    return transfer;
}

}  // namespace

std::vector<TileHostTransfer> host_transfers(const Tasks& tasks, const Target& target, const StepProgram& program) {
    std::vector<TileHostTransfer> result;
    if (target.ipu21.host_page_bytes == 0) return result;
    for (std::uint32_t buffer = 0; buffer < program.buffers.size(); ++buffer) {
        const TileBuffer& row = program.buffers[buffer];
        const bool value = static_cast<TileBufferKind>(row.kind) == TileBufferKind::Value;
        if (value && tasks.tile_values[row.value].producer == no_id) result.push_back(transfer_of(tasks, target.ipu21, program, buffer, false));
    }
    for (std::uint32_t value = 0; value < tasks.tile_values.size(); ++value) {
        const std::uint32_t buffer = program.value_buffer[value];
        if (tasks.tile_values[value].is_output != 0 && buffer != no_id) result.push_back(transfer_of(tasks, target.ipu21, program, buffer, true));
    }
    return result;
}

std::uint64_t host_bytes(std::span<const TileHostTransfer> transfers, bool from_tiles) {
    std::uint64_t bytes = 0;
    for (const TileHostTransfer& transfer : transfers) bytes += (transfer.from_tiles != 0) == from_tiles ? transfer.tile_bytes : 0;
    return bytes;
}

}  // namespace weft::ipu21
