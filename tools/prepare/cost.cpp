#include "prepare/cost.h"

#include <algorithm>

namespace weft::preparation {
namespace {

/// Registers that a typical instruction has to load anew.
constexpr std::int64_t register_loads = 2;

}  // namespace

ChipFacts::ChipFacts(const Target& target)
    : timing(target), core_count(target.core_count), crossbar_rows(target.core.crossbar_rows),
      crossbars_per_core(target.core.crossbar_count), results_per_crossbar(timing.results_per_crossbar()) {
    if (core_count == 0 || crossbar_rows == 0 || crossbars_per_core == 0 || results_per_crossbar == 0) {
        refuse("target '{}' has no cores with crossbars that hold at least one {}-bit weight", target.name, target.weight_bits);
    }
}

TileCost strips_cost(std::span<const MappedStrip> strips, std::uint32_t output_channels, const ChipFacts& chip) {
    const std::int64_t loads = register_loads * chip.timing.scalar_ns();
    TileCost cost;
    std::vector<char> touched(output_channels, 0);
    for (const MappedStrip& strip : strips) {
        if (strip.pieces.size() > 1) {
            for (const Piece& piece : strip.pieces) cost.copy_ns += chip.timing.copy_ns(piece.length) + loads;
        }
        cost.mvmul_ns += chip.timing.mvmul_ns(strip.crossbars) + loads;
        for (const StripTarget& target : strip.targets) {
            // A strip's results are of one kind nearly always: either nothing or everything was there before.
            if (touched[target.channel] != 0) cost.add_ns += chip.timing.vector_ns(Opcode::Vvadd, target.length) + loads;
            std::fill_n(touched.begin() + target.channel, target.length, 1);
        }
    }
    return cost;
}

}  // namespace weft::preparation
