#include "simulate/host.h"

#include <algorithm>

#include "reference/executor.h"

namespace weft {
namespace {

std::vector<std::uint32_t> distinct_tensors(std::span<const Port> ports) {
    std::vector<std::uint32_t> tensors;
    for (const Port& port : ports) {
        if (std::find(tensors.begin(), tensors.end(), port.graph_tensor) == tensors.end()) tensors.push_back(port.graph_tensor);
    }
    return tensors;
}

/// Calls use(image offset, logical offset) for every element of a port.
template <class Use>
void each_element(const Port& port, Use&& use) {
    for (std::uint64_t row = 0; row < port.rows; ++row) {
        for (std::uint64_t column = 0; column < port.columns; ++column) {
            const std::uint64_t image = (row * (std::uint64_t{port.columns} + port.gap) + column) * port.channels;
            const std::uint64_t logical = row * port.row_stride + column * port.column_stride;
            for (std::uint64_t channel = 0; channel < port.channels; ++channel) use(image + channel, logical + channel * port.channel_stride);
        }
    }
}

std::uint64_t logical_elems(const Port& port) {
    if (port_image_elems(port) == 0) return 0;
    return std::uint64_t{port.rows - 1} * port.row_stride + std::uint64_t{port.columns - 1} * port.column_stride +
           std::uint64_t{port.channels - 1} * port.channel_stride + 1;
}

}  // namespace

Host::Host(const Program& program, const Graph* graph, const BlobStore& store, std::vector<HostTensor> inputs)
    : program_(program), graph_(graph), store_(store), chip_output_tensors_(distinct_tensors(program.outputs)) {
    if (graph != nullptr) {
        input_tensors_.assign(graph->inputs.begin(), graph->inputs.end());
        output_tensors_.assign(graph->outputs.begin(), graph->outputs.end());
    } else {
        input_tensors_ = distinct_tensors(program.inputs);
        output_tensors_ = chip_output_tensors_;
        if (!program.host_head.empty() || !program.host_tail.empty()) {
            refuse("the program leaves {} operators at the network's head and {} at its tail to the host; give --graph to run them",
                   program.host_head.size(), program.host_tail.size());
        }
    }
    if (input_tensors_.empty() || inputs.empty() || inputs.size() % input_tensors_.size() != 0) {
        bad_input("{} input tensors given, but each inference takes {}", inputs.size(), input_tensors_.size());
    }
    for (std::size_t at = 0; at < inputs.size(); at += input_tensors_.size()) {
        const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(at);
        inferences_.emplace_back(std::make_move_iterator(first), std::make_move_iterator(first + static_cast<std::ptrdiff_t>(input_tensors_.size())));
    }
    const auto largest = [](std::uint32_t size, std::span<const std::uint32_t> ids) {
        for (const std::uint32_t id : ids) size = std::max(size, id + 1);
        return size;
    };
    constexpr std::uint32_t tensor_limit = 1U << 24U;
    const std::uint32_t tensors = largest(largest(0, input_tensors_), chip_output_tensors_);
    const std::size_t known = graph != nullptr ? graph->tensors.size() : tensor_limit;
    for (const auto& ports : {program.inputs, program.outputs}) {
        for (const Port& port : ports) {
            if (port.graph_tensor >= known) bad_input("a port of the program belongs to tensor {}, which the graph does not have", port.graph_tensor);
        }
    }
    tensors_.resize(graph != nullptr ? graph->tensors.size() : tensors);
}

void Host::set_inputs(std::size_t inference) {
    for (std::size_t at = 0; at < input_tensors_.size(); ++at) {
        const std::uint32_t tensor = input_tensors_[at];
        tensors_[tensor] = inferences_[inference][at];
        if (graph_ == nullptr) continue;
        const auto dims = tensor_dims(*graph_, TensorId(tensor));
        const std::size_t wanted = elem_count(dims);
        if (tensors_[tensor].values.size() != wanted) {
            bad_input("network input {}: {} given, but the network takes {}", at, dims_text(tensors_[tensor].dims), dims_text(dims));
        }
        tensors_[tensor].dims.assign(dims.begin(), dims.end());
    }
    if (graph_ != nullptr && !program_.host_head.empty()) run_nodes(*graph_, store_, program_.host_head, tensors_);
}

std::vector<std::vector<std::vector<float>>> Host::input_images() {
    std::vector<std::vector<std::vector<float>>> images(inferences_.size());
    for (std::size_t inference = 0; inference < inferences_.size(); ++inference) {
        set_inputs(inference);
        for (const Port& port : program_.inputs) {
            const std::vector<float>& source = tensors_[port.graph_tensor].values;
            if (source.size() < logical_elems(port)) {
                bad_input("an input port takes {} elements of tensor {}, which has {}", logical_elems(port), port.graph_tensor, source.size());
            }
            std::vector<float>& image = images[inference].emplace_back(port_image_elems(port), 0.0F);
            each_element(port, [&](std::uint64_t at, std::uint64_t logical) { image[at] = source[logical]; });
        }
    }
    return images;
}

HostTensor Host::gather_output(const ValueMachine& values, std::uint32_t tensor, std::uint64_t inference) const {
    HostTensor result;
    std::uint64_t elems = 0;
    if (graph_ != nullptr) {
        const auto dims = tensor_dims(*graph_, TensorId(tensor));
        result.dims.assign(dims.begin(), dims.end());
        elems = elem_count(dims);
    } else {
        for (const Port& port : program_.outputs) {
            if (port.graph_tensor == tensor) elems = std::max(elems, logical_elems(port));
        }
        result.dims = {static_cast<std::uint32_t>(elems)};
    }
    result.values.assign(elems, ValueMachine::never_stored());
    for (std::size_t row = 0; row < program_.outputs.size(); ++row) {
        const Port& port = program_.outputs[row];
        if (port.graph_tensor != tensor) continue;
        if (logical_elems(port) > elems) bad_input("an output port writes {} elements of tensor {}, which has {}", logical_elems(port), tensor, elems);
        const auto image = values.output_image(row, inference);
        if (image.empty()) refuse("inference {}: nothing was stored at output port {}", inference, row);
        each_element(port, [&](std::uint64_t at, std::uint64_t logical) { result.values[logical] = image[at]; });
    }
    for (std::size_t at = 0; at < result.values.size(); ++at) {
        if (ValueMachine::is_never_stored(result.values[at])) refuse("inference {}: element {} of output tensor {} was never stored", inference, at, tensor);
    }
    return result;
}

std::vector<HostTensor> Host::outputs(const ValueMachine& values, std::uint64_t inference) {
    set_inputs(static_cast<std::size_t>(inference % inferences_.size()));   // the tail may look at what the head made
    for (const std::uint32_t tensor : chip_output_tensors_) tensors_[tensor] = gather_output(values, tensor, inference);
    if (graph_ != nullptr && !program_.host_tail.empty()) run_nodes(*graph_, store_, program_.host_tail, tensors_);
    std::vector<HostTensor> results;
    for (const std::uint32_t tensor : output_tensors_) results.push_back(tensors_[tensor]);
    return results;
}

}  // namespace weft
