#include "check_network.h"

using namespace weft;
using namespace weft::testing;
using enum weft::OperatorKind;

namespace {

TasksColumns good() {
    Network network;
    const auto x = network.unary(Relu, network.conv(network.input({1, 3, 7, 5}), 40));
    const auto y = network.concat({network.binary(Add, network.conv(x, 40), x), network.pool(MaxPool, x, {})}, 1);
    PrepareOptions options;
    options.widest_window = 1;
    return network.check({network.binary(Mul, y, network.weight({80, 1, 1}))}, small_target(8, 96), options);
}

/// A layer in bands, summed by the last family.
TasksColumns banded() {
    Network network;
    const auto x = network.conv(network.input({1, 32, 13, 11}), 24, {3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}});
    TasksColumns columns = network.check({network.unary(Relu, x)}, small_target(60, 12));
    REQUIRE(columns.families.back().kind == static_cast<std::uint32_t>(FamilyKind::BandSum));
    return columns;
}

/// `damage` makes good tasks bad.
template <class Damage>
void rejected(Damage damage, TasksColumns columns = good()) {
    damage(columns);
    try {
        validate(view(columns), "file.tasks");
        FAIL_CHECK("accepted");
    } catch (const Failure& failure) {
        CHECK(failure.status() == ExitStatus::bad_input);
        CHECK(std::string(failure.what()).starts_with("file.tasks: "));
    }
}

}  // namespace

TEST_CASE("what the schema promises of bands is checked") {
    CHECK_NOTHROW(validate(view(banded()), "file.tasks"));
    const auto damaged = [](auto damage) { rejected(damage, banded()); };
    damaged([](TasksColumns& c) { c.bands.pop_back(); });
    damaged([](TasksColumns& c) { c.bands.clear(); });
    damaged([](TasksColumns& c) { c.bands[1].period += 1; });
    damaged([](TasksColumns& c) { c.bands[1].first_row = c.bands[1].period; });
    damaged([](TasksColumns& c) {   // nobody makes the first row
        for (std::size_t f = 1; f + 1 < c.bands.size(); ++f) c.bands[f].first_row = c.bands[f].period - c.families[f].tile_rows;
    });
    damaged([](TasksColumns& c) { c.bands.back().period = 0; });
    damaged([](TasksColumns& c) { c.bands.back().period = 1U << 20U; });
    damaged([](TasksColumns& c) { c.inputs[c.families.back().first_input] = c.inputs[c.families[0].first_input]; });
    damaged([](TasksColumns& c) { c.families.back().kind = static_cast<std::uint32_t>(FamilyKind::Pool); });
}

TEST_CASE("what the schema promises of biases is checked") {
    // One strip with a bias row that clamps.
    const auto clamped = [] {
        Network network;
        const TasksColumns columns = network.check({network.unary(Relu, network.conv(network.input({1, 16, 7, 5}), 24, {1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}}))}, small_target(60, 12));
        REQUIRE(columns.biases.size() == 2);
        REQUIRE(columns.biases[1].clamp == 1);
        REQUIRE(columns.strips[0].bias_row == 1);
        return columns;
    };
    CHECK_NOTHROW(validate(view(clamped()), "file.tasks"));
    const auto damaged = [&](auto damage) { rejected(damage, clamped()); };
    damaged([](TasksColumns& c) { c.biases.pop_back(); });
    damaged([](TasksColumns& c) { c.biases.clear(); });
    damaged([](TasksColumns& c) { c.biases[0].constant = 0; });
    damaged([](TasksColumns& c) { c.biases[1].constant = 1; });
    damaged([](TasksColumns& c) { c.biases[1].constant = no_id; });
    damaged([](TasksColumns& c) { c.biases[1].first_row = c.families[1].tile_rows; });
    damaged([](TasksColumns& c) { c.biases[1].row_count = c.families[1].tile_rows + 1; });
    damaged([](TasksColumns& c) { c.biases[1].clamp = 2; });
    damaged([](TasksColumns& c) { c.constants[0].offset = 1; });
    damaged([](TasksColumns& c) { c.constants[0].weight = 99; });
    damaged([](TasksColumns& c) { c.constants[0].column_stride = 1; });
    damaged([](TasksColumns& c) {    // the bias comes behind the clamp
        c.strips[0].bias_row = 0;
        --c.strips[0].rows;
        --c.strips[0].block_count;
    });
    // Sums of several strips cannot be clamped strip by strip.
    rejected([](TasksColumns& c) { c.biases.back().clamp = 1; }, banded());
    rejected([](TasksColumns& c) { c.biases[1].clamp = 1; }, banded());
}

TEST_CASE("what the schema promises is checked") {
    CHECK_NOTHROW(validate(view(good()), "file.tasks"));
    rejected([](TasksColumns& c) { c.tensors[0].rows = 0; });
    rejected([](TasksColumns& c) { c.tensors[1].producer = 1; });
    rejected([](TasksColumns& c) { c.tensors[0].row_stride = 1; });
    rejected([](TasksColumns& c) { c.tensors[0].channels = 1U << 31U; });
    rejected([](TasksColumns& c) { c.tensors[1].gap = 0; });
    rejected([](TasksColumns& c) { c.families[0].kind = 4; });
    rejected([](TasksColumns& c) { c.families[0].output = 0; });
    rejected([](TasksColumns& c) { c.families[0].input_count = 0; });
    rejected([](TasksColumns& c) { std::swap(c.families[0], c.families[1]); });
    rejected([](TasksColumns& c) { c.families[1].stride_rows = 0; });
    rejected([](TasksColumns& c) { c.families[1].crossbars += 1; });
    rejected([](TasksColumns& c) { c.families[0].name = 1U << 20U; });
    rejected([](TasksColumns& c) { c.inputs[0] = 99; });
    rejected([](TasksColumns& c) { c.strips[0].rows += 1; });
    rejected([](TasksColumns& c) { c.strips[0].piece_count = 1U << 31U; });
    rejected([](TasksColumns& c) { c.pieces[0].input = 1; });
    rejected([](TasksColumns& c) { c.pieces[0].column_elems = 1000; });
    rejected([](TasksColumns& c) { c.targets[0].channel = 1; });
    rejected([](TasksColumns& c) { c.blocks[0].rows += 1; });
    rejected([](TasksColumns& c) { c.blocks[0].offset += 3 * 3 * 3 * 40; });
    rejected([](TasksColumns& c) { c.steps[0].kind = 99; });
    rejected([](TasksColumns& c) { c.steps[0].operand = 99; });
    rejected([](TasksColumns& c) { c.steps[0].operand_kind = 0; });
    rejected([](TasksColumns& c) { c.constants[0].offset = 1; });
    rejected([](TasksColumns& c) { c.constants[0].row_stride = 1; });
    rejected([](TasksColumns& c) { c.copies[0].length = 0; });
    rejected([](TasksColumns& c) { std::swap(c.copies[0], c.copies[1]); });
    rejected([](TasksColumns& c) { c.copies[1].source_position = 35; });
    rejected([](TasksColumns& c) { c.moves[0].copy_count -= 1; });
    rejected([](TasksColumns& c) { c.lanes[0].tile_count += 1; });
    rejected([](TasksColumns& c) { c.lanes[0].family = 1; });
    rejected([](TasksColumns& c) { c.lanes.back().first_position += 1; });
    rejected([](TasksColumns& c) { c.demands[0].position_count = 36; });
    rejected([](TasksColumns& c) { c.demands[0].input = 9; });
    rejected([](TasksColumns& c) { c.graph_outputs[0] = 0; });
    rejected([](TasksColumns& c) { c.graph_inputs.clear(); });
    rejected([](TasksColumns& c) { c.name_pool.back() = 'x'; });
}
