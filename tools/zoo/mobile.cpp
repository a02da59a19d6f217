#include "zoo/networks.h"

// Networks of grouped and depthwise convolutions: MobileNetV2 and ShuffleNet.
namespace weft::zoo {
namespace {

/// Linear bottlenecks add up without a Relu between them, so their branches are kept smaller than ResNet's.
constexpr BatchNorm branch_end = {.scale = 0.7};

Value inverted_residual(Builder& b, const Value& x, const std::string& name, std::int64_t expansion, std::int64_t outputs,
                        std::int64_t stride) {
    Value y = x;
    const std::int64_t hidden = x.channels() * expansion;
    if (expansion != 1) y = b.relu6(b.batch_norm(b.conv(y, name + ".expand", {.outputs = hidden}), name + ".expand_bn"));
    y = b.conv(y, name + ".depthwise", {.outputs = hidden, .kernel = 3, .stride = stride, .pad = 1, .groups = hidden});
    y = b.relu6(b.batch_norm(y, name + ".depthwise_bn"));
    const bool residual = stride == 1 && x.channels() == outputs;
    y = b.batch_norm(b.conv(y, name + ".project", {.outputs = outputs}), name + ".project_bn", residual ? branch_end : BatchNorm{});
    return residual ? b.add(x, y) : y;
}

/// Zhang et al., figure 2 (b) and (c): grouped 1 x 1, shuffle, depthwise 3 x 3, grouped 1 x 1.
Value shuffle_unit(Builder& b, const Value& x, const std::string& name, std::int64_t outputs, std::int64_t groups, bool first, bool down) {
    const std::int64_t made = down ? outputs - x.channels() : outputs;
    const std::int64_t middle = outputs / 4;
    // The very first unit's input has too few channels to group (section 3.2).
    Value y = b.conv(x, name + ".compress", {.outputs = middle, .groups = first ? 1 : groups});
    y = b.channel_shuffle(b.relu(b.batch_norm(y, name + ".compress_bn")), groups);
    y = b.conv(y, name + ".depthwise", {.outputs = middle, .kernel = 3, .stride = down ? 2 : 1, .pad = 1, .groups = middle});
    y = b.batch_norm(y, name + ".depthwise_bn");
    y = b.batch_norm(b.conv(y, name + ".expand", {.outputs = made, .groups = groups}), name + ".expand_bn", {.scale = 0.5});
    if (!down) return b.relu(b.add(x, y));
    const Value parts[] = {y, b.average_pool(x, {.kernel = 3, .stride = 2, .pad = 1})};
    return b.relu(b.concat(parts));
}

}  // namespace

Value mobilenetv2(Builder& b, const NetworkOptions& options) {
    struct Row {
        std::int64_t expansion, outputs, repeats, stride;
    };
    constexpr Row rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    constexpr std::int64_t last = 1280;
    Value x = b.input("input", {1, 3, options.size, options.size});
    x = b.relu6(b.batch_norm(b.conv(x, "features.0", {.outputs = 32, .kernel = 3, .stride = 2, .pad = 1}), "features.0_bn"));
    int index = 1;
    for (const Row& row : rows) {
        for (std::int64_t repeat = 0; repeat < row.repeats; ++repeat) {
            x = inverted_residual(b, x, "features." + std::to_string(index++), row.expansion, row.outputs, repeat == 0 ? row.stride : 1);
        }
    }
    x = b.relu6(b.batch_norm(b.conv(x, "features.18", {.outputs = last}), "features.18_bn"));
    return b.linear(b.dropout(b.flatten(b.global_average_pool(x))), "classifier.1", options.classes);
}

Value shufflenet(Builder& b, const NetworkOptions& options) {
    struct Stage {
        std::int64_t outputs, units;
    };
    constexpr Stage stages[] = {{240, 4}, {480, 8}, {960, 4}};
    constexpr std::int64_t groups = 3;
    Value x = b.input("input", {1, 3, options.size, options.size});
    x = b.relu(b.batch_norm(b.conv(x, "stage1", {.outputs = 24, .kernel = 3, .stride = 2, .pad = 1}), "stage1_bn"));
    x = b.max_pool(x, {.kernel = 3, .stride = 2, .pad = 1});
    int number = 2;
    for (const Stage& stage : stages) {
        for (std::int64_t unit = 0; unit < stage.units; ++unit) {
            const std::string name = "stage" + std::to_string(number) + "." + std::to_string(unit);
            x = shuffle_unit(b, x, name, stage.outputs, groups, number == 2 && unit == 0, unit == 0);
        }
        ++number;
    }
    return b.linear(b.flatten(b.global_average_pool(x)), "fc", options.classes);
}

}  // namespace weft::zoo
