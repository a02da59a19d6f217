#pragma once

#include <string>
#include <vector>

#include "inspect/column_view.h"

namespace weft {

/// A condition on the rows of a column, as --where has it: FIELD OP VALUE. FIELD is a field of the column's struct, "value" for plain
/// columns, or "row"; OP one of = != < <= > >= and ~ (text that contains VALUE). Numbers compare as numbers, all else as text.
class RowCondition {
public:
    /// Throws Failure(usage) where `text` is none.
    explicit RowCondition(const std::string& text);

    [[nodiscard]] const std::string& field() const { return field_; }
    /// Whether the column has the field.
    [[nodiscard]] bool applies_to(const ColumnView& column) const;
    /// `cells` are the row's, in the order of the column's fields, names resolved where the caller resolves them.
    [[nodiscard]] bool holds(const ColumnView& column, std::size_t row, const std::vector<CellValue>& cells) const;

private:
    std::string field_;
    std::string operation_;
    std::string value_;
};

/// Rows for which all conditions hold that apply; a column without one of the fields has none.
[[nodiscard]] bool all_hold(const std::vector<RowCondition>& conditions, const ColumnView& column, std::size_t row, const std::vector<CellValue>& cells);

}  // namespace weft
