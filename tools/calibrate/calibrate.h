#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "artifact/target.h"
#include "kernels/kernel_file.h"

namespace weft {

/// Measurements of one file.
struct Measurements {
    std::vector<KernelRecord> records;
    std::uint64_t clock_hz = 0;                ///< 0: nanoseconds
    std::vector<std::string> unknown_fields;   ///< JSON paths that mean nothing here; the records keep what stands there
};

/// The exporter's JSON: {"schemaVersion": 1, "target", "buildId", "clockHz", "measurements": [{"key": {"kernel", "dimensions": {...}},
/// "samples", "minimumCycles", "medianCycles", "p95Cycles", "maximumCycles", "mergedInvocations"?, "profile"?, "quarantined"?}]}. Whole
/// numbers among the dimensions become numeric dimensions, texts and truth values the category. Cycles of merged invocations are
/// divided by their count. Exchange and synchronisation samples are left out. Throws Failure(bad_input) naming file and place.
[[nodiscard]] Measurements import_measurements(const nlohmann::json& json, const std::string& file);

/// The same schema back, one measurement per record, sorted, with the fields that meant nothing here: those of a table at its root where all
/// records agree, else in each measurement.
[[nodiscard]] nlohmann::ordered_json export_measurements(const std::vector<KernelRecord>& records, std::uint64_t clock_hz);

/// Sets error_ppm = (analytical - measured) / measured of every record that the target's model knows. Returns how many.
std::size_t set_errors(const Target& target, std::vector<KernelRecord>& records);

/// Bias (mean) and spread (root mean square) of the errors of one kind and category.
struct FamilyError {
    std::string kind;
    std::string category;
    std::size_t records = 0;
    std::int64_t bias_ppm = 0;
    std::uint64_t spread_ppm = 0;
};
[[nodiscard]] std::vector<FamilyError> family_errors(const std::vector<KernelRecord>& records);

}  // namespace weft
