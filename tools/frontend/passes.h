#pragma once

#include "frontend/network.h"

namespace weft::frontend {

/// Drop every step that no output depends on, and renumber.
void remove_dead_steps(Network& network);

/// Multiplications and additions by per-channel constants (what remains of BatchNormalization) go into the weights and bias of
/// the convolution or linear map that precedes, where nothing else reads its result; chains of them elsewhere become at most
/// one multiplication and one addition.
void fold_affine_steps(Network& network);

/// Fold and clean until nothing changes.
void simplify(Network& network);

}  // namespace weft::frontend
