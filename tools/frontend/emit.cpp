#include "frontend/emit.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "base/checked.h"

namespace weft::frontend {
namespace {

/// out[row * columns + m] = in[m * row_count + source_row(row)]: a matrix transposed, its rows reordered by `perm`. Works in
/// blocks, because a whole line of the weight matrix is many cache pages away from the next.
void transpose_rows(const float* in, const Shape& in_shape, std::span<const std::int64_t> perm, float* out) {
    const std::int64_t columns = in_shape[0];
    const auto strides = strides_of(in_shape);
    std::vector<std::int64_t> source_rows;
    std::vector<std::int64_t> index(perm.size() - 1, 0);
    const std::int64_t rows = elem_count(in_shape) / columns;
    source_rows.reserve(static_cast<std::size_t>(rows));
    for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t source = 0;
        for (std::size_t k = 0; k < index.size(); ++k) source += index[k] * strides[static_cast<std::size_t>(perm[k])];
        source_rows.push_back(source);
        for (std::size_t k = index.size(); k-- > 0;) {
            if (++index[k] < in_shape[static_cast<std::size_t>(perm[k])]) break;
            index[k] = 0;
        }
    }
    constexpr std::int64_t block = 16;
    for (std::int64_t first = 0; first < columns; first += block) {
        const std::int64_t last = std::min(columns, first + block);
        for (std::int64_t row = 0; row < rows; ++row) {
            const float* source = in + source_rows[static_cast<std::size_t>(row)];
            float* target = out + row * columns;
            for (std::int64_t m = first; m < last; ++m) target[m] = source[m * strides[0]];
        }
    }
}

void scale_last_axis(std::span<float> values, const std::vector<float>& scale) {
    for (std::size_t i = 0; i < values.size(); i += scale.size()) {
        for (std::size_t m = 0; m < scale.size(); ++m) values[i + m] *= scale[m];
    }
}

/// The values of one constant as f32 in its own layout, without a copy where they lie so and aligned.
std::span<const float> source_values(const Constant& constant, std::vector<float>& buffer) {
    const auto count = static_cast<std::size_t>(elem_count(constant.shape));
    const bool aligned = reinterpret_cast<std::uintptr_t>(constant.bytes.data()) % alignof(float) == 0;
    if (constant.type == type_float && !constant.splat && aligned)
        return {reinterpret_cast<const float*>(constant.bytes.data()), count};
    buffer.resize(count);
    read_f32(constant, 0, buffer);
    return buffer;
}

}  // namespace

std::span<const std::byte> weight_bytes(const Value& weight, std::vector<float>& buffer) {
    const Constant& constant = weight.constant;
    if (constant.type == type_float && !constant.splat && weight.perm.empty() && weight.scale == nullptr) return constant.bytes;
    thread_local std::vector<float> unpermuted;
    const auto count = static_cast<std::size_t>(elem_count(weight.shape));
    if (weight.perm.empty() || constant.splat) {
        buffer.resize(count);
        read_f32(constant, 0, buffer);
    } else if (weight.perm.back() == 0 && count > 0) {
        const auto source = source_values(constant, unpermuted);
        buffer.resize(count);
        transpose_rows(source.data(), constant.shape, weight.perm, buffer.data());
    } else {
        const Constant moved = permuted(constant, weight.perm);
        buffer.resize(count);
        read_f32(moved, 0, buffer);
    }
    if (weight.scale != nullptr) scale_last_axis(buffer, *weight.scale);
    return std::as_bytes(std::span<const float>(buffer));
}

namespace {

/// The weights that the steps name, in order of first use.
std::vector<ValueId> used_weights(const Network& network) {
    std::vector<bool> seen(network.values.size(), false);
    std::vector<ValueId> weights;
    for (const Step& step : network.steps) {
        for (const ValueId input : step.inputs) {
            if (input.is_none() || !network[input].is_constant || seen[input.index()]) continue;
            seen[input.index()] = true;
            weights.push_back(input);
        }
    }
    return weights;
}

std::vector<Hash128> store_weights(const Network& network, std::span<const ValueId> weights, unsigned threads,
                                   const BlobSink& sink) {
    std::vector<Hash128> hashes(weights.size());
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
        std::vector<float> buffer;
        try {
            for (std::size_t i = next++; i < weights.size(); i = next++)
                hashes[i] = sink(weight_bytes(network[weights[i]], buffer));
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            next = weights.size();
        }
    };
    std::vector<std::thread> helpers;
    for (std::size_t t = 1; t < std::min<std::size_t>(threads, weights.size()); ++t) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
    return hashes;
}

class Emitter {
public:
    explicit Emitter(const Network& network) : network_(network), tensor_of_(network.values.size(), no_id) {}

    GraphColumns run(std::span<const ValueId> weights, std::span<const Hash128> hashes) {
        std::vector<Hash128> hash_of(network_.values.size());
        for (std::size_t i = 0; i < weights.size(); ++i) hash_of[weights[i].index()] = hashes[i];
        for (const ValueId input : network_.inputs)
            graph_.inputs.push_back(add_tensor(input, TensorRole::Input, network_[input].type));
        for (const Step& step : network_.steps) {
            for (const ValueId input : step.inputs) {
                if (!input.is_none() && network_[input].is_constant) add_weight(input, hash_of[input.index()]);
            }
            add_tensor(step.output, TensorRole::Activation, type_float);
            add_step(step);
        }
        for (std::size_t i = 0; i < network_.outputs.size(); ++i) {
            const std::uint32_t tensor = tensor_of_[network_.outputs[i].index()];
            WEFT_CHECK(tensor != no_id);
            graph_.tensors[tensor].role = static_cast<std::uint32_t>(TensorRole::Output);
            graph_.tensors[tensor].onnx_type = static_cast<std::uint32_t>(network_.output_types[i]);
            graph_.outputs.push_back(tensor);
        }
        return std::move(graph_);
    }

private:
    std::uint32_t add_tensor(ValueId id, TensorRole role, std::int32_t type) {
        const Value& value = network_[id];
        GraphTensor row;
        row.name = pool_append(graph_.name_pool, value.name);
        row.first_dim = narrow<std::uint32_t>(graph_.dims.size());
        row.rank = static_cast<std::uint32_t>(value.shape.size());
        row.role = static_cast<std::uint32_t>(role);
        row.onnx_type = static_cast<std::uint32_t>(type);
        row.blob = no_id;
        for (const std::int64_t dim : value.shape) graph_.dims.push_back(narrow<std::uint32_t>(dim));
        tensor_of_[id.index()] = narrow<std::uint32_t>(graph_.tensors.size());
        graph_.tensors.push_back(row);
        return tensor_of_[id.index()];
    }

    void add_weight(ValueId id, Hash128 hash) {
        if (tensor_of_[id.index()] != no_id) return;
        const std::uint32_t tensor = add_tensor(id, TensorRole::Weight, network_[id].constant.type);
        const auto [row, is_new] = blob_rows_.try_emplace(hash, narrow<std::uint32_t>(graph_.blobs.size()));
        if (is_new)
            graph_.blobs.push_back(
                {hash.high, hash.low, static_cast<std::uint64_t>(elem_count(network_[id].shape)) * sizeof(float)});
        graph_.tensors[tensor].blob = row->second;
    }

    void add_step(const Step& step) {
        GraphNode row;
        row.name = pool_append(graph_.name_pool, step.name);
        row.kind = static_cast<std::uint32_t>(step.kind);
        row.first_input = narrow<std::uint32_t>(graph_.operands.size());
        row.input_count = static_cast<std::uint32_t>(step.inputs.size());
        for (const ValueId input : step.inputs) graph_.operands.push_back(input.is_none() ? no_id : tensor_of_[input.index()]);
        row.first_output = narrow<std::uint32_t>(graph_.operands.size());
        row.output_count = 1;
        graph_.operands.push_back(tensor_of_[step.output.index()]);
        row.first_attribute = narrow<std::uint32_t>(graph_.attributes.size());
        row.attribute_count = static_cast<std::uint32_t>(step.attributes.size());
        for (const StepAttribute& attribute : step.attributes) {
            const bool integers = attribute.floats.empty();
            const std::size_t first = integers ? graph_.ints.size() : graph_.floats.size();
            const std::size_t count = integers ? attribute.ints.size() : attribute.floats.size();
            graph_.attributes.push_back(
                {static_cast<std::uint32_t>(attribute.key), narrow<std::uint32_t>(first), narrow<std::uint32_t>(count)});
            graph_.ints.insert(graph_.ints.end(), attribute.ints.begin(), attribute.ints.end());
            graph_.floats.insert(graph_.floats.end(), attribute.floats.begin(), attribute.floats.end());
        }
        graph_.nodes.push_back(row);
    }

    const Network& network_;
    std::vector<std::uint32_t> tensor_of_;
    std::map<Hash128, std::uint32_t> blob_rows_;
    GraphColumns graph_;
};

}  // namespace

GraphColumns emit_graph(const Network& network, unsigned threads, const BlobSink& sink) {
    const auto weights = used_weights(network);
    const auto hashes = store_weights(network, weights, threads, sink);
    return Emitter(network).run(weights, hashes);
}

}  // namespace weft::frontend
