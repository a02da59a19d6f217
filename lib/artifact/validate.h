#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/failure.h"

namespace weft {

/// Checks shared by the kinds' validate(): each throws Failure(bad_input) naming file, column and row.
class Validator {
public:
    explicit Validator(std::string_view file) : file_(file) {}

    template <class... Args>
    [[noreturn]] void reject(std::string_view column, std::size_t row, fmt::format_string<Args...> text, Args&&... args) const {
        bad_input("{}: column '{}', row {}: {}", file_, column, row, fmt::format(text, std::forward<Args>(args)...));
    }

    /// `value` < `limit`.
    void below(std::uint64_t value, std::uint64_t limit, std::string_view column, std::size_t row) const {
        if (value >= limit) reject(column, row, "{} is out of range (must be below {})", value, limit);
    }

    /// `value` < `limit` or none (0xffffffff).
    void below_or_none(std::uint32_t value, std::uint64_t limit, std::string_view column, std::size_t row) const {
        if (value != 0xffffffffU) below(value, limit, column, row);
    }

    /// [first, first + count) lies within [0, limit).
    void range(std::uint64_t first, std::uint64_t count, std::uint64_t limit, std::string_view column, std::size_t row) const {
        if (first > limit || count > limit - first) {
            reject(column, row, "range of {} rows from {} passes the end ({} rows)", count, first, limit);
        }
    }

    /// `rows` equals `expected`.
    void length(std::size_t rows, std::size_t expected, std::string_view column) const {
        if (rows != expected) bad_input("{}: column '{}' has {} rows instead of {}", file_, column, rows, expected);
    }

    /// CSR offsets: `count` + 1 monotone rows from 0 to `limit`.
    void offsets(std::span<const std::uint32_t> column, std::size_t count, std::size_t limit, std::string_view name) const {
        length(column.size(), count + 1, name);
        if (column.front() != 0) reject(name, 0, "offsets must start at 0");
        for (std::size_t row = 1; row < column.size(); ++row) {
            if (column[row] < column[row - 1]) reject(name, row, "offsets must not fall");
        }
        if (column.back() != limit) reject(name, count, "offsets must end at {}, not {}", limit, column.back());
    }

    /// A text of a NUL-terminated pool.
    void text(std::uint32_t offset, std::span<const std::uint8_t> pool, std::string_view column, std::size_t row) const {
        below(offset, pool.size(), column, row);
    }

    /// The pool ends with NUL (or is empty).
    void pool(std::span<const std::uint8_t> pool, std::string_view column) const {
        if (!pool.empty() && pool.back() != 0) reject(column, pool.size() - 1, "the last text is not terminated");
    }

    [[nodiscard]] std::string_view file() const { return file_; }

private:
    std::string_view file_;
};

}  // namespace weft
