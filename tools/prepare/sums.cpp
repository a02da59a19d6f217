#include "prepare/sums.h"

#include <algorithm>
#include <numeric>

#include "base/failure.h"
#include "prepare/shuffle.h"

namespace weft::preparation {
namespace {

/// Registers that a typical instruction has to load anew.
constexpr std::int64_t register_loads = 2;

/// Marks of a tile's outputs.
class OutputMarks {
public:
    OutputMarks(std::uint32_t rows, std::uint32_t columns, std::uint32_t channels)
        : columns_(columns), channels_(channels), marks_(std::size_t{rows} * columns * channels, 0) {}

    [[nodiscard]] std::size_t index(const StripTarget& target) const {
        return (std::size_t{target.row} * columns_ + target.column) * channels_ + target.channel;
    }
    void mark(const StripTarget& target) { std::fill_n(marks_.begin() + static_cast<std::ptrdiff_t>(index(target)), target.length, 1); }
    /// Calls function(first result of the target, length, marked) for its runs of equal marks.
    template <class Function>
    void for_each_run(const StripTarget& target, const Function& function) const {
        const std::size_t begin = index(target);
        for (std::uint32_t from = 0, to = 0; from < target.length; from = to) {
            while (to < target.length && marks_[begin + to] == marks_[begin + from]) ++to;
            function(from, to - from, marks_[begin + from] != 0);
        }
    }
    [[nodiscard]] bool is_marked(std::size_t output) const { return marks_[output] != 0; }

private:
    std::uint32_t columns_;
    std::uint32_t channels_;
    std::vector<char> marks_;
};

/// The parts of one tile, and the plan under construction.
class SumPlanner {
public:
    SumPlanner(std::span<const MappedStrip> strips, std::uint32_t tile_rows, std::uint32_t tile_columns, std::uint32_t channels, const SumTail& tail,
               const ChipFacts& chip)
        : strips_(strips), rows_(tile_rows), columns_(tile_columns), channels_(channels), tail_(tail), chip_(chip) {}

    [[nodiscard]] SumPlan plan() const {
        const bool in_rows = tail_.bias && tail_.in_matrix;
        SumPlan best{in_rows ? needed_rows() : std::vector<char>(strips_.size(), 0), false, {}};
        best.cost = cost_of(best);
        if (tail_.bias && !in_rows) {
            for (const std::int64_t halves : {1, 2}) {
                SumPlan chosen{worthwhile_rows(halves), false, {}};
                chosen.cost = cost_of(chosen);
                if (chosen.cost.total() < best.cost.total()) best = std::move(chosen);
            }
        }
        if (tail_.clamp && every_output_once()) {
            SumPlan clamping{std::vector<char>(strips_.size(), 0), true, {}};
            const bool possible = !tail_.bias || std::all_of(strips_.begin(), strips_.end(), [&](const MappedStrip& strip) { return !reaches_bias(strip) || has_spare_row(strip); });
            for (std::size_t s = 0; s < strips_.size(); ++s) clamping.bias_rows[s] = reaches_bias(strips_[s]) ? 1 : 0;
            clamping.cost = cost_of(clamping);
            if (possible && clamping.cost.total() < best.cost.total()) best = std::move(clamping);
        }
        return best;
    }

private:
    [[nodiscard]] std::int64_t loads() const { return register_loads * chip_.timing.scalar_ns(); }
    [[nodiscard]] std::int64_t copy_ns(std::uint32_t length) const { return chip_.timing.copy_ns(length) + loads(); }
    [[nodiscard]] std::int64_t add_ns(std::uint32_t length) const { return chip_.timing.vector_ns(Opcode::Vvadd, length) + loads(); }
    [[nodiscard]] std::int64_t gather_ns(const MappedStrip& strip) const {
        return std::accumulate(strip.pieces.begin(), strip.pieces.end(), std::int64_t{0}, [&](std::int64_t sum, const Piece& piece) { return sum + copy_ns(piece.length); });
    }
    [[nodiscard]] bool has_spare_row(const MappedStrip& strip) const { return strip.rows < chip_.crossbar_rows; }
    [[nodiscard]] bool reaches_bias(const MappedStrip& strip) const {
        return std::any_of(strip.targets.begin(), strip.targets.end(), [&](const StripTarget& target) { return tail_.has_bias(target.row); });
    }

    [[nodiscard]] bool every_output_once() const {
        OutputMarks reached(rows_, columns_, channels_);
        bool once = true;
        for (const MappedStrip& strip : strips_) {
            for (const StripTarget& target : strip.targets) {
                reached.for_each_run(target, [&](std::uint32_t, std::uint32_t, bool before) { once = once && !before; });
                reached.mark(target);
            }
        }
        return once;
    }

    /// The strips that reach some output first.
    [[nodiscard]] std::vector<char> needed_rows() const {
        OutputMarks biased(rows_, columns_, channels_);
        std::vector<char> chosen(strips_.size(), 0);
        for (std::size_t s = 0; s < strips_.size(); ++s) {
            for (const StripTarget& target : strips_[s].targets) {
                if (tail_.has_bias(target.row)) biased.for_each_run(target, [&](std::uint32_t, std::uint32_t, bool before) { chosen[s] = before ? chosen[s] : char{1}; });
            }
            if (chosen[s] == 0) continue;
            WEFT_CHECK(has_spare_row(strips_[s]), "a strip has no row for its bias");
            for (const StripTarget& target : strips_[s].targets) biased.mark(target);
        }
        return chosen;
    }

    /// Strips with a row to spare, those of most outputs first, as long as the outputs that get their bias by it are worth it: a whole addition each
    /// where the first results are then written in place, about half of one where they are copied. Which it is depends on all strips.
    [[nodiscard]] std::vector<char> worthwhile_rows(std::int64_t halves) const {
        std::vector<std::size_t> order;
        for (std::size_t s = 0; s < strips_.size(); ++s) {
            if (has_spare_row(strips_[s]) && reaches_bias(strips_[s])) order.push_back(s);
        }
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return strips_[a].columns > strips_[b].columns; });
        OutputMarks biased(rows_, columns_, channels_);
        std::vector<char> chosen(strips_.size(), 0);
        for (const std::size_t s : order) {
            const MappedStrip& strip = strips_[s];
            std::int64_t saved = strip.pieces.size() > 1 ? 0 : -gather_ns(strip);
            for (const StripTarget& target : strip.targets) {
                if (!tail_.has_bias(target.row)) continue;
                biased.for_each_run(target, [&](std::uint32_t, std::uint32_t length, bool before) { saved += before ? 0 : halves * add_ns(length) / 2; });
            }
            if (saved <= 0) continue;
            chosen[s] = 1;
            for (const StripTarget& target : strip.targets) biased.mark(target);
        }
        return chosen;
    }

    /// As emit_matrix does it.
    [[nodiscard]] TileCost cost_of(const SumPlan& plan) const {
        OutputMarks biased(rows_, columns_, channels_);
        for (std::size_t s = 0; s < strips_.size(); ++s) {
            if (plan.bias_rows[s] == 0) continue;
            for (const StripTarget& target : strips_[s].targets) biased.mark(target);
        }
        OutputMarks reached(rows_, columns_, channels_);
        std::uint32_t outputs = 0;
        TileCost cost;
        for (std::size_t s = 0; s < strips_.size(); ++s) {
            const MappedStrip& strip = strips_[s];
            if (strip.pieces.size() > 1 || plan.bias_rows[s] != 0) cost.copy_ns += gather_ns(strip);
            cost.mvmul_ns += chip_.timing.mvmul_ns(strip.crossbars) + loads();
            for (const StripTarget& target : strip.targets) {
                reached.for_each_run(target, [&](std::uint32_t from, std::uint32_t length, bool before) {
                    outputs += before ? 0 : length;
                    if (before) cost.add_ns += add_ns(length);
                    else add_first(cost, strip, target, from, length, biased);
                });
                reached.mark(target);
            }
        }
        if (tail_.clamp && !plan.clamp) cost.step_ns += chip_.timing.vector_ns(Opcode::Vrelu, outputs) + loads();
        return cost;
    }

    /// The first results of some outputs: added to the bias, copied, or written in place.
    void add_first(TileCost& cost, const MappedStrip& strip, const StripTarget& target, std::uint32_t from, std::uint32_t length, const OutputMarks& biased) const {
        if (!tail_.has_bias(target.row)) {
            if (length != strip.columns) cost.copy_ns += copy_ns(length);
            return;
        }
        const std::size_t first = biased.index(target) + from;
        for (std::uint32_t begin = 0, end = 0; begin < length; begin = end) {
            const bool has_it = biased.is_marked(first + begin);
            while (end < length && biased.is_marked(first + end) == has_it) ++end;
            if (!has_it) cost.add_ns += add_ns(end - begin);
            else if (end - begin != strip.columns) cost.copy_ns += copy_ns(end - begin);
        }
    }

    std::span<const MappedStrip> strips_;
    std::uint32_t rows_;
    std::uint32_t columns_;
    std::uint32_t channels_;
    const SumTail& tail_;
    const ChipFacts& chip_;
};

}  // namespace

SumPlan plan_sums(std::span<const MappedStrip> strips, std::uint32_t tile_rows, std::uint32_t tile_columns, std::uint32_t channels, const SumTail& tail,
                  const ChipFacts& chip) {
    return SumPlanner(strips, tile_rows, tile_columns, channels, tail, chip).plan();
}

void add_bias_rows(std::span<MappedStrip> strips, const SumPlan& plan, std::uint32_t tile_columns, std::uint32_t channels, const SumTail& tail,
                   const TaskConstant& bias, std::span<const std::uint32_t> columns, bool blocks) {
    std::uint32_t tile_rows = 0;
    for (const MappedStrip& strip : strips) {
        for (const StripTarget& target : strip.targets) tile_rows = std::max(tile_rows, target.row + 1);
    }
    OutputMarks biased(tile_rows, tile_columns, channels);
    for (std::size_t s = 0; s < strips.size(); ++s) {
        if (plan.bias_rows[s] == 0) continue;
        MappedStrip& strip = strips[s];
        strip.bias_row = true;
        const std::uint32_t row = strip.rows++;
        for (const StripTarget& target : strip.targets) {
            if (!blocks || !tail.has_bias(target.row)) continue;
            biased.for_each_run(target, [&](std::uint32_t from, std::uint32_t length, bool before) {
                if (before) return;
                for (std::uint32_t done = 0, part = 0; done < length; done += part) {
                    const std::uint32_t channel = (target.channel + from + done) % channels;
                    part = std::min(length - done, channels - channel);
                    const EvenRun run = columns.empty() ? EvenRun{part, 1} : even_run(columns.subspan(channel, part));
                    part = run.length;
                    const std::uint32_t first = columns.empty() ? channel : columns[channel];
                    strip.blocks.push_back({bias.weight, row, target.first_column + from + done, 1, part, bias.offset + first * bias.channel_stride, 0, run.step * bias.channel_stride});
                }
            });
        }
        for (const StripTarget& target : strip.targets) biased.mark(target);
    }
}

}  // namespace weft::preparation
