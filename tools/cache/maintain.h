#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/record.h"

namespace weft::cache {

struct StoreFigures {
    std::uint64_t objects = 0, object_bytes = 0;
    std::uint64_t actions = 0, roots = 0;
    std::uint64_t quarantined = 0, trash_bytes = 0;
    std::uint64_t made = 0, reused = 0;      ///< of the logs of all machines
    double made_seconds = 0, reused_seconds = 0;
};
[[nodiscard]] StoreFigures store_figures(const Store& store);
[[nodiscard]] std::string figures_text(const Store& store, const StoreFigures& figures);

struct GcOptions {
    double keep_days = 14;       ///< records used within this time keep their results
    double grace_days = 14;      ///< nothing younger goes; not less than the longest job, whose results no record names yet
    bool really = false;         ///< else only says what would go
};
struct GcReport {
    std::uint64_t kept_objects = 0;
    std::uint64_t objects = 0, bytes = 0;    ///< into trash/
    std::uint64_t actions = 0;
    std::uint64_t emptied = 0;               ///< files of trash/, tmp/, inputs/, locks/ that are gone for good
    std::vector<std::string> lost_roots;     ///< folders that are registered but not there
};
/// Keeps what roots and lately used records name; the rest goes to trash/, and from there for good after the grace time.
[[nodiscard]] GcReport collect_garbage(const Store& store, const GcOptions& options);

/// Registers a folder: objects that links below it point at stay. Cheap where it is registered already.
void add_root(const Store& store, const std::string& folder);

struct FsckReport {
    std::uint64_t objects = 0, actions = 0;
    std::vector<std::string> problems;       ///< one line each
};
/// Reads everything: contents against names, records against their digests and objects. Damaged files go into quarantine/
/// (unless the store is read-only), so that nothing finds them again.
[[nodiscard]] FsckReport check_store(const Store& store);

/// Why an action is not stored: what differs from the stored action of the same program that is most like it.
[[nodiscard]] std::string explain_miss(const Store& store, const Action& action);

}  // namespace weft::cache
