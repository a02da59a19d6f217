#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "all_visit.h"
#include "artifact/any.h"

namespace weft::test {

/// Reads every byte of every column, so that a sanitizer sees each access; the sum keeps the reads alive.
class Walk {
public:
    template <class Kind>
    static std::uint64_t sum(const Kind& columns) {
        Walk walk;
        for_each_column(columns, [&](std::string_view, const auto& column) { walk.add(column); });
        return walk.sum_;
    }

private:
    template <class Row>
    void add(std::span<const Row> rows) {
        for (const Row& row : rows) add(row);
    }
    void add(const std::vector<std::string>& texts) {
        for (const auto& text : texts) add(text);
    }
    void add(const std::string& text) {
        for (const char letter : text) sum_ += static_cast<unsigned char>(letter);
    }
    template <class Value>
    void add(const Value& value) {
        if constexpr (std::is_enum_v<Value>) {
            sum_ += enum_text(value).size() + static_cast<std::uint64_t>(value);
        } else if constexpr (std::is_floating_point_v<Value>) {
            sum_ += value < 0 ? 1 : 2;
        } else if constexpr (std::is_arithmetic_v<Value>) {
            sum_ += static_cast<std::uint64_t>(value);
        } else {
            for_each_field(value, [&](std::string_view, const auto& field) { add(field); });
        }
    }

    std::uint64_t sum_ = 0;
};

}  // namespace weft::test
