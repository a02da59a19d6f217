#include "zoo/networks.h"

#include <algorithm>

#include "base/failure.h"

namespace weft::zoo {
namespace {

constexpr Network table[] = {
    {"lenet", "LeCun et al. 1998 (LeNet-5 with full connections, Relu and max pooling)", 32, 10, lenet},
    {"mlp", "784-512-256-10 perceptron for 28 x 28 images", 28, 10, mlp},
    {"alexnet", "Krizhevsky 2014, as torchvision", 224, 1000, alexnet},
    {"vgg16", "Simonyan and Zisserman 2015, configuration D, as torchvision", 224, 1000, vgg16},
    {"squeezenet1_1", "Iandola et al. 2016, version 1.1, as torchvision", 224, 1000, squeezenet1_1},
    {"resnet18", "He et al. 2016, as torchvision", 224, 1000, resnet18},
    {"resnet50", "He et al. 2016 with the stride in the 3 x 3 convolution, as torchvision", 224, 1000, resnet50},
    {"googlenet", "Szegedy et al. 2015 with batch normalisation and without LRN, as torchvision without auxiliary heads", 224, 1000, googlenet},
    {"mobilenetv2", "Sandler et al. 2018, width 1.0, as torchvision", 224, 1000, mobilenetv2},
    {"shufflenet", "Zhang et al. 2018, version 1, three groups, width 1.0", 224, 1000, shufflenet},
    {"unet", "after Ronneberger et al. 2015: three levels from 16 channels, padded and batch-normalised", 64, 2, unet},
};

}  // namespace

std::span<const Network> networks() { return table; }

onnx::ModelProto build_network(std::string_view name, NetworkOptions options) {
    const auto* network = std::find_if(std::begin(table), std::end(table), [&](const Network& row) { return row.name == name; });
    if (network == std::end(table)) refuse("there is no network '{}' in the zoo; weft-zoo --list names them", name);
    if (options.size == 0) options.size = network->size;
    if (options.classes == 0) options.classes = network->classes;
    Builder builder(name, options.seed);
    Value scores = network->build(builder, options);
    if (options.softmax) scores = builder.softmax(scores);
    builder.output(scores);
    return builder.take();
}

std::int64_t parameter_count(const onnx::ModelProto& model) {
    std::int64_t count = 0;
    for (const onnx::TensorProto& tensor : model.graph().initializer()) {
        const std::string_view name = tensor.name();
        if (!name.ends_with(".weight") && !name.ends_with(".bias")) continue;
        std::int64_t elements = 1;
        for (const std::int64_t dim : tensor.dims()) elements *= dim;
        count += elements;
    }
    return count;
}

}  // namespace weft::zoo
