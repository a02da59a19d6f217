#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packing/partition.h"
#include "packing/recovery.h"
#include "packing/workload.h"

namespace weft {

/// Lanes to cores. Lanes of one family on one core share its weights; bands of neighbouring lanes stay together.
using LanePlacement = std::vector<std::uint16_t>;

/// Candidate zero: families in dependency order, core after core, each core filled to `limit_ns`; what is left over (the dependency
/// tail) goes to the first cores that have room. None where that does not fit.
[[nodiscard]] std::optional<LanePlacement> pack_ordered(const Tasks& tasks, const Workload& workload, std::int64_t limit_ns);

/// Each family on the cores with most time left: first those whose work fits one core, then those that are spread over several and
/// take all the time left on one core after another; among each, those that need most crossbars first. None where that does not fit.
[[nodiscard]] std::optional<LanePlacement> pack_filling(const Tasks& tasks, const Workload& workload, std::int64_t limit_ns);

/// Stage after stage on cores of its own, each filled as by pack_filling. `families`: of the groups that the partition is of.
[[nodiscard]] std::optional<LanePlacement> pack_partition(const Tasks& tasks, const Workload& workload, std::span<const std::uint32_t> families,
                                                          const Partition& partition, std::int64_t limit_ns);

/// Families whole, wherever their crossbars fit: for weights that no other packing gets in. `recovery` says how.
[[nodiscard]] std::optional<LanePlacement> pack_whole_families(const Tasks& tasks, const Workload& workload, Recovery& recovery);

/// The placement of the smallest limit at which `pack` succeeds: scanned upwards by 1 % from the work bound (success is not monotone),
/// then bisected inside the last step. None where even an unlimited time does not help.
struct Packing {
    LanePlacement placement;
    std::int64_t limit_ns = 0;
};
template <class Pack>
[[nodiscard]] std::optional<Packing> smallest_packing(const Tasks& tasks, const Workload& workload, Pack pack);

/// `recovery`: of the last attempt.
[[noreturn]] void refuse_packing(const Workload& workload, const Recovery& recovery);

}  // namespace weft

#include "packing/packing_search.h"
