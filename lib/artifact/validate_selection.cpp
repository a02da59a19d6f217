#include "artifact/selection.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Selection>([[maybe_unused]] const Selection& selection, std::string_view file) {
    const Validator check(file);
}

}  // namespace weft
