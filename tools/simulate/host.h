#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "artifact/blob_store.h"
#include "artifact/graph.h"
#include "artifact/program.h"
#include "reference/tensor.h"
#include "simulate/values.h"

namespace weft {

/// Network inputs and outputs around the chip: the host head makes what the chip's input ports show, the host tail turns what
/// the output ports got into the network's outputs. Without a graph the tensors of the ports are the inputs and outputs.
class Host {
public:
    /// `graph` may be null. `inputs`: for one inference after the other its network inputs in model order.
    Host(const Program& program, const Graph* graph, const BlobStore& store, std::vector<HostTensor> inputs);

    /// Tensors per inference that the network takes; number of inferences given.
    [[nodiscard]] std::size_t input_count() const { return input_tensors_.size(); }
    [[nodiscard]] std::size_t inference_count() const { return inferences_.size(); }

    /// [inference][port]: images of the input ports.
    [[nodiscard]] std::vector<std::vector<std::vector<float>>> input_images();
    /// The network's outputs for `inference` (which worked on input `inference` modulo the number given).
    /// Throws Failure(refused) where the program left an element of an output unwritten.
    [[nodiscard]] std::vector<HostTensor> outputs(const ValueMachine& values, std::uint64_t inference);

private:
    void set_inputs(std::size_t inference);
    [[nodiscard]] HostTensor gather_output(const ValueMachine& values, std::uint32_t tensor, std::uint64_t inference) const;

    const Program& program_;
    const Graph* graph_;
    const BlobStore& store_;
    std::vector<std::uint32_t> input_tensors_;
    std::vector<std::uint32_t> output_tensors_;       // of the network
    std::vector<std::uint32_t> chip_output_tensors_;  // of the ports, each once
    std::vector<std::vector<HostTensor>> inferences_;
    std::vector<HostTensor> tensors_;                 // by tensor id
};

}  // namespace weft
