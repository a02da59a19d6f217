#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "inspect/column_view.h"
#include "inspect/where.h"

namespace weft {

/// Which rows and columns dump prints.
struct DumpOptions {
    std::vector<std::string> columns;   ///< empty: all
    std::size_t first_row = 0;
    std::size_t row_count = std::numeric_limits<std::size_t>::max();
    std::vector<RowCondition> where;    ///< only rows for which all hold
    bool names = false;                 ///< print fields called "name" and "label(s)" as texts of the name pool
};

/// Kind, size, hash, key figures, and rows and bytes of every column.
[[nodiscard]] std::string stat_text(const AnyArtifact& artifact);
[[nodiscard]] std::string stat_json(const AnyArtifact& artifact);

/// Tab-separated tables: per column a line "# name: N rows", a line of field names (a leading "row" first), and the rows.
[[nodiscard]] std::string dump_text(const AnyArtifact& artifact, const DumpOptions& options);
/// One JSON object per artifact: scalars as values, columns as lists, rows of structs as objects.
[[nodiscard]] std::string dump_json(const AnyArtifact& artifact, const DumpOptions& options);

struct Difference {
    std::string text;                   ///< one line per difference, at most `limit` rows per column
    std::size_t columns = 0;            ///< columns that differ
};
/// What differs between two artifacts of one kind, column by column, row by row. Throws Failure(refused) where the kinds differ.
[[nodiscard]] Difference difference(const AnyArtifact& left, const AnyArtifact& right, std::size_t limit);

/// The schema of a kind (its name, its extension or its identifier); Failure(usage) where unknown.
[[nodiscard]] std::string schema_text(const std::string& kind);

}  // namespace weft
