#pragma once

#include "prepare/draft.h"

namespace weft::preparation {

/// The draft's families as columns: everything but costs, lanes and demands. Consumes the draft's strips.
[[nodiscard]] TasksColumns assemble(Draft draft);

}  // namespace weft::preparation
