#include "artifact/timing.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Timing>([[maybe_unused]] const Timing& timing, std::string_view file) {
    const Validator check(file);
}

}  // namespace weft
