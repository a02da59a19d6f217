#include <algorithm>

#include "artifact/candidates.h"
#include "artifact/validate.h"

namespace weft {

/// One to eleven candidates, all columns of that length, file names that are plain names beside the file and differ.
template <>
void validate<Candidates>(const Candidates& candidates, std::string_view file) {
    const Validator check(file);
    constexpr std::size_t most_candidates = 11;
    const std::size_t count = candidates.file_names.size();
    if (count == 0 || count > most_candidates) check.reject("file_names", 0, "{} candidates; there must be 1 to {}", count, most_candidates);
    check.length(candidates.strategies.size(), count, "strategies");
    check.length(candidates.hash_high.size(), count, "hash_high");
    check.length(candidates.hash_low.size(), count, "hash_low");
    check.length(candidates.bottleneck_ns.size(), count, "bottleneck_ns");
    check.length(candidates.depth.size(), count, "depth");
    check.length(candidates.stage_count.size(), count, "stage_count");
    check.length(candidates.cores_used.size(), count, "cores_used");
    check.length(candidates.crossbars_used.size(), count, "crossbars_used");
    for (std::size_t row = 0; row < count; ++row) {
        const std::string& name = candidates.file_names[row];
        if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos || name.find('\0') != std::string::npos) {
            check.reject("file_names", row, "'{}' is no plain file name", name);
        }
        const auto earlier = candidates.file_names.begin() + static_cast<std::ptrdiff_t>(row);
        if (std::find(candidates.file_names.begin(), earlier, name) != earlier) check.reject("file_names", row, "'{}' is there twice", name);
    }
}

}  // namespace weft
