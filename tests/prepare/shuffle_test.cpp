#include "prepare/shuffle.h"

#include <numeric>

#include "check_network.h"

using namespace weft;
using namespace weft::testing;
using namespace weft::preparation;
using enum weft::OperatorKind;

namespace {

const Window single{1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}};
const Window strided{3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}};

/// The order of the channels of a shuffle.
std::vector<std::uint32_t> shuffle_order(std::uint32_t channels, std::uint32_t groups) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t channel = 0; channel < channels; ++channel) order.push_back(channel % (channels / groups) * groups + channel / (channels / groups));
    return order;
}

/// Moves that undo shuffles.
std::size_t moves(const TasksColumns& columns) {
    return static_cast<std::size_t>(std::count_if(columns.families.begin(), columns.families.end(), [&](const Family& family) {
        return pool_text(columns.name_pool, family.name).ends_with(":shuffle");
    }));
}

/// A network with `channels` shuffled channels, whose readers `rest` adds to; how many moves its tasks have.
template <class Rest>
std::size_t moves_behind_shuffle(std::uint32_t channels, const Rest& rest, const TargetColumns& target = small_target(8, 96), const PrepareOptions& options = {}) {
    Network network;
    const auto x = network.unary(Relu, network.conv(network.input({1, 3, 7, 6}), channels, single));
    return moves(network.check({rest(network, network.shuffle(x, 3))}, target, options));
}

}  // namespace

TEST_CASE("units of ShuffleNet shuffle without copies") {
    for (const std::uint32_t channels : {24U, 60U, 132U, 240U}) {
        for (const Window& window : {Window{}, strided}) {
            CAPTURE(channels);
            Network network;
            const auto x = network.unary(Relu, network.conv(network.input({1, 3, 7, 6}), channels, single));
            const auto compressed = network.unary(Relu, network.conv(x, channels, single, 3));
            const auto middle = network.conv(network.shuffle(compressed, 3), channels, window, channels);
            const auto expanded = network.conv(middle, channels, single, 3);
            const bool whole = window.strides[0] == 1;
            const auto y = whole ? network.binary(Add, x, expanded) : network.concat({expanded, network.pool(AveragePool, x, strided)}, 1);
            const TasksColumns columns = network.check({network.unary(Relu, y)});
            CHECK(moves(columns) == 0);
            // Nothing claims to be what has its channels in another order.
            for (const TaskTensor& tensor : columns.tensors) CHECK(tensor.graph_tensor != middle);
        }
    }
}

TEST_CASE("what works on every channel alone keeps the order of a shuffle") {
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.conv(n.unary(Relu, y), 10); }) == 0);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.conv(n.pool(MaxPool, n.unary(Sigmoid, y), strided), 10); }) == 0);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.conv(n.unary(Relu, n.conv(y, 24, {}, 24)), 10); }) == 0);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.conv(n.conv(y, 24, {}, 24, false), 10); }) == 0);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.conv(n.conv(y, 48, strided, 24), 10); }) == 0);
    // Shuffled once more, and back; several readers.
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.conv(n.shuffle(n.unary(Relu, y), 2), 10); }) == 0);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.unary(Tanh, n.shuffle(n.unary(Relu, y), 8)); }) == 0);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) {
        const auto z = n.conv(y, 24, {}, 24);
        return n.binary(Add, n.conv(n.unary(Relu, z), 10), n.conv(n.unary(Tanh, z), 10));
    }) == 0);
}

TEST_CASE("others get the channels in their own order, once") {
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.unary(Relu, y); }) == 1);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.binary(PRelu, n.conv(y, 24, {}, 24), n.weight({24, 1, 1})); }) == 1);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.binary(Mul, y, n.weight({1, 24, 7, 6})); }) == 1);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.linear(n.reshape(n.unary(Relu, y), {1, 24 * 42}), 5); }) == 1);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.linear(n.reshape(n.global_pool(y), {1, 24}), 5); }) == 1);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.concat({n.unary(Relu, y), n.unary(Tanh, y)}, 1); }) == 2);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.binary(Add, n.unary(Relu, y), n.conv(y, 24)); }) == 1);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.transpose(n.unary(Relu, y), {0, 1, 3, 2}); }) == 1);
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.binary(Mul, y, n.unary(Sigmoid, n.conv(n.global_pool(y), 24, single))); }) == 1);
    // Two views of one shuffle, of which one goes on with steps of its own.
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) {
        const auto flat = n.binary(Add, n.reshape(y, {1, 24, 42}), n.weight({24, 1}));
        return n.binary(Mul, y, n.reshape(flat, {1, 24, 7, 6}));
    }) == 1);
}

TEST_CASE("a convolution that would gather more than the move copies has its input moved") {
    CHECK(moves_behind_shuffle(24, [](Network& n, auto y) { return n.conv(y, 24, single, 3); }) == 0);      // all in one strip
    CHECK(moves_behind_shuffle(30, [](Network& n, auto y) { return n.conv(y, 30, {}, 3); }) == 1);          // 9 taps of 9 runs, 10 copies
    CHECK(moves_behind_shuffle(144, [](Network& n, auto y) { return n.conv(y, 24, single, 3); }) == 0);     // 9 runs, 48 copies
    CHECK(moves_behind_shuffle(144, [](Network& n, auto y) { return n.conv(y, 24, single, 12); }) == 0);    // 36 runs
    CHECK(moves_behind_shuffle(144, [](Network& n, auto y) { return n.conv(y, 24, single, 24); }) == 1);    // 72 runs
    CHECK(moves_behind_shuffle(30, [](Network& n, auto y) { return n.conv(y, 60, {}, 30); }) == 1);         // twice as many outputs as inputs
}

TEST_CASE("shuffled channels in strips of every kind") {
    const auto unit = [](Network& n, std::uint32_t y) { return n.conv(n.unary(Relu, n.conv(y, 192, {}, 192)), 96, single, 3); };
    for (const std::uint32_t widest : {1U, 3U, 16U}) {
        PrepareOptions options;
        options.widest_window = widest;
        CHECK(moves_behind_shuffle(192, unit, small_target(8, 96), options) == 0);
    }
    // Groups of columns that are joined, each with its part of the bias.
    CHECK(moves_behind_shuffle(192, unit, small_target(40, 12)) == 0);
    PrepareOptions latency;
    latency.mode = PrepareMode::latency;
    CHECK(moves_behind_shuffle(192, unit, small_target(40, 96), latency) == 0);
    // Layers of one group, in parts and bands.
    const auto dense = [](Network& n, std::uint32_t y) { return n.conv(y, 64); };
    CHECK(moves_behind_shuffle(96, dense, small_target(40, 12)) == 0);
    CHECK(moves_behind_shuffle(96, dense, small_target(8, 96)) == 0);
}

TEST_CASE("random chains behind shuffles") {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        Network network(seed);
        const auto pick = [&](std::size_t count) { return static_cast<std::uint32_t>(network.random() % count); };
        const std::uint32_t channels = 12 * (1 + pick(5));
        std::vector<std::uint32_t> values{network.conv(network.input({1, 3, 6, 5}), channels, single)};
        for (int step = 0; step < 7; ++step) {
            const auto x = values[pick(2) == 0 ? values.size() - 1 : pick(values.size())];
            const auto y = values[pick(values.size())];
            switch (pick(8)) {
                case 0: case 1: values.push_back(network.shuffle(x, pick(2) == 0 ? 3 : 4)); break;
                case 2: values.push_back(network.conv(x, channels, {}, channels, pick(2) == 0)); break;
                case 3: values.push_back(network.conv(x, channels, single, 3)); break;
                case 4: values.push_back(network.unary(Relu, x)); break;
                case 5: values.push_back(network.pool(MaxPool, x, {})); break;
                case 6: values.push_back(network.binary(Add, x, y)); break;
                default: values.push_back(network.binary(Mul, x, network.weight({channels, 1, 1}))); break;
            }
        }
        PrepareOptions options;
        options.crossbar_percent = 80;
        options.family_crossbars = 48;
        network.check({values.back()}, small_target(12, 96), options);
    }
}

TEST_CASE("runs of orders, and the orders of transposes") {
    const auto order = shuffle_order(12, 3);
    CHECK(order == std::vector<std::uint32_t>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
    CHECK(even_run(order).length == 4);
    CHECK(even_run(order).step == 3);
    CHECK(even_run(std::span(order).subspan(3)).length == 1);
    CHECK(moved_runs(order) == 4);
    CHECK(group_runs(order, 4) == 9);
    CHECK(inverse_order(order) == shuffle_order(12, 4));
    const Layout image = image_layout(12, 5, 7);
    CHECK(shuffled_channels(image, std::vector<std::uint32_t>{1, 3, 4, 5, 7}, std::vector<std::int32_t>{0, 2, 1, 3, 4}) == order);
    CHECK(shuffled_channels(image, std::vector<std::uint32_t>{3, 4, 35}, std::vector<std::int32_t>{1, 0, 2}) == order);
    CHECK(!shuffled_channels(image, std::vector<std::uint32_t>{1, 3, 4, 5, 7}, std::vector<std::int32_t>{0, 2, 1, 4, 3}));
    CHECK(!shuffled_channels(image, std::vector<std::uint32_t>{1, 3, 4, 5, 7}, std::vector<std::int32_t>{0, 3, 1, 2, 4}));
}
