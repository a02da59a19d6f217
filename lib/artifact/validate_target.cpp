#include "artifact/target.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Target>([[maybe_unused]] const Target& target, std::string_view file) {
    const Validator check(file);
}

}  // namespace weft
