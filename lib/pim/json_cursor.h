#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/failure.h"

namespace weft {

/// A pull parser over a JSON text in memory, for files of a hundred megabytes that no tree should be built of. Only what
/// program files need: the caller walks objects and arrays and takes or skips each value.
class JsonCursor {
public:
    JsonCursor(std::string_view text, std::string_view file) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), file_(file) {}

    /// Calls on_key(key) for each member; it must consume the value. The key is valid until the next call of the cursor.
    template <class OnKey>
    void object(OnKey&& on_key) {
        expect('{');
        if (accept('}')) return;
        do {
            const std::string_view key = string();
            expect(':');
            on_key(key);
        } while (accept(','));
        expect('}');
    }

    /// Calls on_element() for each element; it must consume it.
    template <class OnElement>
    void array(OnElement&& on_element) {
        expect('[');
        if (accept(']')) return;
        do {
            on_element();
        } while (accept(','));
        expect(']');
    }

    /// A text without its quotes; valid until the next call.
    [[nodiscard]] std::string_view string();
    /// A whole number of 32 bits; true and false count as 1 and 0.
    [[nodiscard]] std::int32_t integer();
    /// Any value.
    void skip();
    /// Nothing but space may follow.
    void finish();

    [[noreturn]] void fail(std::string_view what) const;

private:
    void skip_space() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
    }
    [[nodiscard]] bool accept(char wanted) {
        skip_space();
        if (at_ == end_ || *at_ != wanted) return false;
        ++at_;
        return true;
    }
    void expect(char wanted) {
        if (!accept(wanted)) fail_expecting(wanted);
    }
    [[noreturn]] void fail_expecting(char wanted) const;
    [[nodiscard]] bool accept_word(std::string_view word);
    [[nodiscard]] std::int32_t fractional_integer(const char* start);
    [[nodiscard]] std::string_view unescape(const char* start);
    void skip_scalar();

    const char* begin_;
    const char* at_;
    const char* end_;
    std::string_view file_;
    std::string scratch_;
};

}  // namespace weft
