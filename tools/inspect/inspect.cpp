#include "inspect/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/failure.h"
#include "inspect/schema_texts.h"

namespace weft {
namespace {

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
}

std::vector<const ColumnView*> chosen_columns(const AnyArtifact& artifact, const DumpOptions& options) {
    std::vector<const ColumnView*> result;
    if (options.columns.empty()) {
        for (const auto& column : artifact.columns()) result.push_back(&column);
        return result;
    }
    for (const auto& name : options.columns) {
        const ColumnView* column = artifact.find(name);
        if (column == nullptr) {
            std::string known;
            for (const auto& other : artifact.columns()) append(known, "{}{}", known.empty() ? "" : ", ", other.name);
            refuse("{}: no column '{}' in a .{}; it has {}", artifact.name(), name, artifact.kind(), known);
        }
        result.push_back(column);
    }
    return result;
}

/// Fields that hold offsets of names; the schemas keep to these names.
bool holds_name(const ColumnView& column, std::size_t field) {
    return column.fields[field] == "name" || (column.fields[field].empty() && column.name == "labels");
}

/// Cells of a row, names resolved where asked.
std::vector<CellValue> cells_of(const AnyArtifact& artifact, const ColumnView& column, std::size_t row, bool names) {
    std::vector<CellValue> cells = column.row(row);
    if (!names) return cells;
    for (std::size_t field = 0; field < cells.size(); ++field) {
        if (!holds_name(column, field) || !std::holds_alternative<std::uint64_t>(cells[field])) continue;
        cells[field] = artifact.text_at(std::get<std::uint64_t>(cells[field]));
    }
    return cells;
}

struct PrintedRow {
    std::size_t row;
    std::vector<CellValue> cells;
};

/// The rows that the options ask for. A scalar is one row, whatever range they name.
std::vector<PrintedRow> rows_of(const AnyArtifact& artifact, const ColumnView& column, const DumpOptions& options) {
    std::vector<PrintedRow> rows;
    for (std::size_t row = column.is_scalar ? 0 : options.first_row; row < column.rows; ++row) {
        if (!column.is_scalar && rows.size() == options.row_count) break;
        auto cells = cells_of(artifact, column, row, options.names);
        if (all_hold(options.where, column, row, cells)) rows.push_back({row, std::move(cells)});
    }
    return rows;
}

/// A condition on a field that no column has is a slip of the pen.
void require_fields(const AnyArtifact& artifact, const std::vector<const ColumnView*>& columns, const DumpOptions& options) {
    for (const auto& condition : options.where) {
        if (std::any_of(columns.begin(), columns.end(), [&](const ColumnView* column) { return condition.applies_to(*column); })) continue;
        std::string known;
        for (const ColumnView* column : columns) {
            for (const auto field : column->fields) append(known, " {}.{}", column->name, field.empty() ? std::string_view("value") : field);
        }
        refuse("{}: no printed column has a field '{}'; there are{}", artifact.name(), condition.field(), known);
    }
}

/// Columns without a row that is asked for are left out where rows are asked for by --where.
bool is_left_out(const DumpOptions& options, const std::vector<PrintedRow>& rows) { return !options.where.empty() && rows.empty(); }

/// The name pool as the texts that it holds: offset and text.
void append_pool(std::string& out, const AnyArtifact& artifact, const ColumnView& pool, const DumpOptions& options) {
    append(out, "# {}: {} bytes\noffset\ttext\n", pool.name, pool.rows);
    std::size_t number = 0;
    for (std::size_t offset = 0; offset < pool.rows; ++number) {
        const std::string_view text = artifact.text_at(offset);
        if (number >= options.first_row && number - options.first_row < options.row_count) append(out, "{}\t{}\n", offset, text);
        offset += text.size() + 1;
    }
}

std::string row_text(const std::vector<CellValue>& cells, std::string_view separator) {
    std::string text;
    for (std::size_t field = 0; field < cells.size(); ++field) append(text, "{}{}", field == 0 ? "" : separator, to_text(cells[field]));
    return text;
}

std::string row_json(const ColumnView& column, const std::vector<CellValue>& cells) {
    if (column.fields.size() == 1 && column.fields[0].empty()) return to_json(cells[0]);
    std::string text = "{";
    for (std::size_t field = 0; field < cells.size(); ++field) {
        append(text, "{}\"{}\":{}", field == 0 ? "" : ",", column.fields[field], to_json(cells[field]));
    }
    return text + "}";
}

void append_row_differences(std::string& out, const ColumnView& left, const ColumnView& right, std::size_t limit, bool& differs) {
    const std::size_t common = std::min(left.rows, right.rows);
    std::size_t shown = 0;
    std::size_t different = 0;
    for (std::size_t row = 0; row < common; ++row) {
        const auto a = left.row(row);
        const auto b = right.row(row);
        for (std::size_t field = 0; field < a.size(); ++field) {
            // Texts are compared, so that a NaN equals itself and -0 differs from 0.
            const std::string a_text = to_text(a[field]);
            const std::string b_text = to_text(b[field]);
            if (a_text == b_text) continue;
            ++different;
            if (shown == limit) continue;
            ++shown;
            const std::string place = left.is_scalar ? std::string(left.name) : fmt::format("{}[{}]", left.name, row);
            append(out, "{}{}{}: {} != {}\n", place, left.fields[field].empty() ? "" : ".", left.fields[field], a_text, b_text);
        }
    }
    if (different > shown) append(out, "{}: {} more values differ\n", left.name, different - shown);
    if (left.rows != right.rows) append(out, "{}: {} rows != {} rows\n", left.name, left.rows, right.rows);
    differs = different != 0 || left.rows != right.rows;
}

/// Same rows, byte by byte: the quick way out for large equal columns. Texts are pointers, so they are never the same bytes.
bool same_bytes(const ColumnView& left, const ColumnView& right) {
    const std::size_t bytes = left.rows * left.row_bytes;
    return left.rows == right.rows && std::equal(left.data, left.data + bytes, right.data);
}

}  // namespace

std::string stat_text(const AnyArtifact& artifact) {
    std::string out;
    append(out, "file\t{}\nkind\t{}\nbytes\t{}\nhash\t{}\n", artifact.name(), artifact.kind(), artifact.byte_count(),
           to_hex(artifact.hash()));
    for (const auto& figure : artifact.figures()) append(out, "{}\t{}\n", figure.name, figure.value);
    append(out, "\ncolumn\trows\tbytes\n");
    for (const auto& column : artifact.columns()) {
        if (!column.is_scalar) append(out, "{}\t{}\t{}\n", column.name, column.rows, column.stored_bytes);
    }
    return out;
}

std::string stat_json(const AnyArtifact& artifact) {
    std::string out;
    append(out, "{{\"file\":{},\"kind\":\"{}\",\"bytes\":{},\"hash\":\"{}\",\"figures\":{{", to_json(std::string_view(artifact.name())),
           artifact.kind(), artifact.byte_count(), to_hex(artifact.hash()));
    std::vector<std::string> seen;
    for (const auto& figure : artifact.figures()) {
        // Several figures may share a name (inputs); JSON wants one key each.
        const auto count = std::count(seen.begin(), seen.end(), figure.name);
        const std::string key = count == 0 ? figure.name : fmt::format("{}_{}", figure.name, count);
        append(out, "{}\"{}\":{}", seen.empty() ? "" : ",", key, figure.is_number ? figure.value : to_json(std::string_view(figure.value)));
        seen.push_back(figure.name);
    }
    out += "},\"columns\":{";
    bool first = true;
    for (const auto& column : artifact.columns()) {
        if (column.is_scalar) continue;
        append(out, "{}\"{}\":{{\"rows\":{},\"bytes\":{}}}", first ? "" : ",", column.name, column.rows, column.stored_bytes);
        first = false;
    }
    return out + "}}\n";
}

std::string dump_text(const AnyArtifact& artifact, const DumpOptions& options) {
    std::string out;
    const auto columns = chosen_columns(artifact, options);
    require_fields(artifact, columns, options);
    for (const ColumnView* column : columns) {
        if (column->name == "name_pool") {
            if (options.where.empty()) append_pool(out, artifact, *column, options);
            continue;
        }
        const auto rows = rows_of(artifact, *column, options);
        if (is_left_out(options, rows)) continue;
        append(out, "# {}: {} {}\nrow", column->name, column->rows, column->rows == 1 ? "row" : "rows");
        for (const auto field : column->fields) append(out, "\t{}", field.empty() ? std::string_view("value") : field);
        out += '\n';
        for (const auto& [row, cells] : rows) append(out, "{}\t{}\n", row, row_text(cells, "\t"));
    }
    return out;
}

std::string dump_json(const AnyArtifact& artifact, const DumpOptions& options) {
    std::string out = "{";
    bool first_column = true;
    const auto columns = chosen_columns(artifact, options);
    require_fields(artifact, columns, options);
    for (const ColumnView* column : columns) {
        const auto rows = rows_of(artifact, *column, options);
        if (is_left_out(options, rows)) continue;
        append(out, "{}\n\"{}\":", first_column ? "" : ",", column->name);
        first_column = false;
        if (!column->is_scalar) out += '[';
        for (const auto& one : rows) append(out, "{}{}", &one == rows.data() ? "" : ",", row_json(*column, one.cells));
        if (!column->is_scalar) out += ']';
    }
    return out + "\n}\n";
}

Difference difference(const AnyArtifact& left, const AnyArtifact& right, std::size_t limit) {
    if (left.kind() != right.kind()) {
        refuse("{} is a .{} and {} a .{}; only artifacts of one kind can be compared", left.name(), left.kind(), right.name(), right.kind());
    }
    Difference result;
    for (std::size_t index = 0; index < left.columns().size(); ++index) {
        const ColumnView& a = left.columns()[index];
        const ColumnView& b = right.columns()[index];
        if (same_bytes(a, b)) continue;
        bool differs = false;
        append_row_differences(result.text, a, b, limit, differs);
        result.columns += differs ? 1 : 0;
    }
    return result;
}

std::string schema_text(const std::string& kind) {
    std::string known;
    for (const auto& schema : schema_texts) {
        if (kind == schema.kind || kind == schema.extension) return schema.text;
        append(known, "{}{}", known.empty() ? "" : ", ", schema.kind);
    }
    throw Failure(ExitStatus::usage, fmt::format("no kind of artifact is called '{}'; known are {}", kind, known));
}

}  // namespace weft
