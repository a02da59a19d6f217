#include "inspect/column_view.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <type_traits>

#include "all_visit.h"
#include "artifact/any.h"
#include "inspect/figures.h"

namespace weft {
namespace {

template <class Value>
CellValue cell_of(const Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
        return std::string_view(value);
    } else if constexpr (std::is_enum_v<Value>) {
        const std::string_view text = enum_text(value);
        return text.empty() ? CellValue(std::uint64_t{static_cast<std::underlying_type_t<Value>>(value)}) : CellValue(text);
    } else if constexpr (std::is_same_v<Value, bool> || std::is_floating_point_v<Value>) {
        return value;
    } else if constexpr (std::is_unsigned_v<Value>) {
        return std::uint64_t{value};
    } else {
        return std::int64_t{value};
    }
}

template <class Value>
inline constexpr bool is_plain = std::is_arithmetic_v<Value> || std::is_enum_v<Value> || std::is_same_v<Value, std::string>;

template <class Row>
void append_cells(const std::byte* bytes, std::vector<CellValue>& cells) {
    const Row& row = *reinterpret_cast<const Row*>(bytes);
    if constexpr (is_plain<Row>) {
        cells.push_back(cell_of(row));
    } else {
        for_each_field(row, [&](std::string_view, const auto& value) { cells.push_back(cell_of(value)); });
    }
}

template <class Row>
ColumnView view_of(std::string_view name, const Row* rows, std::size_t count) {
    ColumnView view;
    view.name = name;
    view.rows = count;
    view.row_bytes = sizeof(Row);
    view.stored_bytes = sizeof(Row) * count;
    view.data = reinterpret_cast<const std::byte*>(rows);
    view.append_cells = &append_cells<Row>;
    if constexpr (is_plain<Row>) {
        view.fields.emplace_back();
    } else {
        for_each_field(Row{}, [&](std::string_view field, const auto&) { view.fields.push_back(field); });
    }
    if constexpr (std::is_same_v<Row, std::string>) {
        view.stored_bytes = 0;
        for (std::size_t row = 0; row < count; ++row) view.stored_bytes += rows[row].size() + 1;
    }
    return view;
}

template <class Row>
ColumnView view_of(std::string_view name, std::span<const Row> rows) {
    return view_of(name, rows.data(), rows.size());
}

ColumnView view_of(std::string_view name, const std::vector<std::string>& texts) {
    return view_of(name, texts.data(), texts.size());
}

template <class Scalar>
ColumnView view_of(std::string_view name, const Scalar& scalar) {
    ColumnView view = view_of(name, &scalar, 1);
    view.is_scalar = true;
    return view;
}

std::string non_finite(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

}  // namespace

std::vector<CellValue> ColumnView::row(std::size_t index) const {
    std::vector<CellValue> cells;
    cells.reserve(fields.size());
    append_cells(data + index * row_bytes, cells);
    return cells;
}

AnyArtifact::AnyArtifact(const std::string& path) : file_(path) {
    const bool known = dispatch_kind(identifier_of(file_.bytes()), [&]<class Kind>(std::type_identity<Kind>) {
        const auto table = std::make_shared<const Kind>(read_artifact<Kind>(file_.bytes(), file_.name()));
        for_each_column(*table, [&](std::string_view name, const auto& column) { columns_.push_back(view_of(name, column)); });
        figures_ = figures_of(*table);
        kind_ = ArtifactTraits<Kind>::kind;
        table_ = table;
    });
    if (!known) bad_input("{}: not a weft artifact (no known identifier at byte 4)", file_.name());
}

const ColumnView* AnyArtifact::find(std::string_view name) const {
    for (const auto& column : columns_) {
        if (column.name == name) return &column;
    }
    return nullptr;
}

std::string_view AnyArtifact::text_at(std::uint64_t offset) const {
    const ColumnView* pool = find("name_pool");
    if (pool == nullptr || offset >= pool->rows) return {};
    return pool_text({reinterpret_cast<const std::uint8_t*>(pool->data), pool->rows}, static_cast<std::uint32_t>(offset));
}

std::string to_text(const CellValue& value) {
    return std::visit([](const auto& plain) { return fmt::format("{}", plain); }, value);
}

std::string to_json(const CellValue& value) {
    return std::visit(
        [](const auto& plain) -> std::string {
            using Plain = std::decay_t<decltype(plain)>;
            if constexpr (std::is_same_v<Plain, std::string_view>) {
                return nlohmann::json(plain).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
            } else if constexpr (std::is_floating_point_v<Plain>) {
                return std::isfinite(plain) ? fmt::format("{}", plain) : fmt::format("\"{}\"", non_finite(plain));
            } else {
                return fmt::format("{}", plain);
            }
        },
        value);
}

}  // namespace weft
