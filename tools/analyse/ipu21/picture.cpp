#include "analyse/ipu21/picture.h"

#include <algorithm>
#include <numeric>

#include "ipu21/topology.h"

namespace weft::ipu21 {
namespace {

constexpr double chart_width = 900;
constexpr double tile_height = 0.5;
constexpr double left_margin = 70;
constexpr double top_margin = 60;
constexpr double cell = 9;
constexpr const char* send_colour = "#d95f02";
constexpr const char* receive_colour = "#1b6ca8";

/// Tiles sorted by physical id: rows of the array lie together.
std::vector<std::uint32_t> physical_ranks(const Topology& topology) {
    std::vector<std::uint32_t> order(topology.tile_count());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t tile) { return topology.physical(TileId(tile)); });
    std::vector<std::uint32_t> rank(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    return rank;
}

class Picture {
public:
    Picture(const Program& program, const Target& target, std::uint32_t phase)
        : program_(program), phase_(program.tile_phases[phase]), topology_(target), rank_(physical_ranks(topology_)),
          sent_(topology_.tile_count(), 0), received_(topology_.tile_count(), 0), rows_(target.ipu21.tile_rows) {}

    std::string draw(std::uint32_t number) {
        for (std::uint32_t i = phase_.first_transfer; i < phase_.first_transfer + phase_.transfer_count; ++i) add_transfer(program_.tile_transfers[i]);
        const double height = top_margin + tile_height * topology_.tile_count() + 60;
        std::string text = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
                                       "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                                       left_margin + chart_width + 80 + 2 * (16 * cell + 40), height);
        const std::string_view name = program_.labels.empty() ? "" : pool_text(program_.name_pool, program_.labels[program_.tile_steps[phase_.step].operator_index]);
        text += fmt::format("<text x=\"{:.0f}\" y=\"22\" font-size=\"15\">phase {} of operator '{}': {} transfers, {} cycles, {} slots</text>\n", left_margin, number,
                            escaped(name), phase_.transfer_count, phase_.cycles, phase_.slots);
        text += fmt::format("<text x=\"{:.0f}\" y=\"44\"><tspan fill=\"{}\">sending</tspan> <tspan fill=\"{}\">receiving</tspan>, "
                            "tiles in physical order, cycles to the right</text>\n",
                            left_margin, send_colour, receive_colour);
        text += axes();
        text += bars_;
        text += floor_plan(left_margin + chart_width + 50, "words sent", sent_, send_colour);
        text += floor_plan(left_margin + chart_width + 90 + 16 * cell, "words received", received_, receive_colour);
        return text + "</svg>\n";
    }

private:
    static std::string escaped(std::string_view text) {
        std::string result;
        for (const char c : text) {
            if (c == '<') result += "&lt;";
            else if (c == '&') result += "&amp;";
            else result += c;
        }
        return result;
    }

    [[nodiscard]] double x_of(std::uint32_t cycle) const { return left_margin + chart_width * cycle / std::max(1U, phase_.cycles); }

    void bar(std::uint32_t tile, const TileTransfer& transfer, const char* colour) {
        bars_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x_of(transfer.start),
                             top_margin + tile_height * rank_[tile], std::max(0.5, x_of(transfer.end) - x_of(transfer.start)), tile_height, colour);
    }

    void add_transfer(const TileTransfer& transfer) {
        bar(transfer.source, transfer, send_colour);
        sent_[transfer.source] += transfer.words;
        for (const std::uint32_t tile : program_.tile_receivers.subspan(transfer.first_receiver, transfer.receiver_count)) {
            bar(tile, transfer, receive_colour);
            received_[tile] += transfer.words;
        }
    }

    [[nodiscard]] std::string axes() const {
        std::string text;
        const double bottom = top_margin + tile_height * topology_.tile_count();
        for (int tick = 0; tick <= 4; ++tick) {
            const auto cycle = static_cast<std::uint32_t>(std::uint64_t{phase_.cycles} * static_cast<std::uint32_t>(tick) / 4);
            text += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"#ddd\"/><text x=\"{0:.1f}\" y=\"{3:.0f}\" "
                                "text-anchor=\"middle\">{4}</text>\n",
                                x_of(cycle), top_margin, bottom, bottom + 18, cycle);
        }
        const double row_height = tile_height * topology_.tile_count() / rows_;
        for (std::uint32_t row = 0; row < rows_; row += 2) {
            text += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#666\">row {}</text>\n", left_margin - 6,
                                top_margin + row_height * (row + 0.6), row);
        }
        return text;
    }

    /// One square per place of the array, in it the four tiles that share it.
    [[nodiscard]] std::string floor_plan(double x, std::string_view title, const std::vector<std::uint64_t>& words, const char* colour) const {
        const std::uint64_t most = std::max<std::uint64_t>(1, *std::ranges::max_element(words));
        std::string text = fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{} (at most {})</text>\n", x, top_margin - 6, title, most);
        for (std::uint32_t tile = 0; tile < topology_.tile_count(); ++tile) {
            const std::uint32_t physical = topology_.physical(TileId(tile));
            const double column = (physical & 63U) / 4 + ((physical & 1U) != 0 ? 0.5 : 0.0);
            const double row = (physical >> 6U) + ((physical & 2U) != 0 ? 0.5 : 0.0);
            const double share = static_cast<double>(words[tile]) / static_cast<double>(most);
            text += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" fill-opacity=\"{:.2f}\" stroke=\"#eee\" "
                                "stroke-width=\"0.3\"/>\n",
                                x + column * cell, top_margin + row * cell, cell / 2, cell / 2, words[tile] == 0 ? "#f2f2f2" : colour,
                                words[tile] == 0 ? 1.0 : 0.15 + 0.85 * share);
        }
        return text;
    }

    const Program& program_;
    const TilePhase& phase_;
    Topology topology_;
    std::vector<std::uint32_t> rank_;
    std::vector<std::uint64_t> sent_;
    std::vector<std::uint64_t> received_;
    std::uint32_t rows_;
    std::string bars_;
};

}  // namespace

std::uint32_t longest_phase(const Program& program) {
    return static_cast<std::uint32_t>(std::ranges::max_element(program.tile_phases, {}, &TilePhase::cycles) - program.tile_phases.begin());
}

std::string exchange_picture(const Program& program, const Target& target, std::uint32_t phase) { return Picture(program, target, phase).draw(phase); }

}  // namespace weft::ipu21
