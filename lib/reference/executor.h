#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact/blob_store.h"
#include "artifact/graph.h"
#include "base/id.h"
#include "reference/tensor.h"

namespace weft {

/// The reference executor: plain loops in f32, sums of products in double, one node after the other. It is what a network
/// means when the ONNX Runtime is not at hand, and what weft-simulate uses for the host head and tail.

/// Run `nodes` (graph node ids, in order). `values` is indexed by tensor id (resized to the graph's tensor count; a tensor
/// without value has no values and no dims): it must hold the activations that the nodes read and do not make, and receives
/// the nodes' outputs. Weights are read from `store` on first use and stay in `values`, so a caller that keeps `values`
/// reads them once; only the activations need to be replaced for the next inference.
/// Throws Failure(bad_input) naming the node where shapes or attributes do not fit, Failure(refused) for HostOther.
void run_nodes(const Graph& graph, const BlobStore& store, std::span<const std::uint32_t> nodes, std::vector<HostTensor>& values);

/// Run the whole graph on `inputs` (in graph.inputs order); the outputs in graph.outputs order. `values` as above.
[[nodiscard]] std::vector<HostTensor> run_graph(const Graph& graph, const BlobStore& store, std::span<const HostTensor> inputs,
                                                std::vector<HostTensor>& values);

/// The graph's own shape of a tensor.
[[nodiscard]] std::span<const std::uint32_t> tensor_dims(const Graph& graph, TensorId tensor);

}  // namespace weft
