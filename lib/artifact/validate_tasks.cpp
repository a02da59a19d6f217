#include "artifact/tasks.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Tasks>([[maybe_unused]] const Tasks& tasks, std::string_view file) {
    const Validator check(file);
}

}  // namespace weft
