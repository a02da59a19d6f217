#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/random.h"
#include "frontier/retain.h"

using namespace weft;

namespace {

struct Rows {
    std::vector<std::uint64_t> objectives;
    std::vector<std::uint32_t> signature;
    std::vector<std::uint32_t> family;
    std::size_t components = 6;
    [[nodiscard]] FrontierRows view() const { return {objectives, components, signature, family}; }
};

Rows random_rows(Random& random, std::uint32_t count, std::uint32_t spread) {
    Rows rows;
    for (std::uint32_t i = 0; i < count; ++i) {
        for (std::size_t c = 0; c < rows.components; ++c) rows.objectives.push_back(random.below(spread));
        rows.signature.push_back(random.below(3));
        rows.family.push_back(random.below(5));
    }
    return rows;
}

std::vector<std::uint32_t> non_dominated_by_pairs(const FrontierRows& rows) {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t a = 0; a < rows.count(); ++a) {
        bool lost = false;
        for (std::uint32_t b = 0; b < rows.count() && !lost; ++b) {
            if (a == b || rows.signature[a] != rows.signature[b] || !covers(rows.row(b), rows.row(a))) continue;
            lost = !covers(rows.row(a), rows.row(b)) || b < a;
        }
        if (!lost) kept.push_back(a);
    }
    return kept;
}

}  // namespace

TEST_CASE("without a cap exactly the non-dominated rows stay") {
    Random random(1);
    for (int round = 0; round < 200; ++round) {
        const Rows rows = random_rows(random, 1 + random.below(80), 2 + random.below(6));
        std::vector<std::uint32_t> kept = retain(rows.view(), 1000);
        CHECK(std::ranges::is_sorted(kept, {}, [&](std::uint32_t r) { return std::pair(rows.view().row(r)[0], r); }));
        std::ranges::sort(kept);
        CHECK(kept == non_dominated_by_pairs(rows.view()));
    }
}

TEST_CASE("under a cap: the best of every component and of every family, the rest by cycles") {
    Random random(2);
    for (int round = 0; round < 200; ++round) {
        const Rows rows = random_rows(random, 60, 40);
        const FrontierRows view = rows.view();
        const std::vector<std::uint32_t> all = retain(view, 1000);
        const std::size_t cap = 12;
        RetentionCounts counts;
        const std::vector<std::uint32_t> kept = retain(view, cap, &counts);
        REQUIRE(kept.size() == std::min(cap, all.size()));
        CHECK(counts.candidates == counts.dominated + counts.capped + kept.size());
        for (const std::uint32_t row : kept) CHECK(std::ranges::find(all, row) != all.end());
        for (std::size_t c = 0; c < 6; ++c) {
            const auto least = [&](const auto& list) {
                return view.row(*std::ranges::min_element(list, {}, [&](std::uint32_t r) { return view.row(r)[c]; }))[c];
            };
            CHECK(least(kept) == least(all));
        }
        std::set<std::uint32_t> families;
        for (const std::uint32_t row : all) families.insert(rows.family[row]);
        std::set<std::uint32_t> kept_families;
        for (const std::uint32_t row : kept) kept_families.insert(rows.family[row]);
        CHECK(families == kept_families);   // 1 + 5 components + 5 families fit into 12 at most
        CHECK(retain(view, 1) == std::vector<std::uint32_t>{all.front()});
        CHECK(retain(view, 0).empty());
    }
}

TEST_CASE("permuted candidates leave the same rows, ties apart") {
    Random random(3);
    for (int round = 0; round < 100; ++round) {
        Rows rows = random_rows(random, 50, 30);
        for (std::uint32_t i = 0; i < 50; ++i) rows.objectives[i * 6] = 100 * rows.objectives[i * 6] + i;   // no two rows tie
        std::vector<std::uint32_t> order(50);
        for (std::uint32_t i = 0; i < 50; ++i) order[i] = i;
        for (std::uint32_t i = 50; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
        Rows permuted;
        for (const std::uint32_t row : order) {
            for (std::size_t c = 0; c < 6; ++c) permuted.objectives.push_back(rows.objectives[row * 6 + c]);
            permuted.signature.push_back(rows.signature[row]);
            permuted.family.push_back(rows.family[row]);
        }
        const auto kept = retain(rows.view(), 9);
        const auto kept_permuted = retain(permuted.view(), 9);
        REQUIRE(kept.size() == kept_permuted.size());
        for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i] == order[kept_permuted[i]]);
    }
}
