#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// Candidates of one retention: a row of objectives each, all to be minimised, component 0 the leading one (cycles).
struct FrontierRows {
    std::span<const std::uint64_t> objectives;   ///< rows x components, row-major
    std::size_t components = 0;
    std::span<const std::uint32_t> signature;    ///< only rows of one signature can replace each other
    std::span<const std::uint32_t> family;       ///< rows of one family are alike; may be empty: all alike

    [[nodiscard]] std::size_t count() const { return signature.size(); }
    [[nodiscard]] std::span<const std::uint64_t> row(std::size_t index) const { return objectives.subspan(index * components, components); }
};

struct RetentionCounts {
    std::uint64_t candidates = 0;
    std::uint64_t dominated = 0;    ///< strictly worse than another of the same signature, or equal to an earlier one
    std::uint64_t capped = 0;       ///< non-dominated, dropped for the cap
};

/// Whether `a` is no worse in every component.
[[nodiscard]] bool covers(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

/// Rows to keep, by component 0 and then by index. First everything dominated within its signature goes (of equal rows the
/// earliest stays). If more than `cap` remain, the survivors are, while the cap allows: the best of component 0, the
/// best of every other component, the cheapest of every family, then by component 0. Deterministic; never keeps a dominated row.
[[nodiscard]] std::vector<std::uint32_t> retain(const FrontierRows& rows, std::size_t cap, RetentionCounts* counts = nullptr);

}  // namespace weft
