#include "base/failure.h"

#include <cstring>

namespace weft {

void invariant_broken(const char* expression, const char* file, int line, const std::string& detail) {
    const char* slash = std::strrchr(file, '/');
    throw Failure(ExitStatus::bug, fmt::format("broken invariant at {}:{}: {}{}{}", slash != nullptr ? slash + 1 : file, line,
                                               expression, detail.empty() ? "" : ": ", detail));
}

}  // namespace weft
