#include "check_network.h"
#include "prepare/matrix.h"

using namespace weft;
using namespace weft::testing;
using namespace weft::preparation;

namespace {

std::vector<MappingChoice> all_choices(const MatrixProblem& problem, std::uint32_t widest_tile, const ChipFacts& chip) {
    std::vector<MappingChoice> choices;
    for (const MappingLadder& ladder : mapping_ladders(problem, widest_tile, chip)) {
        for (const std::uint32_t width : ladder.widths) {
            choices.push_back(ladder.choice);
            choices.back().tile_columns = width;
        }
    }
    return choices;
}

}  // namespace

TEST_CASE("convolutions of odd sizes, strides, pads and dilations compute the layer") {
    const std::vector<Window> windows = {
        {3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}}, {3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}}, {3, 3, {2, 1}, {0, 1, 1, 0}, {1, 1}},
        {5, 3, {1, 2}, {2, 0, 2, 2}, {1, 1}}, {3, 3, {1, 1}, {2, 2, 2, 2}, {2, 2}}, {1, 3, {1, 1}, {0, 2, 0, 1}, {1, 2}},
        {1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}}, {1, 1, {2, 2}, {0, 0, 0, 0}, {1, 1}}, {7, 5, {1, 1}, {0, 0, 0, 0}, {1, 1}},
        {3, 3, {3, 3}, {2, 2, 2, 2}, {1, 1}},
    };
    unsigned seed = 0;
    for (const Window& window : windows) {
        for (const std::uint32_t widest : {1U, 3U, 16U})
        for (const std::uint32_t channels : {1U, 3U, 50U, 130U}) {
            for (const std::uint32_t group : {1U, 2U}) {
                if (channels % group != 0) continue;
                CAPTURE(channels);
                CAPTURE(group);
                CAPTURE(seed);
                Network network(++seed);
                PrepareOptions options;
                options.widest_window = widest;
                network.check({network.conv(network.input({1, channels, 7, 5}), 34, window, group)}, small_target(8, 96), options);
            }
        }
    }
}

TEST_CASE("depthwise and grouped convolutions are block-diagonal") {
    for (const std::uint32_t multiplier : {1U, 2U}) {
        for (const std::uint32_t channels : {6U, 40U, 200U}) {
            CAPTURE(channels);
            Network network(channels);
            const TasksColumns columns = network.check({network.conv(network.input({1, channels, 7, 5}), channels * multiplier, {}, channels)});
            // One weight for each output position of a tile, none of the zeros between the channels.
            std::uint64_t weights = 0;
            const std::uint32_t bias = columns.constants[columns.biases[1].constant].weight;
            for (const MatrixBlock& block : columns.blocks) weights += block.weight == bias ? 0 : std::uint64_t{block.rows} * block.columns;
            CHECK(weights == std::uint64_t{9} * channels * multiplier * columns.families[1].tile_rows * columns.families[1].tile_columns);
        }
    }
    Network network;
    network.check({network.conv(network.input({1, 96, 5, 7}), 48, {}, 3)});
}

TEST_CASE("every choice of the mapping is a partition of the matrix") {
    const TargetColumns target = small_target(4, 96);
    const ChipFacts chip(view(target));
    const std::vector<std::vector<std::uint32_t>> parts{{36}, {17, 4, 15}};
    for (const auto& layer : {std::pair(1U, parts[0]), std::pair(1U, parts[1]), std::pair(3U, parts[0]), std::pair(12U, parts[0])}) {
        const std::uint32_t groups = layer.first;
        MatrixProblem problem;
        problem.spec = {0, groups, 36 / groups, 48 / groups, 0, 0, 48};
        problem.window.kernel_rows = 3;
        problem.window.kernel_columns = 2;
        problem.window.stride_rows = problem.window.stride_columns = groups == 12 ? 3 : 1;
        problem.window.dilation_rows = 1;
        problem.window.dilation_columns = groups == 3 ? 2 : 1;
        problem.spec.column_stride = problem.spec.inputs_per_group * 48;
        problem.spec.row_stride = problem.spec.column_stride * 2;
        problem.input_channels = layer.second;
        problem.output_rows = 4;
        problem.output_columns = 11;
        for (const MappingChoice& choice : all_choices(problem, 6, chip)) {
            CAPTURE(groups);
            CAPTURE(choice.tile_rows);
            CAPTURE(choice.tile_columns);
            CAPTURE(choice.groups_per_block);
            CAPTURE(form_name(choice.form));
            // Every weight once per output position of the tile.
            const std::size_t weights = std::size_t{3} * 2 * problem.spec.inputs_per_group * 48;
            std::vector<int> seen(weights * choice.positions(), 0);
            for (const ChannelBlock& block : channel_blocks(problem, choice.groups_per_block)) {
                for (const MappedStrip& strip : map_block(problem, block, choice, chip)) {
                    CHECK(strip.rows <= 128);
                    for (const MatrixBlock& part : strip.blocks) {
                        const auto target_of = std::find_if(strip.targets.begin(), strip.targets.end(), [&](const StripTarget& t) {
                            return part.column >= t.first_column && part.column + part.columns <= t.first_column + t.length;
                        });
                        REQUIRE(target_of != strip.targets.end());
                        for (std::uint32_t i = 0; i < part.rows; ++i)
                            for (std::uint32_t j = 0; j < part.columns; ++j) ++seen.at((target_of->row * choice.tile_columns + target_of->column) * weights + part.offset + i * part.row_stride + j * part.column_stride);
                    }
                    if (choice.form == StripForm::rows || choice.form == StripForm::pixels) CHECK(strip.pieces.size() == 1);
                }
            }
            CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
        }
    }
}

TEST_CASE("pools skip what lies outside") {
    const std::vector<Window> windows = {
        {3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}}, {2, 2, {2, 2}, {0, 0, 0, 0}, {1, 1}}, {3, 2, {1, 2}, {1, 0, 2, 1}, {1, 1}}, {3, 3, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    };
    for (const Window& window : windows) {
        for (const OperatorKind kind : {OperatorKind::MaxPool, OperatorKind::AveragePool}) {
            for (const bool count_pads : {false, true}) {
                Network network;
                network.check({network.pool(kind, network.input({1, 5, 7, 5}), window, count_pads)});
            }
        }
    }
    // Over everything: rows first, unless padding takes part.
    Network network;
    CHECK(network.check({network.global_pool(network.input({1, 37, 7, 5}))}).families.size() == 2);
    for (const bool count_pads : {false, true}) {
        Network padded;
        const Window window{7, 5, {9, 9}, {1, 1, 1, 1}, {1, 1}};
        CHECK(padded.check({padded.pool(OperatorKind::AveragePool, padded.input({1, 37, 7, 5}), window, count_pads)}).families.size() == 1);
    }
}