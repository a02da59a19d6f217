#include "artifact/schedule.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Schedule>([[maybe_unused]] const Schedule& schedule, std::string_view file) {
    const Validator check(file);
}

}  // namespace weft
