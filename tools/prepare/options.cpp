#include "prepare/options.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "prepare/sums.h"

namespace weft::preparation {
namespace {

std::uint64_t crossbars_of(std::span<const MappedStrip> strips) {
    std::uint64_t sum = 0;
    for (const MappedStrip& strip : strips) sum += strip.crossbars;
    return sum;
}

/// Ends of the parts that filling up to `limit` crossbars makes: full cores leave less over than even parts would.
std::vector<std::size_t> fill_parts(const std::vector<MappedStrip>& strips, std::uint64_t limit) {
    std::vector<std::size_t> ends;
    std::uint64_t used = 0;
    for (std::size_t s = 0; s < strips.size(); ++s) {
        if (used != 0 && used + strips[s].crossbars > limit) {
            ends.push_back(s);
            used = 0;
        }
        used += strips[s].crossbars;
    }
    ends.push_back(strips.size());
    return ends;
}

/// Widths for strips wider than a core: equal groups of columns, so many that whole groups fill a core best.
std::vector<ChannelBlock> column_blocks(const MatrixProblem& problem, const ChipFacts& chip) {
    const std::uint32_t outputs = problem.spec.outputs_per_group;
    const std::uint32_t width = ceil_divide(outputs, chip.results_per_crossbar);
    if (width <= chip.crossbars_per_core) return {ChannelBlock{0, 1, 0, outputs}};
    const std::uint32_t fewest = ceil_divide(width, chip.crossbars_per_core);
    std::uint32_t best = fewest;
    std::uint32_t best_used = 0;
    for (std::uint32_t count = fewest; count <= std::min(width, fewest * 4); ++count) {
        const std::uint32_t each = ceil_divide(width, count);
        const std::uint32_t used = chip.crossbars_per_core / each * each;
        if (used > best_used) {
            best = count;
            best_used = used;
        }
    }
    const std::uint32_t each = ceil_divide(width, best) * chip.results_per_crossbar;
    std::vector<ChannelBlock> blocks;
    for (std::uint32_t first = 0; first < outputs; first += each) blocks.push_back(ChannelBlock{0, 1, first, std::min(each, outputs - first)});
    return blocks;
}

/// Targets counted from the group's own first channel; neighbouring positions with all its channels lie side by side in the
/// output, so they are one target.
void settle_targets(MappedStrip& strip, const ColumnGroup& group) {
    std::vector<StripTarget> settled;
    for (StripTarget target : strip.targets) {
        target.channel -= group.first_channel;
        if (!settled.empty() && target.length == group.channel_count) {
            StripTarget& last = settled.back();
            if (last.channel == 0 && last.row == target.row && last.column + last.length / group.channel_count == target.column) {
                last.length += target.length;
                continue;
            }
        }
        settled.push_back(target);
    }
    strip.targets = std::move(settled);
}

/// True where the strips write every output of `rows` rows of the tile.
bool covers_outputs(std::span<const MappedStrip> strips, std::uint32_t rows, std::uint32_t columns, std::uint32_t channels) {
    std::vector<char> touched(std::size_t{rows} * columns * channels, 0);
    for (const MappedStrip& strip : strips) {
        for (const StripTarget& target : strip.targets) {
            std::fill_n(touched.begin() + (target.row * columns + target.column) * channels + target.channel, target.length, 1);
        }
    }
    return std::find(touched.begin(), touched.end(), 0) == touched.end();
}

std::int64_t tile_count(const MatrixProblem& problem, const MappingChoice& choice) {
    return std::int64_t{ceil_divide(problem.output_rows, choice.tile_rows)} * ceil_divide(problem.output_columns, choice.tile_columns);
}

/// Every result of a tile has a column in some strip, so a block's results of one tile bound its crossbars from below.
bool too_large(const MatrixProblem& problem, const MappingChoice& choice, const ChipFacts& chip) {
    const std::uint64_t results = std::uint64_t{choice.groups_per_block} * problem.spec.outputs_per_group * choice.positions();
    return results > std::uint64_t{chip.crossbars_per_core} * chip.results_per_crossbar;
}

/// The last tile of a row or column computes some positions again. As a part of the sum, what it writes there would be another part
/// than its neighbour's, so parts need tiles that divide the output.
bool divides(const MatrixProblem& problem, const MappingChoice& choice) {
    return problem.output_rows % choice.tile_rows == 0 && problem.output_columns % choice.tile_columns == 0;
}

/// What moving a tile's outputs to another core costs both.
std::int64_t transfer_ns(std::uint32_t outputs, const ChipFacts& chip) { return 3 * chip.timing.copy_ns(outputs); }

/// Input elements that a tile adds to those of its neighbours.
std::uint32_t new_inputs(const MatrixProblem& problem, const MappingChoice& choice) {
    return choice.positions() * problem.window.stride_rows * problem.window.stride_columns * problem.pixel_channels();
}

/// Prices a choice; false where it cannot be used.
bool price(const MatrixProblem& problem, LayerOption& option, const ChipFacts& chip) {
    const MappingChoice& choice = option.choice;
    const std::int64_t tiles = tile_count(problem, choice);
    const auto groups = column_groups(problem, choice, chip, false);
    for (const ColumnGroup& group : groups) {
        const std::uint32_t outputs = group.channel_count * choice.positions();
        option.work_ns += tiles * static_cast<std::int64_t>(group.part_ends.size()) * transfer_ns(new_inputs(problem, choice), chip);
        if (groups.size() > 1) option.work_ns += tiles * (transfer_ns(outputs, chip) + chip.timing.copy_ns(outputs));
        if (group.part_ends.size() > 1) {
            if (!divides(problem, choice)) return false;
            const std::int64_t join = transfer_ns(outputs, chip) + chip.timing.vector_ns(Opcode::Vvadd, outputs);
            option.work_ns += tiles * static_cast<std::int64_t>(group.part_ends.size()) * join;
            if (problem.clamp) option.work_ns += tiles * chip.timing.vector_ns(Opcode::Vrelu, outputs);
        }
        std::size_t first = 0;
        for (const std::size_t end : group.part_ends) {
            const auto strips = std::span(group.strips).subspan(first, end - first);
            if (!covers_outputs(strips, choice.tile_rows, choice.tile_columns, group.channel_count)) return false;
            const std::uint64_t crossbars = crossbars_of(strips);
            if (crossbars > chip.crossbars_per_core) return false;
            // Of several parts the first has the bias, and their sum is clamped.
            const SumTail tail{problem.bias && first == 0, problem.clamp && group.part_ends.size() == 1, 0, all_rows, problem.bias_in_matrix()};
            const TileCost cost = plan_sums(strips, choice.tile_rows, choice.tile_columns, group.channel_count, tail, chip).cost;
            option.parts.push_back({tiles * cost.total(), static_cast<std::uint32_t>(crossbars)});
            option.work_ns += option.parts.back().work_ns;
            option.crossbars += crossbars;
            first = end;
        }
    }
    return true;
}

/// As `price`, for choices whose parts are bands of rows.
bool price_banded(const MatrixProblem& problem, LayerOption& option, const ChipFacts& chip) {
    const MappingChoice& choice = option.choice;
    const std::int64_t tiles = tile_count(problem, choice);
    const auto groups = column_groups(problem, choice, chip, false);
    for (const ColumnGroup& group : groups) {
        if (group.bands.empty()) return false;
        const std::uint32_t row_elems = choice.tile_columns * group.channel_count;
        if (groups.size() > 1) {
            const std::uint32_t outputs = choice.tile_rows * row_elems;
            option.work_ns += tiles * (transfer_ns(outputs, chip) + chip.timing.copy_ns(outputs));
        }
        // The bands share the rows of the window, and overlap in the rows that they make.
        option.work_ns += tiles * transfer_ns(window_rows(problem, choice.tile_rows) * choice.tile_columns * problem.window.stride_columns * problem.pixel_channels(), chip);
        std::uint32_t rows = 0;
        std::size_t first = 0;
        for (std::size_t part = 0; part < group.bands.size(); ++part) {
            const auto strips = std::span(group.strips).subspan(first, group.part_ends[part] - first);
            const std::uint32_t band_rows = group.bands[part].row_count;
            const RowBand bias_rows = first_rows(group.bands, part);
            const SumTail tail{problem.bias, false, bias_rows.first_row, bias_rows.row_count, problem.bias_in_matrix()};
            const TileCost cost = plan_sums(strips, band_rows, choice.tile_columns, group.channel_count, tail, chip).cost;
            option.parts.push_back({tiles * cost.total(), static_cast<std::uint32_t>(crossbars_of(strips))});
            option.work_ns += option.parts.back().work_ns + tiles * transfer_ns(band_rows * row_elems, chip);
            option.crossbars += option.parts.back().crossbars;
            rows += band_rows;
            first = group.part_ends[part];
        }
        option.work_ns += tiles * (rows - choice.tile_rows) * chip.timing.vector_ns(Opcode::Vvadd, row_elems);
        if (problem.clamp) option.work_ns += tiles * chip.timing.vector_ns(Opcode::Vrelu, choice.tile_rows * row_elems);
    }
    return true;
}

/// One block of a grouped layer: alone in its family its results need no copies.
struct BlockPrice {
    std::uint32_t channels = 0;
    std::uint64_t crossbars = 0;
    std::int64_t alone_ns = 0;      // per tile
    std::int64_t beside_ns = 0;     // beside other blocks
};

BlockPrice price_block(const MatrixProblem& problem, const ChannelBlock& block, const MappingChoice& choice, const ChipFacts& chip) {
    ColumnGroup group{block.first_output, block.output_count, map_block(problem, block, choice, chip, false), {}, {}};
    const std::uint64_t crossbars = crossbars_of(group.strips);
    for (MappedStrip& strip : group.strips) {
        for (StripTarget& target : strip.targets) target.channel -= block.first_output;
    }
    const SumTail tail{problem.bias, problem.clamp, 0, all_rows, problem.bias_in_matrix()};
    const auto cost = [&](std::uint32_t channels) { return plan_sums(group.strips, choice.tile_rows, choice.tile_columns, channels, tail, chip).cost.total(); };
    const std::int64_t beside = cost(2 * block.output_count);
    for (MappedStrip& strip : group.strips) {
        for (StripTarget& target : strip.targets) target.channel += block.first_output;
        settle_targets(strip, group);
    }
    return {block.output_count, crossbars, cost(block.output_count), beside};
}

/// As `price`, for layers of many groups: all blocks but the last are alike, so two of them are mapped.
bool price_grouped(const MatrixProblem& problem, LayerOption& option, const ChipFacts& chip) {
    const MappingChoice& choice = option.choice;
    const std::int64_t tiles = tile_count(problem, choice);
    const auto blocks = channel_blocks(problem, choice.groups_per_block);
    const BlockPrice whole = price_block(problem, blocks.front(), choice, chip);
    const BlockPrice last = blocks.back().group_count == blocks.front().group_count ? whole : price_block(problem, blocks.back(), choice, chip);
    if (whole.crossbars > chip.family_crossbars) return choice.positions() == 1 && price(problem, option, chip);
    const std::size_t per_family = std::max<std::size_t>(1, chip.family_crossbars / whole.crossbars);
    const bool joined = blocks.size() > per_family;
    for (std::size_t first = 0; first < blocks.size(); first += per_family) {
        const std::size_t end = std::min(blocks.size(), first + per_family);
        PartNeed part;
        std::uint32_t channels = 0;
        for (std::size_t b = first; b < end; ++b) {
            const BlockPrice& block = b + 1 == blocks.size() ? last : whole;
            part.work_ns += tiles * (end - first == 1 ? block.alone_ns : block.beside_ns);
            part.crossbars += static_cast<std::uint32_t>(block.crossbars);
            channels += block.channels;
        }
        const std::uint32_t outputs = channels * choice.positions();
        option.work_ns += tiles * transfer_ns(new_inputs(problem, choice), chip);
        if (joined) option.work_ns += tiles * (transfer_ns(outputs, chip) + chip.timing.copy_ns(outputs));
        option.work_ns += part.work_ns;
        option.crossbars += part.crossbars;
        option.parts.push_back(part);
    }
    return true;
}

/// Strips of the window's input rows from `first` on, as many rows as `limit` crossbars hold; `count` is a guess that becomes their number.
std::vector<MappedStrip> widest_band(const MatrixProblem& problem, ChannelBlock block, const MappingChoice& choice, const ChipFacts& chip, std::uint32_t& count) {
    const std::uint32_t rows = window_rows(problem, choice.tile_rows) - block.first_row;
    const auto map = [&](std::uint32_t row_count) {
        block.row_count = row_count;
        return map_block(problem, block, choice, chip, false);
    };
    count = std::min(count, rows);
    std::vector<MappedStrip> strips = map(count);
    while (count > 1 && crossbars_of(strips) > chip.family_crossbars) strips = map(--count);
    while (count < rows) {
        auto more = map(count + 1);
        if (crossbars_of(more) > chip.family_crossbars) break;
        strips = std::move(more);
        ++count;
    }
    return strips;
}

/// The output rows that strips reach, from which their targets are counted then.
RowBand settle_rows(std::span<MappedStrip> strips, std::uint32_t tile_rows) {
    std::uint32_t first = tile_rows;
    std::uint32_t end = 0;
    for (const MappedStrip& strip : strips) {
        for (const StripTarget& target : strip.targets) {
            first = std::min(first, target.row);
            end = std::max(end, target.row + 1);
        }
    }
    for (MappedStrip& strip : strips) {
        for (StripTarget& target : strip.targets) target.row -= first;
    }
    return {first, end - first};
}

/// Parts that are bands of the window's input rows. Nothing where that is no choice: a row does not fit a core, there is one band
/// only, or a band leaves outputs of its rows untouched.
ColumnGroup cut_bands(const MatrixProblem& problem, const ChannelBlock& whole, const MappingChoice& choice, const ChipFacts& chip, bool with_blocks) {
    ColumnGroup group{whole.first_output, whole.output_count, {}, {}, {}};
    const std::uint32_t rows = window_rows(problem, choice.tile_rows);
    std::uint32_t count = 1;
    for (ChannelBlock block = whole; block.first_row < rows; block.first_row += count) {
        std::vector<MappedStrip> strips = widest_band(problem, block, choice, chip, count);
        if (count == rows || crossbars_of(strips) > chip.crossbars_per_core) return {};
        block.row_count = count;
        if (with_blocks) strips = map_block(problem, block, choice, chip, true);
        for (MappedStrip& strip : strips) settle_targets(strip, group);
        group.bands.push_back(settle_rows(strips, choice.tile_rows));
        if (!covers_outputs(strips, group.bands.back().row_count, choice.tile_columns, group.channel_count)) return {};
        std::move(strips.begin(), strips.end(), std::back_inserter(group.strips));
        group.part_ends.push_back(group.strips.size());
    }
    return group;
}

/// Pieces of whole rows; several rows to cut.
bool may_be_banded(const MatrixProblem& problem, const MappingChoice& choice) {
    return choice.tile_rows > 1 && problem.window.kernel_rows > 1 && (choice.form == StripForm::rows || choice.form == StripForm::gather);
}

}  // namespace

RowBand first_rows(std::span<const RowBand> bands, std::size_t part) {
    const RowBand& band = bands[part];
    const std::uint32_t end = band.first_row + band.row_count;
    std::uint32_t first = band.first_row;
    for (const RowBand& before : bands.first(part)) first = std::max(first, before.first_row + before.row_count);
    return first < end ? RowBand{first - band.first_row, end - first} : RowBand{};
}

std::vector<ColumnGroup> column_groups(const MatrixProblem& problem, const MappingChoice& choice, const ChipFacts& chip, bool with_blocks) {
    const bool dense = problem.spec.groups == 1;
    const auto blocks = dense ? column_blocks(problem, chip) : channel_blocks(problem, choice.groups_per_block);
    std::vector<ColumnGroup> groups;
    if (choice.banded) {
        for (const ChannelBlock& block : blocks) groups.push_back(cut_bands(problem, block, choice, chip, with_blocks));
        return groups;
    }
    std::uint64_t used = 0;
    for (const ChannelBlock& block : blocks) {
        std::vector<MappedStrip> strips = map_block(problem, block, choice, chip, with_blocks);
        const std::uint64_t crossbars = crossbars_of(strips);
        if (groups.empty() || dense || used + crossbars > chip.family_crossbars) {
            groups.push_back({block.first_output, 0, {}, {}, {}});
            used = 0;
        }
        used += crossbars;
        groups.back().channel_count += block.output_count;
        std::move(strips.begin(), strips.end(), std::back_inserter(groups.back().strips));
    }
    for (ColumnGroup& group : groups) {
        for (MappedStrip& strip : group.strips) settle_targets(strip, group);
        group.part_ends = fill_parts(group.strips, chip.family_crossbars);
    }
    return groups;
}

std::vector<LayerOption> layer_options(const MatrixProblem& problem, std::uint32_t widest_tile, const ChipFacts& chip) {
    std::vector<LayerOption> options;
    for (const MappingLadder& ladder : mapping_ladders(problem, widest_tile, chip)) {
        for (const std::uint32_t width : ladder.widths) {
            LayerOption option;
            option.choice = ladder.choice;
            option.choice.tile_columns = width;
            const bool dense = problem.spec.groups == 1;
            if (LayerOption banded = option; dense && may_be_banded(problem, banded.choice)) {
                banded.choice.banded = true;
                if (price_banded(problem, banded, chip)) options.push_back(std::move(banded));
            }
            if (dense ? price(problem, option, chip) : price_grouped(problem, option, chip)) {
                options.push_back(std::move(option));
            } else if (!dense || too_large(problem, option.choice, chip)) {
                break;
            }
        }
    }
    std::stable_sort(options.begin(), options.end(), [](const LayerOption& a, const LayerOption& b) {
        return std::pair(a.work_ns, a.crossbars) < std::pair(b.work_ns, b.crossbars);
    });
    std::vector<LayerOption> kept;
    for (LayerOption& option : options) {
        if (kept.empty() || option.crossbars < kept.back().crossbars) kept.push_back(std::move(option));
    }
    return kept;
}

}  // namespace weft::preparation
