#pragma once

#include <string>
#include <vector>

#include "cache/record.h"

namespace weft::cache {

/// How results appear at their places: as links to the store's objects (relative where the store's path is relative), or as files
/// of their own.
enum class Placement : std::uint8_t { link, copy };

/// Puts results of a store at the places that an action names. What is the same already is not touched, so that Make runs nothing
/// that depends on it only. Every place changes by one rename; names that the result does not have are removed.
void place_results(const Store& store, const Action& action, const Record& record, Placement placement);

/// The path of a stored file at its place: "net-0.sched" beside the first output, and so on.
[[nodiscard]] fs::path place_of(const Action& action, const StoredFile& file);

/// Puts a whole new folder in place of an earlier one.
void exchange_folder(const fs::path& fresh, const fs::path& place);

/// Writes a file without syncing it, in one step and only if its text changed.
void write_if_changed(const fs::path& path, const std::string& text);

/// Names in `folder` that match `pattern` ('*' and '?').
[[nodiscard]] std::vector<std::string> matching_names(const fs::path& folder, const std::string& pattern);

}  // namespace weft::cache
