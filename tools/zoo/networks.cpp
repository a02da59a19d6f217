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

constexpr std::int64_t block_operator_set = 17;   // the first with LayerNormalization

constexpr Network block_table[] = {
    {"siglip-mlp", "SigLIP-so400m/14 at 384, MLP 1152-4608-1152 as calibrated (--hidden 4304: as published)", 729, 1, siglip_mlp},
    {"siglip-attention", "SigLIP-so400m/14 at 384, attention block of 16 heads", 729, 1, siglip_attention},
    {"bert-block", "Devlin et al. 2019, one layer of BERT base", 384, 1, bert_block},
    {"gpt2-block", "Radford et al. 2019, one layer of GPT-2 without its causal mask", 1024, 1, gpt2_block},
    {"vit-block", "Dosovitskiy et al. 2021, one layer of ViT-B/16 at 224", 197, 1, vit_block},
    {"mixer-block", "Tolstikhin et al. 2021, one layer of Mixer-B/16 at 224", 196, 1, mixer_block},
    {"efficient-attention", "Shen et al. 2021, efficient attention block at the sizes of ViT-B/16", 197, 1, efficient_attention},
};

}  // namespace

std::span<const Network> networks() { return table; }
std::span<const Network> blocks() { return block_table; }

onnx::ModelProto build_network(std::string_view name, NetworkOptions options) {
    const auto named = [&](const Network& row) { return row.name == name; };
    const auto* network = std::find_if(std::begin(table), std::end(table), named);
    const auto* block = std::find_if(std::begin(block_table), std::end(block_table), named);
    if (block != std::end(block_table)) {
        if (options.size == 0) options.size = block->size;
        Builder builder(name, options.seed, block_operator_set);
        builder.output(block->build(builder, options));
        return builder.take();
    }
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
