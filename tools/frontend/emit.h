#pragma once

#include "frontend/network.h"

namespace weft::frontend {

/// The columns of a network, and its weights into `sink`, in the canonical layouts, as f32. Tensors are numbered inputs first,
/// then in the order in which the steps name them; the result does not depend on the thread count.
[[nodiscard]] GraphColumns emit_graph(const Network& network, unsigned threads, const BlobSink& sink);

/// A weight's f32 values in its final layout. `buffer` is used where the model's own bytes cannot serve.
[[nodiscard]] std::span<const std::byte> weight_bytes(const Value& weight, std::vector<float>& buffer);

}  // namespace weft::frontend
