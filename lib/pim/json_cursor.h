#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"

namespace weft {

/// A pull parser over a JSON text, for files of a hundred megabytes that no tree should be built of. Only what program files
/// need: the caller walks objects and arrays and takes or skips each value. The text stands in memory as a whole or comes piece by piece; then no
/// single text or number, and no key with its colon, may be longer than `longest_token`.
class JsonCursor {
public:
    /// Writes up to `room` characters to `buffer`; returns how many, 0 at the end.
    using Source = std::function<std::size_t(char* buffer, std::size_t room)>;
    static constexpr std::size_t longest_token = std::size_t{1} << 16U;

    JsonCursor(std::string_view text, std::string_view file) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), file_(file) {}
    JsonCursor(Source source, std::string_view file);
    JsonCursor(const JsonCursor&) = delete;
    JsonCursor& operator=(const JsonCursor&) = delete;

    /// Calls on_key(key) for each member; it must consume the value. The key is valid until the next call of the cursor.
    template <class OnKey>
    void object(OnKey&& on_key) {
        expect('{');
        if (accept('}')) return;
        do {
            const std::string_view key = string();
            expect_colon();
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

    [[nodiscard]] std::string_view file() const { return file_; }
    [[noreturn]] void fail(std::string_view what) const;

private:
    void skip_space() {
        // Before every token: what is left holds the longest one, or everything.
        if (static_cast<std::size_t>(end_ - at_) < longest_token && source_ != nullptr) refill();
        pass_space();
    }
    void pass_space() {
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
    /// Without a refill, which would take the key away.
    void expect_colon() {
        pass_space();
        if (at_ == end_ || *at_ != ':') fail_expecting(':');
        ++at_;
    }
    [[noreturn]] void fail_expecting(char wanted) const;
    [[noreturn]] void fail_inside_text() const;
    [[nodiscard]] bool accept_word(std::string_view word);
    [[nodiscard]] std::int32_t fractional_integer(const char* start);
    [[nodiscard]] std::string_view unescape(const char* start);
    void skip_scalar();
    void refill();

    const char* begin_;
    const char* at_;
    const char* end_;
    std::string_view file_;
    std::string scratch_;
    Source source_;               // empty where the whole text is there
    std::vector<char> buffer_;
    std::size_t bytes_before_ = 0;   // of the text, before begin_
    std::size_t lines_before_ = 0;
};

}  // namespace weft
