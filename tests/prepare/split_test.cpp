#include "check_network.h"

using namespace weft;
using namespace weft::testing;
using enum weft::OperatorKind;

namespace {

std::uint64_t largest_family(const TasksColumns& columns) {
    std::uint64_t largest = 0;
    for (const Family& family : columns.families) largest = std::max<std::uint64_t>(largest, family.crossbars);
    return largest;
}

}  // namespace

TEST_CASE("layers larger than a core are cut by strips and summed") {
    for (const std::uint32_t crossbars : {2U, 3U, 5U}) {
        CAPTURE(crossbars);
        Network network;
        const auto x = network.unary(Relu, network.conv(network.input({1, 3, 5, 7}), 40));
        const auto y = network.unary(Relu, network.binary(Add, network.conv(x, 40), x));
        const TasksColumns columns = network.check({y}, small_target(40, crossbars));
        CHECK(largest_family(columns) <= crossbars);
        CHECK(count_kind(columns, FamilyKind::Pointwise) + count_kind(columns, FamilyKind::BandSum) >= 1);
    }
}

TEST_CASE("bands of rows make some rows of a tile each, and are summed row by row") {
    const std::vector<Window> windows{{3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}}, {5, 3, {1, 1}, {2, 1, 2, 1}, {1, 1}}, {3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}},
                                      {3, 2, {1, 1}, {0, 1, 1, 0}, {2, 1}}, {7, 7, {2, 2}, {3, 3, 3, 3}, {1, 1}}};
    std::size_t sums = 0;
    std::size_t heights_that_do_not_divide = 0;
    for (const Window& window : windows) {
        for (const std::uint32_t crossbars : {4U, 9U, 24U}) {
            CAPTURE(window.rows);
            CAPTURE(crossbars);
            Network network;
            const auto x = network.concat({network.conv(network.input({1, 3, 13, 11}), 32), network.input({1, 8, 13, 11})}, 1);
            const auto y = network.conv(x, 24, window);
            const TasksColumns columns = network.check({network.unary(Relu, network.binary(Add, y, network.unary(Tanh, y)))}, small_target(60, crossbars));
            sums += count_kind(columns, FamilyKind::BandSum);
            for (std::size_t f = 0; f < columns.families.size(); ++f) {
                const Family& family = columns.families[f];
                if (family.kind != static_cast<std::uint32_t>(FamilyKind::BandSum)) continue;
                heights_that_do_not_divide += columns.tensors[family.output].rows % columns.bands[f].period != 0;
            }
        }
    }
    CHECK(sums >= 5);
    CHECK(heights_that_do_not_divide >= 1);
}

TEST_CASE("strips wider than a core are cut by columns and joined") {
    Network network;
    const auto x = network.unary(Relu, network.conv(network.input({1, 3, 5, 7}), 8));
    const auto y = network.unary(Sigmoid, network.linear(network.reshape(x, {1, 280}), 200));
    const TasksColumns columns = network.check({network.linear(y, 10)}, small_target(40, 3));
    CHECK(largest_family(columns) <= 3);
    CHECK(count_kind(columns, FamilyKind::Move) == 1);
}

TEST_CASE("depthwise layers larger than a core are cut by channels") {
    Network network;
    const auto x = network.conv(network.input({1, 256, 5, 7}), 256, {}, 256);
    const TasksColumns columns = network.check({network.unary(Relu, x)}, small_target(40, 12));
    CHECK(largest_family(columns) <= 12);
}

TEST_CASE("the same tasks whatever lanes are cut, except for lanes and demands") {
    Network network;
    const auto x = network.conv(network.pool(MaxPool, network.conv(network.input({1, 3, 17, 13}), 8), {3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}}), 8);
    std::size_t lanes = 0;
    for (const std::uint64_t lane_ns : {1U, 5'000U, 100'000U, 1'000'000'000U}) {
        PrepareOptions options;
        options.lane_ns = lane_ns;
        options.widest_window = 1;
        const TasksColumns columns = network.check({x}, small_target(4, 96), options);
        if (lanes != 0) CHECK(columns.lanes.size() < lanes);
        lanes = columns.lanes.size();
    }
    CHECK(lanes == 5);   // one per family, the input's load and both halves of the pool included
}

TEST_CASE("the bytes are a function of the input") {
    const auto make = [] {
        Network network;
        const auto x = network.conv(network.input({1, 3, 17, 13}), 64);
        const TasksColumns columns = network.tasks({network.conv(network.concat({x, network.unary(Relu, x)}, 1), 64)}, small_target(4, 20));
        const auto bytes = serialize(view(columns));
        return hash_bytes(std::as_bytes(std::span(bytes.data(), bytes.size())));
    };
    CHECK(make() == make());
}

TEST_CASE("the bound is the work over the cores") {
    Network network;
    const TasksColumns columns = network.check({network.conv(network.input({1, 3, 17, 13}), 64)}, small_target(7, 96));
    std::uint64_t work = 0;
    for (const Lane& lane : columns.lanes) work += lane.work_ns;
    CHECK(columns.work_bound_ns == (work + 6) / 7);
}
