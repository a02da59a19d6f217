#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "artifact/file.h"
#include "artifact/hash.h"

namespace weft {

/// One printable value of an artifact. Texts point into the artifact.
using CellValue = std::variant<bool, std::uint64_t, std::int64_t, float, double, std::string_view>;

/// One column of any artifact without its type: `rows` equal rows at `data`, each with the named fields. A scalar of the root
/// table is a column of one row; a column of plain numbers has one field without a name.
struct ColumnView {
    std::string_view name;
    std::vector<std::string_view> fields;
    std::size_t rows = 0;
    std::size_t row_bytes = 0;       ///< in memory
    std::size_t stored_bytes = 0;    ///< of the file
    const std::byte* data = nullptr;
    bool is_scalar = false;
    void (*append_cells)(const std::byte* row, std::vector<CellValue>& cells) = nullptr;

    /// The values of one row, in the order of `fields`.
    [[nodiscard]] std::vector<CellValue> row(std::size_t index) const;
};

/// A figure that describes an artifact: name and printable value.
struct Figure {
    std::string name;
    std::string value;
    bool is_number = false;
};

/// An opened artifact of any kind: verified, validated, and described.
class AnyArtifact {
public:
    /// Throws Failure(bad_input) where the file is no artifact or a damaged one.
    explicit AnyArtifact(const std::string& path);

    [[nodiscard]] const std::string& name() const { return file_.name(); }
    [[nodiscard]] std::string_view kind() const { return kind_; }
    [[nodiscard]] std::size_t byte_count() const { return file_.bytes().size(); }
    [[nodiscard]] Hash128 hash() const { return hash_bytes(file_.bytes()); }
    [[nodiscard]] std::span<const ColumnView> columns() const { return columns_; }
    [[nodiscard]] std::span<const Figure> figures() const { return figures_; }
    /// The named column, or nullptr.
    [[nodiscard]] const ColumnView* find(std::string_view name) const;
    /// The text at `offset` of the artifact's name pool; empty where it has none.
    [[nodiscard]] std::string_view text_at(std::uint64_t offset) const;

private:
    MappedFile file_;
    std::string_view kind_;
    std::shared_ptr<const void> table_;   // the typed table that the views point into
    std::vector<ColumnView> columns_;
    std::vector<Figure> figures_;
};

/// A cell for people and for tab-separated tables; shortest text that reads back as the same number.
[[nodiscard]] std::string to_text(const CellValue& value);
/// A cell as JSON; numbers that are not finite become the strings "inf", "-inf", "nan".
[[nodiscard]] std::string to_json(const CellValue& value);

}  // namespace weft
