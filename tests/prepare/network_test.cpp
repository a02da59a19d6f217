#include "check_network.h"

using namespace weft;
using namespace weft::testing;
using enum weft::OperatorKind;

TEST_CASE("a residual block is fused into its convolutions") {
    Network network;
    const auto x = network.unary(Relu, network.conv(network.input({1, 3, 7, 5}), 16));
    const auto a = network.unary(Relu, network.conv(x, 16));
    const auto y = network.unary(Relu, network.binary(Add, network.conv(a, 16), x));
    const auto down = network.binary(Add, network.conv(y, 24, {3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}}), network.conv(y, 24, {1, 1, {2, 2}, {0, 0, 0, 0}, {1, 1}}));
    const auto flat = network.reshape(network.global_pool(network.unary(Relu, down)), {1, 24});
    const TasksColumns columns = network.check({network.linear(flat, 10)});
    CHECK(columns.families.size() == 9);   // with the input's load
    CHECK(count_kind(columns, FamilyKind::Matrix) == 6);
    CHECK(count_kind(columns, FamilyKind::Pool) == 2);
}

TEST_CASE("a linear layer takes flattened pixels in their own order") {
    Network network;
    const auto x = network.unary(Relu, network.conv(network.input({1, 3, 7, 5}), 20));
    const TasksColumns columns = network.check({network.linear(network.reshape(x, {1, 700}), 33)});
    CHECK(count_kind(columns, FamilyKind::Matrix) == 2);
    CHECK(count_kind(columns, FamilyKind::Move) == 0);
}

TEST_CASE("a linear layer over many rows") {
    Network network;
    const auto tokens = network.linear(network.unary(Relu, network.linear(network.input({1, 9, 24}), 40)), 7);
    network.check({tokens});
    Network image;
    // [1, C, H, W] -> [1, HW, C]: the same pixels.
    const auto x = image.conv(image.input({1, 3, 7, 5}), 12);
    const auto rows = image.transpose(image.reshape(x, {1, 12, 35}), {0, 2, 1});
    const TasksColumns columns = image.check({image.linear(rows, 6)});
    CHECK(count_kind(columns, FamilyKind::Matrix) == 2);
    CHECK(count_kind(columns, FamilyKind::Move) == 0);
    Network other;
    // Over the last axis of an image: a relayout.
    other.check({other.linear(other.conv(other.input({1, 3, 7, 5}), 12), 6)});
}

TEST_CASE("channel shuffle, concatenation and grouped convolutions") {
    Network network;
    const auto x = network.unary(Relu, network.conv(network.input({1, 3, 7, 5}), 24));
    const auto a = network.conv(network.shuffle(network.conv(x, 24, {1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}}, 3), 3), 24, {}, 24);
    const auto joined = network.concat({a, x}, 1);
    network.check({network.conv(joined, 8)});
}

TEST_CASE("convolutions and pools read concatenations as parts, without a copy") {
    const Window three{3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}};
    const Window strided{3, 2, {2, 2}, {0, 1, 1, 1}, {1, 1}};
    for (const Window& window : {Window{}, three, strided}) {
        Network network;
        const auto x = network.input({1, 5, 9, 8});
        const auto joined = network.concat({network.conv(x, 20), network.unary(Relu, x), network.conv(x, 7, three)}, 1);
        const auto y = network.conv(joined, 20, window);
        CHECK(count_kind(network.check({network.binary(Add, y, network.unary(Tanh, y))}), FamilyKind::Move) == 0);
    }
    {
        Network network;
        const auto x = network.input({1, 5, 9, 8});
        const auto joined = network.concat({network.conv(x, 20), x}, 1);
        const auto pooled = network.pool(MaxPool, joined, {3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}});
        const auto averaged = network.pool(AveragePool, pooled, three);
        const auto y = network.binary(Add, network.conv(averaged, 6), network.conv(pooled, 6));
        CHECK(count_kind(network.check({y, network.conv(joined, 40, three)}), FamilyKind::Move) == 0);
    }
    // Readers that need the whole, and the same part twice.
    Network network;
    const auto x = network.input({1, 6, 5, 4});
    const auto a = network.conv(x, 6);
    const auto whole = network.concat({a, x}, 1);
    CHECK(count_kind(network.check({network.conv(whole, 4), network.conv(whole, 12, {}, 3), network.conv(network.concat({a, a}, 1), 5, three)}), FamilyKind::Move) == 1);
}

TEST_CASE("concatenation along every axis, of ranks two to four") {
    for (const std::int32_t axis : {1, 2, 3}) {
        Network network;
        const auto x = network.conv(network.input({1, 3, 6, 6}), 6);
        network.check({network.concat({x, network.unary(Sigmoid, x), network.unary(Tanh, x)}, axis)});
    }
    Network network;
    const auto x = network.input({1, 5, 4});
    network.check({network.concat({x, network.unary(Relu, x)}, 1), network.concat({x, network.unary(Tanh, x)}, 2)});
}

TEST_CASE("squeeze and excite") {
    Network network;
    const auto x = network.unary(Relu, network.conv(network.input({1, 3, 7, 5}), 24));
    const auto small = network.unary(Relu, network.conv(network.global_pool(x), 6, {1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}}));
    const auto gate = network.unary(Sigmoid, network.conv(small, 24, {1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}}));
    const TasksColumns columns = network.check({network.conv(network.binary(Mul, x, gate), 5)});
    CHECK(count_kind(columns, FamilyKind::Move) == 0);
    CHECK(std::any_of(columns.steps.begin(), columns.steps.end(), [](const Step& step) { return step.operand_kind == static_cast<std::uint32_t>(OperandKind::InputBroadcast); }));
}

TEST_CASE("binary operators broadcast both ways, constants and activations") {
    const std::vector<Dims> shapes = {{1, 6, 7, 5}, {6, 1, 1}, {1}, {7, 1}, {5}, {1, 1, 7, 5}, {1, 6, 7, 1}, {}};
    for (const OperatorKind kind : {Add, Sub, Mul, Max, Min}) {
        for (const Dims& shape : shapes) {
            for (const bool swapped : {false, true}) {
                for (const bool constant : {false, true}) {
                    CAPTURE(static_cast<int>(kind));
                    CAPTURE(shape.size());
                    Network network;
                    const auto x = network.unary(Relu, network.input({1, 6, 7, 5}));
                    const auto y = constant ? network.weight(shape) : network.unary(Tanh, network.input(shape));
                    network.check({swapped ? network.binary(kind, y, x) : network.binary(kind, x, y)});
                }
            }
        }
    }
    Network network;
    network.check({network.binary(Add, network.input({1, 6, 1, 5}), network.input({1, 1, 7, 1})), network.binary(Sub, network.weight({7, 1}), network.input({1, 4, 1, 5}))});
}

TEST_CASE("the same tensor on both sides, and several readers") {
    Network network;
    const auto x = network.conv(network.input({1, 3, 7, 5}), 8);
    const auto twice = network.binary(Mul, x, x);
    const auto back = network.binary(Sub, network.unary(Relu, x), twice);
    network.check({twice, back, x, network.reshape(x, {1, 280})});
}

TEST_CASE("activations with parameters, and x * sigmoid(x)") {
    Network network;
    const auto x = network.input({1, 8, 7, 5});
    const auto make = [&](OperatorKind kind, const std::vector<GraphMaker::Attribute>& attributes) { return network.maker.node(kind, {x}, {1, 8, 7, 5}, attributes); };
    const auto leaky = make(LeakyRelu, {{AttributeKey::Alpha, {}, {0.25F}}});
    const auto clip = make(Clip, {{AttributeKey::Minimum, {}, {-1.0F}}, {AttributeKey::Maximum, {}, {2.0F}}});
    const auto clip_low = make(Clip, {{AttributeKey::Minimum, {}, {0.0F}}, {AttributeKey::Maximum, {}, {INFINITY}}});
    const auto hard = make(HardSigmoid, {{AttributeKey::Alpha, {}, {0.25F}}, {AttributeKey::Beta, {}, {0.5F}}});
    const auto swish = make(HardSwish, {});
    const auto silu = network.binary(Mul, network.unary(Sigmoid, clip), clip);
    const auto prelu = network.binary(PRelu, x, network.weight({8, 1, 1}));
    const TasksColumns columns = network.check({leaky, clip_low, hard, swish, silu, prelu});
    CHECK(std::any_of(columns.steps.begin(), columns.steps.end(), [](const Step& step) { return step.kind == static_cast<std::uint32_t>(StepKind::Silu); }));
}

TEST_CASE("slices, padding and nearest resize are moves") {
    Network network;
    const auto x = network.conv(network.input({1, 3, 4, 3}), 6);
    const auto remap = [&](std::uint32_t from, const Dims& to, const std::vector<GraphMaker::Attribute>& maps) { return network.maker.node(Remap, {from}, to, maps); };
    const auto large = remap(x, {1, 6, 8, 6}, {{AttributeKey::MapAxis2, {0, 0, 1, 1, 2, 2, 3, 3}}, {AttributeKey::MapAxis3, {0, 0, 1, 1, 2, 2}}, {AttributeKey::Fill, {}, {0.0F}}});
    const auto padded = remap(x, {1, 6, 6, 5}, {{AttributeKey::MapAxis2, {-1, 0, 1, 2, 3, -1}}, {AttributeKey::MapAxis3, {-1, 0, 1, 2, -1}}, {AttributeKey::Fill, {}, {2.5F}}});
    const auto slice = remap(x, {1, 3, 4, 3}, {{AttributeKey::MapAxis1, {5, 3, 1}}, {AttributeKey::Fill, {}, {0.0F}}});
    network.check({network.conv(large, 4), network.conv(network.unary(Relu, padded), 4), network.conv(slice, 3)});
}

TEST_CASE("transposes are free where strides can say them, and copies elsewhere") {
    Network network;
    // An NHWC network input.
    const auto x = network.transpose(network.input({1, 7, 5, 3}), {0, 3, 1, 2});
    const auto y = network.conv(x, 6);
    const auto back = network.transpose(y, {0, 2, 3, 1});
    const TasksColumns columns = network.check({back});
    CHECK(count_kind(columns, FamilyKind::Move) == 0);
    Network other;
    // Rows and columns swapped: the reader of an image needs a copy.
    const auto z = other.conv(other.input({1, 3, 7, 5}), 6);
    const TasksColumns swapped = other.check({other.conv(other.transpose(z, {0, 1, 3, 2}), 4)});
    CHECK(count_kind(swapped, FamilyKind::Move) == 1);
}

TEST_CASE("operators that the chip lacks go to the host's ends") {
    Network network;
    const auto x = network.softmax(network.reshape(network.conv(network.input({1, 3, 7, 5}), 4), {1, 140}));
    const TasksColumns columns = network.check({x});
    CHECK(columns.host_tail.size() == 2);      // the reshape follows
    CHECK(columns.host_head.empty());

    Network head;
    const auto y = head.conv(head.reshape(head.softmax(head.input({1, 105})), {1, 3, 7, 5}), 4);
    const TasksColumns head_columns = head.check({y});
    CHECK(head_columns.host_head.size() == 2);

    Network only;
    only.check({only.softmax(only.input({1, 10}))});
}

TEST_CASE("elsewhere they are refused, all in one message") {
    Network network;
    const auto x = network.conv(network.input({1, 3, 7, 5}), 4);
    const auto y = network.conv(network.softmax(x), 4);
    const auto z = network.conv(network.binary(Div, y, network.unary(Sigmoid, y)), 4);
    try {
        (void)network.tasks({z}, small_target(8, 96));
        FAIL("not refused");
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::refused);
        const std::string text = failure.what();
        CHECK(text.find("2 operators") != std::string::npos);
        CHECK(text.find("Softmax 'node1'") != std::string::npos);
        CHECK(text.find("Div 'node4'") != std::string::npos);
    }
    Network tail;
    const auto out = tail.softmax(tail.linear(tail.input({1, 8}), 4));
    PrepareOptions options;
    options.allow_host = false;
    CHECK_THROWS_AS((void)tail.tasks({out}, small_target(8, 96), options), Failure);
}

TEST_CASE("maxima over windows that share rows are taken along the rows, then across them") {
    struct Case {
        Window window;
        std::size_t pools;
    };
    const std::vector<Case> cases{{{5, 5, {1, 1}, {2, 2, 2, 2}, {1, 1}}, 2}, {{4, 5, {1, 1}, {1, 0, 2, 3}, {1, 1}}, 2}, {{4, 4, {1, 1}, {3, 2, 0, 1}, {2, 1}}, 2},
                                  {{3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}}, 2}, {{5, 5, {2, 1}, {2, 2, 2, 2}, {1, 2}}, 2},
                                  {{3, 3, {3, 3}, {1, 1, 1, 1}, {1, 1}}, 1}, {{2, 2, {1, 1}, {0, 0, 0, 0}, {1, 1}}, 1}, {{1, 5, {1, 1}, {0, 2, 0, 2}, {1, 1}}, 1}};
    for (const Case& c : cases) {
        Network network;
        const auto x = network.conv(network.input({1, 3, 9, 8}), 20);
        // A step behind it runs once.
        const TasksColumns columns = network.check({network.unary(Relu, network.pool(MaxPool, x, c.window))});
        CHECK(count_kind(columns, FamilyKind::Pool) == c.pools);
    }
    Network network;
    const auto x = network.conv(network.input({1, 3, 9, 8}), 20);
    const TasksColumns columns = network.check({network.pool(AveragePool, x, {5, 5, {1, 1}, {2, 2, 2, 2}, {1, 1}})});
    CHECK(count_kind(columns, FamilyKind::Pool) == 1);
}

TEST_CASE("a bias stands in matrices with a row to spare, a clamp with the matrix instruction") {
    struct Case {
        std::uint32_t inputs;
        std::uint32_t kernel;
        bool in_matrix;         // every output has its bias by a row
        bool clamps;
    };
    // 127 inputs and the bias fill the 128 rows; two strips are summed before they are clamped; depthwise blocks reach every output once.
    for (const Case& c : {Case{127, 1, true, true}, Case{128, 1, false, false}, Case{200, 1, true, false}, Case{24, 3, true, false}}) {
        CAPTURE(c.inputs);
        Network network;
        const auto border = static_cast<std::int32_t>(c.kernel / 2);
        const auto y = network.conv(network.input({1, c.inputs, 7, 5}), 256, {c.kernel, c.kernel, {1, 1}, {border, border, border, border}, {1, 1}});
        PrepareOptions options;
        options.widest_window = 1;
        const TasksColumns columns = network.check({network.unary(Relu, y)}, small_target(8, 96), options);
        const Family& family = columns.families[1];
        REQUIRE(columns.biases[1].constant != no_id);
        const auto strips = std::span(columns.strips).subspan(family.first_strip, family.strip_count);
        CHECK(std::any_of(strips.begin(), strips.end(), [](const Strip& strip) { return strip.bias_row != 0; }) == c.in_matrix);
        CHECK(columns.biases[1].clamp == (c.clamps ? 1 : 0));
        CHECK(family.step_count == (c.clamps ? 0 : 1));
    }
    // What is left of a bound on both sides.
    Network network;
    const auto y = network.conv(network.input({1, 24, 7, 5}), 24, {3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}}, 24);
    const auto bounded = network.maker.node(Clip, {y}, {1, 24, 7, 5}, {{AttributeKey::Minimum, {}, {0.0F}}, {AttributeKey::Maximum, {}, {0.5F}}});
    const TasksColumns columns = network.check({bounded});
    for (std::size_t f = 1; f < columns.families.size(); ++f) {
        if (columns.biases[f].clamp == 0) continue;
        for (const Step& step : std::span(columns.steps).subspan(columns.families[f].first_step, columns.families[f].step_count)) CHECK(std::isinf(step.alpha));
    }
    // Groups of columns that are joined, each with its part of the bias.
    Network wide;
    const TasksColumns joined = wide.check({wide.unary(Relu, wide.conv(wide.input({1, 200, 5, 7}), 200, {3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}}, 200))}, small_target(40, 12));
    CHECK(std::count_if(joined.biases.begin(), joined.biases.end(), [](const FamilyBias& bias) { return bias.constant != no_id; }) > 1);
}

TEST_CASE("functions that never fall go behind maxima that leave fewer outputs") {
    const Window strided{3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}};
    // Steps of pools behind a convolution and an activation.
    const auto steps_of_pools = [&](OperatorKind kind, std::vector<GraphMaker::Attribute> attributes, const Window& window, bool read_twice) {
        Network network;
        const auto y = network.conv(network.input({1, 3, 9, 8}), 20);
        const auto activated = network.maker.node(kind, {y}, {1, 20, 9, 8}, attributes);
        std::vector<std::uint32_t> outputs{network.pool(MaxPool, activated, window)};
        if (read_twice) outputs.push_back(network.conv(activated, 4));
        const TasksColumns columns = network.check(outputs);
        std::size_t steps = 0;
        for (const Family& family : columns.families) steps += family.kind == static_cast<std::uint32_t>(FamilyKind::Pool) ? family.step_count : 0;
        return steps;
    };
    CHECK(steps_of_pools(Relu, {}, strided, false) == 1);
    CHECK(steps_of_pools(LeakyRelu, {{AttributeKey::Alpha, {}, {0.25F}}}, strided, false) == 1);
    CHECK(steps_of_pools(Clip, {{AttributeKey::Minimum, {}, {-1.0F}}, {AttributeKey::Maximum, {}, {0.5F}}}, strided, false) == 1);
    CHECK(steps_of_pools(Relu, {}, {2, 2, {2, 2}, {0, 0, 0, 0}, {1, 1}}, false) == 1);
    // Falls somewhere; as many outputs as inputs; somebody else reads it.
    CHECK(steps_of_pools(LeakyRelu, {{AttributeKey::Alpha, {}, {-0.25F}}}, strided, false) == 0);
    CHECK(steps_of_pools(HardSwish, {}, strided, false) == 0);
    CHECK(steps_of_pools(Relu, {}, {3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}}, false) == 0);
    CHECK(steps_of_pools(Relu, {}, strided, true) == 0);
    // Of every part of a concatenation.
    Network network;
    const auto x = network.input({1, 5, 9, 8});
    const auto joined = network.concat({network.unary(Relu, network.conv(x, 20)), network.unary(Relu, network.conv(x, 7))}, 1);
    const TasksColumns columns = network.check({network.conv(network.pool(MaxPool, joined, strided), 6)});
    for (const Family& family : columns.families) {
        if (family.kind == static_cast<std::uint32_t>(FamilyKind::Pool) && family.kernel_rows == 3) CHECK(family.step_count == 1);
    }
}

TEST_CASE("rows of pools longer than an instruction are cut into long pieces") {
    // Rows longer than an instruction takes are cut into pieces of the largest length instead of single positions: the time of a row grows with its length.
    const auto pool_ns = [](std::uint32_t columns) {
        Network network;
        const auto x = network.conv(network.input({1, 3, 6, columns}), 24);
        const TasksColumns tasks = network.check({network.pool(MaxPool, x, {3, 1, {2, 1}, {0, 0, 0, 0}, {1, 1}})});
        std::uint64_t ns = 0;
        for (const Lane& lane : tasks.lanes) ns += tasks.families[lane.family].kind == static_cast<std::uint32_t>(FamilyKind::Pool) ? lane.work_ns : 0;
        return ns;
    };
    CHECK(pool_ns(44) * 40 < pool_ns(40) * 44 * 6 / 5);     // 42 positions of 24 channels are one instruction
}

TEST_CASE("lanes of a pool cost what their own windows cost") {
    Network network;
    const auto x = network.conv(network.input({1, 3, 12, 12}), 20);
    const TasksColumns columns = network.check({network.pool(AveragePool, x, {7, 7, {1, 1}, {3, 3, 3, 3}, {1, 1}})});
    for (const Family& family : columns.families) {
        if (family.kind != static_cast<std::uint32_t>(FamilyKind::Pool)) continue;
        REQUIRE(family.lane_count >= 3);
        const Lane& edge = columns.lanes[family.first_lane];
        const Lane& middle = columns.lanes[family.first_lane + family.lane_count / 2];
        CHECK(edge.work_ns * middle.tile_count < middle.work_ns * edge.tile_count);
    }
}
