#pragma once

#include <filesystem>
#include <string>
#include <unistd.h>

#include "reference/executor.h"

namespace weft::testing {

/// Makes small graphs by hand, one node at a time; weights go to a blob store in a folder that is removed with the object.
class GraphMaker {
public:
    struct Attribute {
        AttributeKey key;
        std::vector<std::int32_t> ints{};
        std::vector<float> floats{};
    };

    GraphMaker() : folder_(make_folder()), store(folder_) { columns.name_pool.push_back(0); }
    ~GraphMaker() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    GraphMaker(const GraphMaker&) = delete;
    GraphMaker& operator=(const GraphMaker&) = delete;

    std::uint32_t input(const std::vector<std::uint32_t>& dims) {
        columns.inputs.push_back(tensor(dims, TensorRole::Input, no_id));
        return columns.inputs.back();
    }

    std::uint32_t weight(const HostTensor& value) {
        const Hash128 hash = store.put(std::as_bytes(std::span(value.values)));
        columns.blobs.push_back({hash.high, hash.low, value.values.size() * sizeof(float)});
        return tensor(value.dims, TensorRole::Weight, static_cast<std::uint32_t>(columns.blobs.size() - 1));
    }

    std::uint32_t node(OperatorKind kind, const std::vector<std::uint32_t>& inputs, const std::vector<std::uint32_t>& dims,
                       const std::vector<Attribute>& attributes = {}) {
        GraphNode row{};
        row.name = pool_append(columns.name_pool, "node" + std::to_string(columns.nodes.size()));
        row.kind = static_cast<std::uint32_t>(kind);
        row.first_input = size_of(columns.operands);
        row.input_count = size_of(inputs);
        columns.operands.insert(columns.operands.end(), inputs.begin(), inputs.end());
        row.first_output = size_of(columns.operands);
        row.output_count = 1;
        row.first_attribute = size_of(columns.attributes);
        row.attribute_count = size_of(attributes);
        for (const Attribute& attribute : attributes) {
            const bool is_float = !attribute.floats.empty();
            columns.attributes.push_back({static_cast<std::uint32_t>(attribute.key),
                                          is_float ? size_of(columns.floats) : size_of(columns.ints),
                                          is_float ? size_of(attribute.floats) : size_of(attribute.ints)});
            columns.ints.insert(columns.ints.end(), attribute.ints.begin(), attribute.ints.end());
            columns.floats.insert(columns.floats.end(), attribute.floats.begin(), attribute.floats.end());
        }
        const std::uint32_t result = tensor(dims, TensorRole::Activation, no_id);
        columns.operands.push_back(result);
        columns.nodes.push_back(row);
        return result;
    }

    /// The values of `output` on `inputs`.
    std::vector<float> run(std::uint32_t output, const std::vector<HostTensor>& inputs) {
        columns.outputs = {output};
        std::vector<HostTensor> values;
        return run_graph(view(columns), store, inputs, values).front().values;
    }

private:
    template <class T>
    static std::uint32_t size_of(const std::vector<T>& column) {
        return static_cast<std::uint32_t>(column.size());
    }

    static std::filesystem::path make_folder() {
        static int count = 0;
        return std::filesystem::temp_directory_path() / ("weft-reference-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    }

    std::uint32_t tensor(const std::vector<std::uint32_t>& dims, TensorRole role, std::uint32_t blob) {
        GraphTensor row{};
        row.name = pool_append(columns.name_pool, "tensor" + std::to_string(columns.tensors.size()));
        row.first_dim = size_of(columns.dims);
        row.rank = size_of(dims);
        row.role = static_cast<std::uint32_t>(role);
        row.onnx_type = 1;
        row.blob = blob;
        columns.dims.insert(columns.dims.end(), dims.begin(), dims.end());
        columns.tensors.push_back(row);
        return size_of(columns.tensors) - 1;
    }

    std::filesystem::path folder_;

public:
    GraphColumns columns;
    BlobStore store;
};

}  // namespace weft::testing
