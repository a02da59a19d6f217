#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "artifact/graph.h"
#include "artifact/program.h"
#include "reference/executor.h"
#include "reference/npy.h"
#include "zoo/random.h"

// Values for the end-to-end tests: random inputs, the reference executor's outputs, comparison. See run_network.sh.

namespace {

using namespace weft;
using Path = std::filesystem::path;

constexpr const char* usage = R"(usage:
  pipeline_values inputs NET.graph COUNT DIR KIND         random inputs; KIND: normal, pixels (0 to 255)
  pipeline_values reference NET.graph BLOBS IN OUT COUNT  what weft's reference executor makes of up to COUNT inputs in IN
  pipeline_values compare ACTUAL EXPECTED LIMIT COUNT     outputs of up to COUNT inferences, relative to the output's scale
  pipeline_values depth NET.prog                          rounds between an input and its last output
Folders hold inference_<k>/input_<i>.npy and inference_<k>/output_<j>.npy, as weft-simulate writes them.
)";

Path input_file(const Path& folder, std::size_t inference, std::size_t index) {
    return folder / fmt::format("inference_{}/input_{}.npy", inference, index);
}

Path output_file(const Path& folder, std::size_t inference, std::size_t index) {
    return folder / fmt::format("inference_{}/output_{}.npy", inference, index);
}

void write_tensor(const Path& file, const HostTensor& tensor) {
    std::filesystem::create_directories(file.parent_path());
    write_npy(file, tensor);
}

/// Almost normal values of unit variance, or whole numbers from 0 to 255; the latter always where the model's input is of an
/// integer type.
HostTensor random_input(const Graph& graph, TensorId tensor, bool pixels, Random& random) {
    const auto dims = tensor_dims(graph, tensor);
    const std::uint32_t type = graph.tensors[tensor.index()].onnx_type;
    const bool is_normal = !pixels && (type == 1 || type == 10 || type == 11);
    HostTensor value{{dims.begin(), dims.end()}, std::vector<float>(elem_count(dims))};
    for (float& x : value.values) {
        x = is_normal ? static_cast<float>(static_cast<double>(bell(random)) / bell_deviation) : static_cast<float>(uniform(random) & 255U);
    }
    return value;
}

void write_inputs(const Path& graph_path, std::size_t count, const Path& folder, bool pixels) {
    const Artifact<Graph> graph(graph_path);
    for (std::size_t inference = 0; inference < count; ++inference) {
        Random random(inference + 1);
        for (std::size_t i = 0; i < graph->inputs.size(); ++i) {
            write_tensor(input_file(folder, inference, i), random_input(*graph, TensorId{graph->inputs[i]}, pixels, random));
        }
    }
}

void run_reference(const Path& graph_path, const Path& blobs, const Path& in, const Path& out, std::size_t limit) {
    const Artifact<Graph> graph(graph_path);
    const BlobStore store(blobs);
    std::vector<HostTensor> values;
    for (std::size_t inference = 0; inference < limit && std::filesystem::exists(input_file(in, inference, 0)); ++inference) {
        std::vector<HostTensor> inputs;
        for (std::size_t i = 0; i < graph->inputs.size(); ++i) {
            inputs.push_back(read_npy(input_file(in, inference, i)));
            // The model may leave a dimension open that the graph has fixed; the number of elements decides.
            const auto dims = tensor_dims(*graph, TensorId{graph->inputs[i]});
            if (inputs.back().values.size() == elem_count(dims)) inputs.back().dims.assign(dims.begin(), dims.end());
        }
        const auto outputs = run_graph(*graph, store, inputs, values);
        for (std::size_t j = 0; j < outputs.size(); ++j) write_tensor(output_file(out, inference, j), outputs[j]);
    }
}

int compare(const Path& actual, const Path& expected, double allowed, std::size_t limit) {
    double worst = 0;
    std::size_t count = 0;
    for (std::size_t inference = 0; inference < limit && std::filesystem::exists(output_file(expected, inference, 0)); ++inference) {
        for (std::size_t j = 0; std::filesystem::exists(output_file(expected, inference, j)); ++j, ++count) {
            const HostTensor made = read_npy(output_file(actual, inference, j));
            const double error = relative_error(made.values, read_npy(output_file(expected, inference, j)).values);
            if (!(error <= allowed)) fmt::print("  output {} of inference {} differs by {:.3g}\n", j, inference, error);
            worst = std::max(worst, error);
        }
    }
    const bool right = count > 0 && worst <= allowed;
    fmt::print("{} tensors, largest difference {:.3g}, allowed {:.3g}: {}\n", count, worst, allowed, right ? "right" : "WRONG");
    return right ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
    const std::string command = words.empty() ? "" : words[0];
    if (command == "inputs" && words.size() == 5) {
        return write_inputs(words[1], std::stoul(words[2]), words[3], words[4] == "pixels"), 0;
    }
    if (command == "reference" && words.size() == 6) {
        return run_reference(words[1], words[2], words[3], words[4], std::stoul(words[5])), 0;
    }
    if (command == "compare" && words.size() == 5) return compare(words[1], words[2], std::stod(words[3]), std::stoul(words[4]));
    if (command == "depth" && words.size() == 2) return fmt::print("{}\n", Artifact<Program>(words[1])->depth), 0;
    fmt::print(stderr, "{}", usage);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const Failure& failure) {
        fmt::print(stderr, "pipeline_values: {}\n", failure.what());
        return static_cast<int>(failure.status());
    }
}
