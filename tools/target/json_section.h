#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"

namespace weft {

/// What reading a chip file leaves behind besides the values.
struct KeyLists {
    std::vector<std::string> unknown;
    std::vector<std::string> ignored;
    std::vector<std::string> notes;
};

/// One object of a chip file: typed look-ups with defaults that know their JSON path, and a list of the keys asked for, so
/// that finish() can name those that nobody knows.
class JsonSection {
public:
    JsonSection(const nlohmann::json* object, std::string path, std::string_view file, KeyLists& lists);

    /// A whole number in low..high; a fraction is cut off as the simulator does, with a note.
    [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t standard, std::int64_t low, std::int64_t high);
    /// Nanoseconds as femtoseconds. Impossible: negative, not a number, above a millisecond.
    [[nodiscard]] std::uint64_t femtoseconds(std::string_view key, double standard_ns);
    [[nodiscard]] bool boolean(std::string_view key, bool standard);
    [[nodiscard]] std::string text(std::string_view key, const std::string& standard);
    /// Two whole numbers, as in [rows, columns].
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> pair(std::string_view key, std::pair<std::int64_t, std::int64_t> standard,
                                                             std::int64_t low, std::int64_t high);
    /// A nested object; empty where absent.
    [[nodiscard]] JsonSection section(std::string_view key);
    [[nodiscard]] bool has(std::string_view key) const;
    /// Keys that the simulator knows and that have no influence on time.
    void ignore(std::initializer_list<std::string_view> keys);
    /// Files every key that was not asked for under `unknown`.
    void finish();

    [[nodiscard]] std::string path_of(std::string_view key) const;
    [[noreturn]] void impossible(std::string_view key, std::string_view why) const;

private:
    [[nodiscard]] const nlohmann::json* find(std::string_view key);

    const nlohmann::json* object_;   // null where the section is absent
    std::string path_;
    std::string file_;
    KeyLists* lists_;
    std::vector<std::string> asked_;
};

}  // namespace weft
