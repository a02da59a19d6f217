#pragma once

#include "prepare/draft.h"

namespace weft::preparation {

/// Functions that never fall commute with maxima: where a maximum pool is the only reader of what they make and has fewer outputs than inputs,
/// they become steps of the pool, a quarter of the work at a stride of two. To be called on whole drafts, before mapping.
void move_steps_behind_maxima(Draft& draft);

}  // namespace weft::preparation
