#include "prepare/cost.h"

#include <algorithm>

namespace weft::preparation {
namespace {

/// Registers that a typical instruction has to load anew.
constexpr std::int64_t register_loads = 2;

}  // namespace

ChipFacts::ChipFacts(const Target& target, const KernelTable* kernels)
    : timing(target, kernels), core_count(target.core_count), crossbar_rows(target.core.crossbar_rows),
      crossbars_per_core(target.core.crossbar_count), results_per_crossbar(timing.results_per_crossbar()),
      family_crossbars(std::max(1U, crossbars_per_core * 95 / 100)) {
    if (core_count == 0 || crossbar_rows == 0 || crossbars_per_core == 0 || results_per_crossbar == 0) {
        refuse("target '{}' has no cores with crossbars that hold at least one {}-bit weight", target.name, target.weight_bits);
    }
}

TileCost strips_cost(std::span<const MappedStrip> strips, std::uint32_t tile_rows, std::uint32_t tile_columns,
                     std::uint32_t output_channels, const ChipFacts& chip) {
    const std::int64_t loads = register_loads * chip.timing.scalar_ns();
    TileCost cost;
    std::vector<char> touched(std::size_t{tile_rows} * tile_columns * output_channels, 0);
    for (const MappedStrip& strip : strips) {
        if (strip.pieces.size() > 1) {
            for (const Piece& piece : strip.pieces) cost.copy_ns += chip.timing.copy_ns(piece.length) + loads;
        }
        cost.mvmul_ns += chip.timing.mvmul_ns(strip.crossbars) + loads;
        for (const StripTarget& target : strip.targets) {
            // Runs of outputs that were, or were not, written before: added, or copied unless the strip's results go there whole.
            const std::size_t first = (std::size_t{target.row} * tile_columns + target.column) * output_channels + target.channel;
            const std::size_t end = first + target.length;
            for (std::size_t from = first, to = first; from < end; from = to) {
                while (to < end && touched[to] == touched[from]) ++to;
                const auto length = static_cast<std::uint32_t>(to - from);
                if (touched[from] != 0) cost.add_ns += chip.timing.vector_ns(Opcode::Vvadd, length) + loads;
                else if (length != strip.columns) cost.copy_ns += chip.timing.copy_ns(length) + loads;
            }
            std::fill(touched.begin() + static_cast<std::ptrdiff_t>(first), touched.begin() + static_cast<std::ptrdiff_t>(end), 1);
        }
    }
    return cost;
}

}  // namespace weft::preparation
