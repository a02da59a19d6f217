#pragma once

#include <vector>

#include "artifact/kernels.h"
#include "kernels/kernel_table.h"

namespace weft {

/// Records of a .kernels file, and back (sorted by key). Both directions lose nothing.
[[nodiscard]] std::vector<KernelRecord> records_of(const Kernels& kernels);
[[nodiscard]] KernelsColumns kernels_of(std::vector<KernelRecord> records, KernelUnit unit, std::uint64_t clock_hz);

/// One record per key out of several: samples add up, extremes are kept, median and 95th percentile are weighted by samples
/// (exact for equal records, an approximation otherwise). Records of different builds or targets do not merge: Failure(bad_input)
/// naming `file`.
[[nodiscard]] std::vector<KernelRecord> merge_records(std::vector<KernelRecord> records, std::string_view file);

}  // namespace weft
