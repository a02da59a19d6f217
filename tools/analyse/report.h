#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyse.h"

namespace weft {

/// A lower bound of the interval.
struct Bound {
    const char* name;
    double nanoseconds;
};

/// Largest first: the first one binds (or comes nearest to binding), the second would be next. Between equals resources come before
/// the recurrence, whose critical cycle may be nothing but the busiest core.
[[nodiscard]] std::vector<Bound> bounds_of(const Analysis& analysis);

/// The analysis as JSON, every core; schemas/analysis.schema.json describes it.
[[nodiscard]] nlohmann::ordered_json json_report(const Analysis& analysis);

[[nodiscard]] const char* availability_name(Availability availability);

}  // namespace weft
