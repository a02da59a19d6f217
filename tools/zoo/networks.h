#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "zoo/builder.h"

namespace weft::zoo {

struct NetworkOptions {
    std::uint64_t seed = 1;
    std::int64_t size = 0;       ///< rows and columns of the input image; 0: the network's usual size
    std::int64_t classes = 0;    ///< 0: the usual number
    std::int64_t hidden = 4096;  ///< units of the hidden fully connected layers of alexnet and vgg16
    bool softmax = false;        ///< end in a Softmax over the classes
    std::int64_t batch = 1;      ///< transformer blocks only
};

/// One network of the zoo.
struct Network {
    std::string_view name;
    std::string_view source;     ///< whose definition it follows
    std::int64_t size;           ///< usual input size
    std::int64_t classes;        ///< usual number of classes
    /// Adds everything up to the class scores. `options` has no zeros left.
    Value (*build)(Builder& builder, const NetworkOptions& options);
};

[[nodiscard]] std::span<const Network> networks();
/// Blocks of transformers; `size` is the number of rows (tokens), classes are not used.
[[nodiscard]] std::span<const Network> blocks();

/// The whole model. Throws Failure(refused) for an unknown name or a size too small for the network.
[[nodiscard]] onnx::ModelProto build_network(std::string_view name, NetworkOptions options);

/// Trainable parameters: weights, biases, and scale and offset of batch normalisation, but not its statistics.
[[nodiscard]] std::int64_t parameter_count(const onnx::ModelProto& model);

Value lenet(Builder& builder, const NetworkOptions& options);
Value mlp(Builder& builder, const NetworkOptions& options);
Value alexnet(Builder& builder, const NetworkOptions& options);
Value vgg16(Builder& builder, const NetworkOptions& options);
Value squeezenet1_1(Builder& builder, const NetworkOptions& options);
Value resnet18(Builder& builder, const NetworkOptions& options);
Value resnet50(Builder& builder, const NetworkOptions& options);
Value googlenet(Builder& builder, const NetworkOptions& options);
Value mobilenetv2(Builder& builder, const NetworkOptions& options);
Value shufflenet(Builder& builder, const NetworkOptions& options);
Value unet(Builder& builder, const NetworkOptions& options);
Value siglip_mlp(Builder& builder, const NetworkOptions& options);
Value siglip_attention(Builder& builder, const NetworkOptions& options);
Value bert_block(Builder& builder, const NetworkOptions& options);
Value gpt2_block(Builder& builder, const NetworkOptions& options);
Value vit_block(Builder& builder, const NetworkOptions& options);
Value mixer_block(Builder& builder, const NetworkOptions& options);
Value efficient_attention(Builder& builder, const NetworkOptions& options);

}  // namespace weft::zoo
