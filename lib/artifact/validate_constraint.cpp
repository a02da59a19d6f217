#include "artifact/constraint.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Constraint>(const Constraint& constraint, std::string_view file) {
    const Validator check(file);
    if (constraint.operator_name.empty()) check.reject("operator_name", 0, "is empty");
    if (constraint.plan_key.empty()) check.reject("plan_key", 0, "is empty");
    check.below(constraint.memory, 2, "memory", 0);
    if (constraint.first_step > constraint.last_step) check.reject("first_step", 0, "is after last_step");
    for (std::size_t row = 0; row < constraint.conflicts.size(); ++row) check.below(constraint.conflicts[row].kind, 5, "conflicts", row);
}

}  // namespace weft
