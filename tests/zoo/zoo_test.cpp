#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "artifact/hash.h"
#include "base/failure.h"
#include "zoo/networks.h"

using namespace weft;

namespace {

std::string bytes_of(std::string_view name, const zoo::NetworkOptions& options) {
    return zoo::build_network(name, options).SerializeAsString();
}

std::vector<std::int64_t> output_dims(const onnx::ModelProto& model) {
    std::vector<std::int64_t> dims;
    for (const auto& dim : model.graph().output(0).type().tensor_type().shape().dim()) dims.push_back(dim.dim_value());
    return dims;
}

}  // namespace

TEST_CASE("parameter counts are the published ones") {
    // torchvision's model pages; shufflenet: the Imgclsmob collection's shufflenet_g3_w1; lenet and mlp by hand:
    // 156 + 2416 + 48120 + 10164 + 850 and 785 x 512 + 513 x 256 + 257 x 10.
    const std::map<std::string, std::int64_t> published = {
        {"lenet", 61'706},          {"mlp", 535'818},          {"alexnet", 61'100'840},    {"vgg16", 138'357'544},
        {"squeezenet1_1", 1'235'496}, {"resnet18", 11'689'512}, {"resnet50", 25'557'032},   {"googlenet", 6'624'904},
        {"mobilenetv2", 3'504'872}, {"shufflenet", 1'865'728},
    };
    for (const auto& row : published) {
        CAPTURE(row.first);
        CHECK(zoo::parameter_count(zoo::build_network(row.first, {})) == row.second);
    }
}

TEST_CASE("every network ends in the shape that size and classes say") {
    for (const zoo::Network& network : zoo::networks()) {
        CAPTURE(network.name);
        const auto usual = output_dims(zoo::build_network(network.name, {.hidden = 16}));
        const auto small = output_dims(zoo::build_network(network.name, {.size = 32, .classes = 7, .hidden = 16, .softmax = true}));
        if (network.name == "unet") {
            CHECK(usual == std::vector<std::int64_t>{1, 2, 64, 64});
            CHECK(small == std::vector<std::int64_t>{1, 7, 32, 32});
        } else {
            CHECK(usual == std::vector<std::int64_t>{1, network.classes});
            CHECK(small == std::vector<std::int64_t>{1, 7});
        }
    }
}

TEST_CASE("every node reads what exists, and every value and weight is read") {
    for (const zoo::Network& network : zoo::networks()) {
        CAPTURE(network.name);
        const onnx::ModelProto model = zoo::build_network(network.name, {.size = 32, .classes = 7, .hidden = 16});
        std::set<std::string> known = {model.graph().input(0).name()};
        std::set<std::string> read = {"output"};
        std::set<std::string> nodes;
        for (const auto& tensor : model.graph().initializer()) CHECK(known.insert(tensor.name()).second);
        for (const auto& node : model.graph().node()) {
            CHECK(nodes.insert(node.name()).second);
            for (const auto& input : node.input()) {
                CHECK_MESSAGE(known.contains(input), input);
                read.insert(input);
            }
            CHECK(known.insert(node.output(0)).second);
        }
        CHECK(known == read);
    }
}

TEST_CASE("the bytes follow from name, options and seed") {
    const zoo::NetworkOptions options = {.seed = 3, .size = 32, .classes = 10};
    CHECK(bytes_of("squeezenet1_1", options) == bytes_of("squeezenet1_1", options));
    CHECK(bytes_of("squeezenet1_1", options) != bytes_of("squeezenet1_1", {.seed = 4, .size = 32, .classes = 10}));
    // Recorded: other compilers, libraries and machines must write the same.
    const std::string lenet = bytes_of("lenet", {});
    CHECK(to_hex(hash_bytes(std::as_bytes(std::span(lenet)))) == "f703228b926bc0bd39130f64840fbc12");
}

TEST_CASE("unknown networks and impossible sizes are refused") {
    CHECK_THROWS_AS(static_cast<void>(zoo::build_network("resnet19", {})), Failure);
    CHECK_THROWS_AS(static_cast<void>(zoo::build_network("lenet", {.size = 4})), Failure);
    CHECK_THROWS_AS(static_cast<void>(zoo::build_network("unet", {.size = 30})), Failure);
}
