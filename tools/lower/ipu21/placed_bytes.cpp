#include <algorithm>

#include "lower/ipu21/lower.h"

namespace weft::ipu21 {
namespace {

struct Block {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t first_step;
    std::uint32_t last_step;
    std::uint32_t memory;
};

/// Adds the blocks alive at each step, which stand by address, to the steps' maxima.
void note_tile(std::vector<Block>& blocks, std::vector<PlacedBytes>& most) {
    std::ranges::sort(blocks, {}, [](const Block& b) { return std::pair(b.begin, b.end); });
    for (std::uint32_t step = 0; step < most.size(); ++step) {
        std::uint32_t used[2] = {0, 0};
        std::uint32_t covered = 0;   // address up to which everything is counted
        for (const Block& block : blocks) {
            if (step < block.first_step || step > block.last_step || block.end <= covered) continue;
            used[block.memory] += block.end - std::max(block.begin, covered);
            covered = block.end;
        }
        most[step].standard = std::max(most[step].standard, used[0]);
        most[step].interleaved = std::max(most[step].interleaved, used[1]);
    }
}

}  // namespace

std::vector<PlacedBytes> placed_bytes(const Program& program, std::uint32_t tiles) {
    std::vector<std::vector<Block>> of_tile(tiles);
    for (const TileBuffer& buffer : program.tile_buffers) {
        for (const TileAllocation& a : program.allocations.subspan(buffer.first_allocation, buffer.allocation_count)) {
            if (a.tile < tiles) of_tile[a.tile].push_back({a.address, a.address + a.bytes, buffer.first_step, buffer.last_step, buffer.memory == 0 ? 0U : 1U});
        }
    }
    std::vector<PlacedBytes> most(program.tile_steps.size());
    for (std::vector<Block>& blocks : of_tile) note_tile(blocks, most);
    return most;
}

}  // namespace weft::ipu21
