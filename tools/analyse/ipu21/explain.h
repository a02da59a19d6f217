#pragma once

#include <array>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "artifact/schedule.h"
#include "artifact/target.h"
#include "artifact/tasks.h"

namespace weft::ipu21 {

enum class CostComponent : std::uint8_t { Local, Exchange, Staging, Launch };
inline constexpr std::size_t component_count = 4;
[[nodiscard]] std::string_view to_text(CostComponent component);

/// A share of one operator's estimated cycles that has one cause.
struct CostPart {
    CostComponent component = CostComponent::Local;
    std::string name;             ///< equal for equal causes, so that two plans can be compared
    std::int64_t cycles = 0;      ///< may be negative where measured kernels are faster than the model
    std::string drivers;          ///< what the cycles come from, in figures
};

struct OperatorParts {
    std::string name;
    std::string plan;
    std::vector<CostPart> parts;
};

/// The estimate of a schedule taken apart. The parts of a component add up to the plan's component, all of them to the estimate:
/// Failure(bad_input) where they do not, because the schedule then was made by other rules.
struct Explanation {
    std::vector<OperatorParts> operators;
    std::uint64_t cycles = 0;
    [[nodiscard]] std::int64_t component(CostComponent component) const;
};
[[nodiscard]] Explanation explain(const Tasks& tasks, const Schedule& schedule, const Target& target);

/// Part by part, for people.
[[nodiscard]] std::string explanation_table(const Explanation& explanation);
/// Two schedules of one network side by side; operators are matched by name.
[[nodiscard]] std::string comparison_table(const Explanation& mine, const Explanation& other);
[[nodiscard]] nlohmann::ordered_json explanation_json(const Explanation& explanation);

}  // namespace weft::ipu21
