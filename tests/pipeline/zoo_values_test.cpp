#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "frontend/frontend.h"
#include "reference/executor.h"
#include "zoo/networks.h"

using namespace weft;

namespace {

/// A zoo network as a canonical graph, its weights in a folder that goes with the object.
struct ImportedNetwork {
    explicit ImportedNetwork(const onnx::ModelProto& model)
        : folder(std::filesystem::temp_directory_path() / ("weft-zoo-values-" + std::to_string(::getpid()))), store(folder) {
        const std::string bytes = model.SerializeAsString();
        imported = frontend::import_model(std::as_bytes(std::span(bytes)), {}, [&](std::span<const std::byte> raw) { return store.put(raw); });
    }
    ~ImportedNetwork() {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }
    ImportedNetwork(const ImportedNetwork&) = delete;
    ImportedNetwork& operator=(const ImportedNetwork&) = delete;

    /// The values of every tensor for the random input of `seed`.
    void run(std::uint64_t seed, std::vector<HostTensor>& values) const {
        const Graph graph = view(imported.graph);
        const auto dims = tensor_dims(graph, TensorId{graph.inputs[0]});
        HostTensor input{{dims.begin(), dims.end()}, std::vector<float>(elem_count(dims))};
        Random random(seed);
        for (float& x : input.values) x = static_cast<float>(static_cast<double>(bell(random)) / bell_deviation);
        static_cast<void>(run_graph(graph, store, std::span(&input, 1), values));
    }

    std::filesystem::path folder;
    BlobStore store;
    frontend::ImportedModel imported;
};

double root_mean_square(std::span<const float> values) {
    double sum = 0;
    for (const float x : values) sum += double{x} * x;
    return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

TEST_CASE("activations of every zoo network neither vanish nor explode, and every output depends on the input") {
    for (const zoo::Network& network : zoo::networks()) {
        CAPTURE(network.name);
        const std::int64_t size = network.name == "mlp" ? 28 : network.name == "alexnet" ? 96 : 64;
        const ImportedNetwork imported(zoo::build_network(network.name, {.size = size, .classes = 10, .hidden = 256}));
        const Graph graph = view(imported.imported.graph);
        std::vector<HostTensor> values;
        imported.run(1, values);
        for (std::size_t tensor = 0; tensor < values.size(); ++tensor) {
            if (graph.tensors[tensor].role == static_cast<std::uint32_t>(TensorRole::Weight)) continue;
            const double scale = root_mean_square(values[tensor].values);
            CAPTURE(pool_text(graph.name_pool, graph.tensors[tensor].name));
            CHECK(scale > 0.05);
            CHECK(scale < 20);
        }
        const std::vector<float> first = values[graph.outputs[0]].values;
        std::vector<float> spread(first.size(), 0.0F);
        for (const std::uint64_t seed : {2, 3, 4}) {
            imported.run(seed, values);
            const std::vector<float>& other = values[graph.outputs[0]].values;
            REQUIRE(first.size() == other.size());
            for (std::size_t i = 0; i < first.size(); ++i) spread[i] = std::max(spread[i], std::abs(first[i] - other[i]));
        }
        // Ten times the tolerance of the end-to-end tests, which could not tell inputs apart otherwise.
        CHECK(*std::min_element(spread.begin(), spread.end()) > 1e-3 * root_mean_square(first));
    }
}
