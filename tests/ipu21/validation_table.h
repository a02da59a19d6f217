#pragma once

#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "artifact/file.h"

namespace weft::test {

/// How a column of the validation table is compared.
enum class ColumnKind : std::uint8_t {
    Key,      ///< names the record
    Text,     ///< must be equal
    Number    ///< may move by the record's bound; "-" where there is none
};

struct TableColumn {
    std::string name;
    ColumnKind kind = ColumnKind::Number;
};

/// Records of named fields, one line each, separated by tabs; the first line names the columns.
struct ValidationTable {
    std::vector<TableColumn> columns;
    std::vector<std::vector<std::string>> rows;

    [[nodiscard]] std::size_t column(const std::string& name) const {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (columns[i].name == name) return i;
        }
        bad_input("the table has no column '{}'", name);
    }

    [[nodiscard]] std::string key_of(const std::vector<std::string>& row) const {
        std::string key;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (columns[i].kind == ColumnKind::Key) key.append(key.empty() ? "" : ", ").append(row[i]);
        }
        return key;
    }

    [[nodiscard]] std::string text() const {
        std::string result;
        const auto add_line = [&](const auto& fields, const auto& text_of) {
            for (std::size_t i = 0; i < fields.size(); ++i) {
                result += text_of(fields[i]);
                result += i + 1 == fields.size() ? '\n' : '\t';
            }
        };
        add_line(columns, [](const TableColumn& c) { return c.name; });
        for (const auto& row : rows) add_line(row, [](const std::string& field) { return field; });
        return result;
    }
};

/// Rows of a file of tab-separated fields, its header first.
inline std::vector<std::vector<std::string>> read_fields(const std::filesystem::path& path) {
    std::istringstream lines(read_text(path));
    std::vector<std::vector<std::string>> rows;
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream fields(line);
        std::vector<std::string> row;
        std::string field;
        while (std::getline(fields, field, '\t')) row.push_back(field);
        rows.push_back(std::move(row));
    }
    return rows;
}

/// What moved between two tables, one line per field, with the record and the component by name: texts that differ, numbers
/// that differ by more than `bound_column` of the recorded row allows (per cent), records and columns that came or went.
inline std::vector<std::string> moved(const ValidationTable& now, const std::vector<std::vector<std::string>>& recorded, const std::string& bound_column) {
    std::vector<std::string> result;
    std::vector<std::string> names;
    for (const TableColumn& column : now.columns) names.push_back(column.name);
    if (recorded.empty() || recorded.front() != names) return {"the table's columns changed; record it again"};
    std::map<std::string, const std::vector<std::string>*> before;
    for (std::size_t i = 1; i < recorded.size(); ++i) {
        if (recorded[i].size() != names.size()) return {fmt::format("line {} of the recorded table has {} fields of {}", i + 1, recorded[i].size(), names.size())};
        before[now.key_of(recorded[i])] = &recorded[i];
    }
    const std::size_t bound_at = now.column(bound_column);
    for (const auto& row : now.rows) {
        const auto at = before.find(now.key_of(row));
        if (at == before.end()) {
            result.push_back(fmt::format("{}: a new record", now.key_of(row)));
            continue;
        }
        const std::vector<std::string>& old = *at->second;
        const double bound = std::stod(old[bound_at]);
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (row[i] == old[i]) continue;
            const bool numbers = now.columns[i].kind == ColumnKind::Number && row[i] != "-" && old[i] != "-";
            const double change = numbers ? std::stod(row[i]) - std::stod(old[i]) : 0;
            if (numbers && std::abs(change) * 100 <= bound * std::abs(std::stod(old[i]))) continue;
            result.push_back(fmt::format("{}: {} moved from {} to {}", at->first, now.columns[i].name, old[i], row[i]));
        }
        before.erase(at);
    }
    for (const auto& [key, row] : before) result.push_back(fmt::format("{}: the record is gone", key));
    return result;
}

}  // namespace weft::test
