#include "inspect/where.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <optional>

#include "base/failure.h"

namespace weft {
namespace {

// Longer ones first, so that "<=" is not read as "<".
constexpr std::array<std::string_view, 7> operations = {"!=", "<=", ">=", "=", "<", ">", "~"};

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Exact for whole numbers of 64 bits, else as doubles, else as texts.
std::partial_ordering compare_texts(std::string_view left, std::string_view right) {
    if (const auto a = parse_number<std::uint64_t>(left), b = parse_number<std::uint64_t>(right); a && b) return *a <=> *b;
    if (const auto a = parse_number<std::int64_t>(left), b = parse_number<std::int64_t>(right); a && b) return *a <=> *b;
    if (const auto a = parse_number<double>(left), b = parse_number<double>(right); a && b) return *a <=> *b;
    return left <=> right;
}

}  // namespace

RowCondition::RowCondition(const std::string& text) {
    for (std::size_t place = 0; place < text.size(); ++place) {
        const auto found = std::ranges::find_if(operations, [&](std::string_view one) { return text.compare(place, one.size(), one) == 0; });
        if (found == operations.end()) continue;
        field_ = trimmed(std::string_view(text).substr(0, place));
        operation_ = *found;
        value_ = trimmed(std::string_view(text).substr(place + found->size()));
        break;
    }
    if (field_.empty()) throw Failure(ExitStatus::usage, fmt::format("--where '{}': FIELD OP VALUE is needed, with = != < <= > >= or ~", text));
}

bool RowCondition::applies_to(const ColumnView& column) const {
    if (field_ == "row") return true;
    if (column.fields.size() == 1 && column.fields[0].empty()) return field_ == "value";
    return std::ranges::find(column.fields, std::string_view(field_)) != column.fields.end();
}

bool RowCondition::holds(const ColumnView& column, std::size_t row, const std::vector<CellValue>& cells) const {
    std::string text = fmt::format("{}", row);
    if (field_ != "row") {
        const auto found = std::ranges::find(column.fields, std::string_view(field_));
        text = to_text(cells[found == column.fields.end() ? 0 : static_cast<std::size_t>(found - column.fields.begin())]);
    }
    if (operation_ == "~") return text.find(value_) != std::string::npos;
    const std::partial_ordering order = compare_texts(text, value_);
    if (operation_ == "=") return order == 0;
    if (operation_ == "!=") return order != 0;
    if (operation_ == "<") return order < 0;
    if (operation_ == "<=") return order <= 0;
    if (operation_ == ">") return order > 0;
    return order >= 0;
}

bool all_hold(const std::vector<RowCondition>& conditions, const ColumnView& column, std::size_t row, const std::vector<CellValue>& cells) {
    return std::ranges::all_of(conditions, [&](const RowCondition& one) { return one.applies_to(column) && one.holds(column, row, cells); });
}

}  // namespace weft
