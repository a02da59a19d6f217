#include "prepare/options.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

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
    if (width <= chip.crossbars_per_core) return {{0, 1, 0, outputs}};
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
    for (std::uint32_t first = 0; first < outputs; first += each) blocks.push_back({0, 1, first, std::min(each, outputs - first)});
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

/// True where every part of a group writes every output of the tile.
bool covers_outputs(std::span<const MappedStrip> strips, std::uint32_t outputs_of_tile, std::uint32_t channels) {
    std::vector<char> touched(outputs_of_tile, 0);
    for (const MappedStrip& strip : strips) {
        for (const StripTarget& target : strip.targets) std::fill_n(touched.begin() + target.column * channels + target.channel, target.length, 1);
    }
    return std::find(touched.begin(), touched.end(), 0) == touched.end();
}

/// Prices a choice; false where it cannot be used.
bool price(const MatrixProblem& problem, LayerOption& option, const ChipFacts& chip) {
    const std::uint32_t positions = option.choice.tile_columns;
    const std::int64_t tiles = std::int64_t{problem.output_rows} * ceil_divide(problem.output_columns, positions);
    const auto groups = column_groups(problem, option.choice, chip, false);
    for (const ColumnGroup& group : groups) {
        const std::uint32_t outputs = group.channel_count * positions;
        const std::int64_t transfer = 3 * chip.timing.copy_ns(outputs);
        if (groups.size() > 1) option.work_ns += tiles * (transfer + chip.timing.copy_ns(outputs));
        if (group.part_ends.size() > 1) {
            const std::int64_t join = transfer + chip.timing.vector_ns(Opcode::Vvadd, outputs);
            option.work_ns += tiles * static_cast<std::int64_t>(group.part_ends.size()) * join;
        }
        std::size_t first = 0;
        for (const std::size_t end : group.part_ends) {
            const auto strips = std::span(group.strips).subspan(first, end - first);
            if (!covers_outputs(strips, outputs, group.channel_count)) return false;
            const std::uint64_t crossbars = crossbars_of(strips);
            if (crossbars > chip.crossbars_per_core) return false;
            option.parts.push_back({tiles * strips_cost(strips, positions, group.channel_count, chip).total(), static_cast<std::uint32_t>(crossbars)});
            option.work_ns += option.parts.back().work_ns;
            option.crossbars += crossbars;
            first = end;
        }
    }
    return true;
}

}  // namespace

std::vector<ColumnGroup> column_groups(const MatrixProblem& problem, const MappingChoice& choice, const ChipFacts& chip, bool with_blocks) {
    const bool dense = problem.spec.groups == 1;
    const auto blocks = dense ? column_blocks(problem, chip) : channel_blocks(problem, choice.groups_per_block);
    std::vector<ColumnGroup> groups;
    std::uint64_t used = 0;
    for (const ChannelBlock& block : blocks) {
        std::vector<MappedStrip> strips = map_block(problem, block, choice, chip, with_blocks);
        const std::uint64_t crossbars = crossbars_of(strips);
        if (groups.empty() || dense || used + crossbars > chip.family_crossbars) {
            groups.push_back({block.first_output, 0, {}, {}});
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
    for (const MappingChoice& choice : mapping_choices(problem, widest_tile, chip)) {
        LayerOption option;
        option.choice = choice;
        if (price(problem, option, chip)) options.push_back(std::move(option));
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
