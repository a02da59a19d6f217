#include "base/failure.h"
#include "zoo/networks.h"

// Networks of parallel branches that are concatenated: GoogLeNet and the U-Net.
namespace weft::zoo {
namespace {

Value unit(Builder& b, const Value& x, const std::string& name, const Conv& shape) {
    return b.relu(b.batch_norm(b.conv(x, name + ".conv", shape), name + ".bn", {.epsilon = 1e-3F}));
}

struct Inception {
    std::string_view name;
    std::int64_t one, three_reduced, three, five_reduced, five, projected;
};

// Szegedy et al., table 1. The "5 x 5" branch has a 3 x 3 kernel, as in torchvision, whose parameter count is the published one.
Value inception(Builder& b, const Value& x, const Inception& row) {
    const std::string name = "inception" + std::string(row.name);
    const Value parts[] = {
        unit(b, x, name + ".branch1", {.outputs = row.one}),
        unit(b, unit(b, x, name + ".branch2.0", {.outputs = row.three_reduced}), name + ".branch2.1",
             {.outputs = row.three, .kernel = 3, .pad = 1}),
        unit(b, unit(b, x, name + ".branch3.0", {.outputs = row.five_reduced}), name + ".branch3.1",
             {.outputs = row.five, .kernel = 3, .pad = 1}),
        unit(b, b.max_pool(x, {.kernel = 3, .stride = 1, .pad = 1, .ceil_mode = true}), name + ".branch4.1", {.outputs = row.projected}),
    };
    return b.concat(parts);
}

Value double_conv(Builder& b, Value x, const std::string& name, std::int64_t outputs) {
    for (const char* index : {"1", "2"}) {
        x = b.conv(x, name + ".conv" + index, {.outputs = outputs, .kernel = 3, .pad = 1});
        x = b.relu(b.batch_norm(x, name + ".norm" + index));
    }
    return x;
}

}  // namespace

Value googlenet(Builder& b, const NetworkOptions& options) {
    constexpr Inception blocks[] = {
        {"3a", 64, 96, 128, 16, 32, 32},    {"3b", 128, 128, 192, 32, 96, 64},  {"4a", 192, 96, 208, 16, 48, 64},
        {"4b", 160, 112, 224, 24, 64, 64},  {"4c", 128, 128, 256, 24, 64, 64},  {"4d", 112, 144, 288, 32, 64, 64},
        {"4e", 256, 160, 320, 32, 128, 128}, {"5a", 256, 160, 320, 32, 128, 128}, {"5b", 384, 192, 384, 48, 128, 128},
    };
    constexpr Pool pool = {.kernel = 3, .stride = 2, .ceil_mode = true};
    Value x = b.input("input", {1, 3, options.size, options.size});
    x = b.max_pool(unit(b, x, "conv1", {.outputs = 64, .kernel = 7, .stride = 2, .pad = 3}), pool);
    x = unit(b, x, "conv2", {.outputs = 64});
    x = b.max_pool(unit(b, x, "conv3", {.outputs = 192, .kernel = 3, .pad = 1}), pool);
    for (const Inception& row : blocks) {
        x = inception(b, x, row);
        if (row.name == "3b") x = b.max_pool(x, pool);
        if (row.name == "4e") x = b.max_pool(x, {.kernel = 2, .stride = 2, .ceil_mode = true});
    }
    return b.linear(b.dropout(b.flatten(b.global_average_pool(x))), "fc", options.classes);
}

Value unet(Builder& b, const NetworkOptions& options) {
    constexpr std::int64_t widths[] = {16, 32, 64};
    constexpr std::int64_t bottom = 128;
    Value x = b.input("input", {1, 3, options.size, options.size});
    std::vector<Value> skipped;
    for (const std::int64_t width : widths) {
        skipped.push_back(double_conv(b, x, "down" + std::to_string(width), width));
        x = b.max_pool(skipped.back(), {.kernel = 2, .stride = 2});
    }
    x = double_conv(b, x, "bottom", bottom);
    for (; !skipped.empty(); skipped.pop_back()) {
        const Value& skip = skipped.back();
        const std::string name = "up" + std::to_string(skip.channels());
        const Value parts[] = {skip, b.conv_transpose(x, name, skip.channels(), 2)};
        if (parts[1].dims != skip.dims) refuse("unet needs a --size that is a multiple of 8, not {}", options.size);
        x = double_conv(b, b.concat(parts), name, skip.channels());
    }
    return b.conv(x, "classes", {.outputs = options.classes, .bias = true});
}

}  // namespace weft::zoo
