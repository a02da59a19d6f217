#include "artifact/program.h"
#include "artifact/validate.h"

namespace weft {

template <>
void validate<Program>([[maybe_unused]] const Program& program, std::string_view file) {
    const Validator check(file);
}

}  // namespace weft
