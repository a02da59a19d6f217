#include "prepare/cost.h"

#include <algorithm>

namespace weft::preparation {
ChipFacts::ChipFacts(const Target& target, const KernelTable* kernels)
    : timing(target, kernels), core_count(target.core_count), crossbar_rows(target.core.crossbar_rows),
      crossbars_per_core(target.core.crossbar_count), results_per_crossbar(timing.results_per_crossbar()),
      family_crossbars(std::max(1U, crossbars_per_core * 95 / 100)) {
    if (core_count == 0 || crossbar_rows == 0 || crossbars_per_core == 0 || results_per_crossbar == 0) {
        refuse("target '{}' has no cores with crossbars that hold at least one {}-bit weight", target.name, target.weight_bits);
    }
}

}  // namespace weft::preparation
