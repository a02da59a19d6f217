#include "frontier/retain.h"

#include <algorithm>
#include <numeric>

#include "base/failure.h"

namespace weft {
namespace {

/// Row indices of the non-dominated rows. Sorted by objectives within a signature, so that a row can only be dominated by one
/// that stands before it.
std::vector<std::uint32_t> non_dominated(const FrontierRows& rows) {
    std::vector<std::uint32_t> order(rows.count());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
        if (rows.signature[a] != rows.signature[b]) return rows.signature[a] < rows.signature[b];
        const auto left = rows.row(a);
        const auto right = rows.row(b);
        const auto compared = std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(), right.end());
        return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<std::uint32_t> kept;
    std::size_t group = 0;   // first kept row of the present signature
    for (const std::uint32_t row : order) {
        if (!kept.empty() && rows.signature[kept.back()] != rows.signature[row]) group = kept.size();
        const auto dominates = [&](std::uint32_t other) { return covers(rows.row(other), rows.row(row)); };
        if (std::any_of(kept.begin() + static_cast<std::ptrdiff_t>(group), kept.end(), dominates)) continue;
        kept.push_back(row);
    }
    return kept;
}

/// Picks rows one by one, each at most once, until the cap is reached.
class Picker {
public:
    Picker(std::size_t rows, std::size_t cap) : taken_(rows, false), cap_(cap) {}
    [[nodiscard]] bool full() const { return picked_.size() >= cap_; }
    void take(std::uint32_t row) {
        if (full() || taken_[row]) return;
        taken_[row] = true;
        picked_.push_back(row);
    }
    [[nodiscard]] std::vector<std::uint32_t>& picked() { return picked_; }

private:
    std::vector<bool> taken_;
    std::vector<std::uint32_t> picked_;
    std::size_t cap_;
};

}  // namespace

bool covers(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i]) return false;
    }
    return true;
}

std::vector<std::uint32_t> retain(const FrontierRows& rows, std::size_t cap, RetentionCounts* counts) {
    WEFT_CHECK(rows.components > 0 && rows.objectives.size() == rows.count() * rows.components);
    std::vector<std::uint32_t> kept = non_dominated(rows);
    const std::size_t survivors = kept.size();
    const auto cheaper = [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(rows.row(a)[0], a) < std::pair(rows.row(b)[0], b);
    };
    std::ranges::sort(kept, cheaper);
    if (kept.size() > cap) {
        Picker picker(rows.count(), cap);
        picker.take(kept.front());
        for (std::size_t component = 1; component < rows.components; ++component) {
            // min_element keeps the first of equals, which is the cheapest.
            picker.take(*std::ranges::min_element(kept, {}, [&](std::uint32_t row) { return rows.row(row)[component]; }));
        }
        if (!rows.family.empty()) {
            std::vector<std::uint32_t> seen;
            for (const std::uint32_t row : kept) {
                if (picker.full()) break;
                const auto at = std::ranges::lower_bound(seen, rows.family[row]);
                if (at != seen.end() && *at == rows.family[row]) continue;
                seen.insert(at, rows.family[row]);
                picker.take(row);
            }
        }
        for (const std::uint32_t row : kept) picker.take(row);
        kept = std::move(picker.picked());
        std::ranges::sort(kept, cheaper);
    }
    if (counts != nullptr) {
        counts->candidates += rows.count();
        counts->dominated += rows.count() - survivors;
        counts->capped += survivors - kept.size();
    }
    return kept;
}

}  // namespace weft
