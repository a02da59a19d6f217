#include "zoo/networks.h"

// ResNet-18 (two 3 x 3 convolutions per block) and ResNet-50 (bottlenecks).
namespace weft::zoo {
namespace {

/// Keeps sums of branches near unit variance through sixteen blocks.
constexpr BatchNorm branch_end = {.scale = 0.5};

Value normalized_conv(Builder& b, const Value& x, const std::string& prefix, const std::string& suffix, const Conv& shape,
                      const BatchNorm& norm = {}) {
    return b.batch_norm(b.conv(x, prefix + ".conv" + suffix, shape), prefix + ".bn" + suffix, norm);
}

Value shortcut(Builder& b, const Value& x, const std::string& name, std::int64_t outputs, std::int64_t stride) {
    if (stride == 1 && x.channels() == outputs) return x;
    return b.batch_norm(b.conv(x, name + ".downsample.0", {.outputs = outputs, .stride = stride}), name + ".downsample.1");
}

Value basic_block(Builder& b, const Value& x, const std::string& name, std::int64_t width, std::int64_t stride) {
    Value y = b.relu(normalized_conv(b, x, name, "1", {.outputs = width, .kernel = 3, .stride = stride, .pad = 1}));
    y = normalized_conv(b, y, name, "2", {.outputs = width, .kernel = 3, .pad = 1}, branch_end);
    return b.relu(b.add(y, shortcut(b, x, name, width, stride)));
}

Value bottleneck(Builder& b, const Value& x, const std::string& name, std::int64_t width, std::int64_t stride) {
    constexpr std::int64_t expansion = 4;
    Value y = b.relu(normalized_conv(b, x, name, "1", {.outputs = width}));
    y = b.relu(normalized_conv(b, y, name, "2", {.outputs = width, .kernel = 3, .stride = stride, .pad = 1}));
    y = normalized_conv(b, y, name, "3", {.outputs = width * expansion}, branch_end);
    return b.relu(b.add(y, shortcut(b, x, name, width * expansion, stride)));
}

using Block = Value (*)(Builder&, const Value&, const std::string&, std::int64_t, std::int64_t);

Value resnet(Builder& b, const NetworkOptions& options, Block block, std::span<const int> depths) {
    Value x = b.input("input", {1, 3, options.size, options.size});
    x = b.relu(b.batch_norm(b.conv(x, "conv1", {.outputs = 64, .kernel = 7, .stride = 2, .pad = 3}), "bn1"));
    x = b.max_pool(x, {.kernel = 3, .stride = 2, .pad = 1});
    std::int64_t width = 64;
    for (std::size_t stage = 0; stage < depths.size(); ++stage, width *= 2) {
        for (int index = 0; index < depths[stage]; ++index) {
            const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(index);
            x = block(b, x, name, width, stage > 0 && index == 0 ? 2 : 1);
        }
    }
    return b.linear(b.flatten(b.global_average_pool(x)), "fc", options.classes);
}

}  // namespace

Value resnet18(Builder& b, const NetworkOptions& options) {
    constexpr int depths[] = {2, 2, 2, 2};
    return resnet(b, options, basic_block, depths);
}

Value resnet50(Builder& b, const NetworkOptions& options) {
    constexpr int depths[] = {3, 4, 6, 3};
    return resnet(b, options, bottleneck, depths);
}

}  // namespace weft::zoo
