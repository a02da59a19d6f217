#include "artifact/candidates.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Candidates>([[maybe_unused]] const Candidates& candidates, std::string_view file) {
    const Validator check(file);
}

}  // namespace weft
