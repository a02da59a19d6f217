#pragma once

#include "prepare/draft.h"

namespace weft::preparation {

/// The draft's families as columns: everything but costs, lanes and demands. Consumes the draft's strips.
[[nodiscard]] TasksColumns assemble(Draft draft);

/// Works out the copies of every move once, for drafts that are assembled many times.
void build_moves(Draft& draft);

}  // namespace weft::preparation
