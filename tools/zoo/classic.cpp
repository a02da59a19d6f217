#include "zoo/networks.h"

// Plain sequences: LeNet-5, the perceptron, AlexNet, VGG-16, SqueezeNet 1.1.
namespace weft::zoo {
namespace {

/// flatten, then Dropout-Linear-Relu twice and the classes: the head of AlexNet and VGG.
Value dense_head(Builder& b, Value x, const NetworkOptions& options, const std::string& first, const std::string& second) {
    x = b.dropout(b.flatten(x));
    x = b.relu(b.linear(x, "classifier." + first, options.hidden));
    x = b.relu(b.linear(b.dropout(x), "classifier." + second, options.hidden));
    return b.linear(x, "classifier.6", options.classes);
}

Value fire(Builder& b, const Value& x, const std::string& name, std::int64_t squeezed, std::int64_t expanded) {
    const Value small = b.relu(b.conv(x, name + ".squeeze", {.outputs = squeezed, .bias = true}));
    const Value parts[] = {
        b.relu(b.conv(small, name + ".expand1x1", {.outputs = expanded, .bias = true})),
        b.relu(b.conv(small, name + ".expand3x3", {.outputs = expanded, .kernel = 3, .pad = 1, .bias = true})),
    };
    return b.concat(parts);
}

}  // namespace

Value lenet(Builder& b, const NetworkOptions& options) {
    Value x = b.input("input", {1, 1, options.size, options.size});
    x = b.max_pool(b.relu(b.conv(x, "conv1", {.outputs = 6, .kernel = 5, .bias = true})), {.kernel = 2, .stride = 2});
    x = b.max_pool(b.relu(b.conv(x, "conv2", {.outputs = 16, .kernel = 5, .bias = true})), {.kernel = 2, .stride = 2});
    x = b.relu(b.linear(b.flatten(x), "fc1", 120));
    x = b.relu(b.linear(x, "fc2", 84));
    return b.linear(x, "fc3", options.classes);
}

Value mlp(Builder& b, const NetworkOptions& options) {
    Value x = b.input("input", {1, options.size * options.size});
    x = b.relu(b.linear(x, "fc1", 512));
    x = b.relu(b.linear(x, "fc2", 256));
    return b.linear(x, "fc3", options.classes);
}

Value alexnet(Builder& b, const NetworkOptions& options) {
    constexpr Pool pool = {.kernel = 3, .stride = 2};
    Value x = b.input("input", {1, 3, options.size, options.size});
    x = b.max_pool(b.relu(b.conv(x, "features.0", {.outputs = 64, .kernel = 11, .stride = 4, .pad = 2, .bias = true})), pool);
    x = b.max_pool(b.relu(b.conv(x, "features.3", {.outputs = 192, .kernel = 5, .pad = 2, .bias = true})), pool);
    x = b.relu(b.conv(x, "features.6", {.outputs = 384, .kernel = 3, .pad = 1, .bias = true}));
    x = b.relu(b.conv(x, "features.8", {.outputs = 256, .kernel = 3, .pad = 1, .bias = true}));
    x = b.max_pool(b.relu(b.conv(x, "features.10", {.outputs = 256, .kernel = 3, .pad = 1, .bias = true})), pool);
    return dense_head(b, x, options, "1", "4");
}

Value vgg16(Builder& b, const NetworkOptions& options) {
    constexpr std::int64_t pooled = 0;
    constexpr std::int64_t layers[] = {64, 64, pooled, 128, 128, pooled, 256, 256, 256, pooled, 512, 512, 512, pooled, 512, 512, 512, pooled};
    Value x = b.input("input", {1, 3, options.size, options.size});
    int index = 0;   // torchvision numbers the Relus and pools too
    for (const std::int64_t outputs : layers) {
        if (outputs == pooled) {
            x = b.max_pool(x, {.kernel = 2, .stride = 2});
            index += 1;
        } else {
            x = b.relu(b.conv(x, "features." + std::to_string(index), {.outputs = outputs, .kernel = 3, .pad = 1, .bias = true}));
            index += 2;
        }
    }
    return dense_head(b, x, options, "0", "3");
}

Value squeezenet1_1(Builder& b, const NetworkOptions& options) {
    constexpr Pool pool = {.kernel = 3, .stride = 2, .ceil_mode = true};
    Value x = b.input("input", {1, 3, options.size, options.size});
    x = b.max_pool(b.relu(b.conv(x, "features.0", {.outputs = 64, .kernel = 3, .stride = 2, .bias = true})), pool);
    x = fire(b, x, "features.3", 16, 64);
    x = b.max_pool(fire(b, x, "features.4", 16, 64), pool);
    x = fire(b, x, "features.6", 32, 128);
    x = b.max_pool(fire(b, x, "features.7", 32, 128), pool);
    x = fire(b, x, "features.9", 48, 192);
    x = fire(b, x, "features.10", 48, 192);
    x = fire(b, x, "features.11", 64, 256);
    x = b.dropout(fire(b, x, "features.12", 64, 256));
    // The raised bias keeps the last Relu open for most classes: every score should depend on the input.
    x = b.relu(b.conv(x, "classifier.1", {.outputs = options.classes, .bias = true, .bias_mean = 1.0}));
    return b.flatten(b.global_average_pool(x));
}

}  // namespace weft::zoo
