#include "pim/json_cursor.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

namespace weft {

namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 18U;

/// Eight characters at once, the first one lowest.
std::uint64_t load_eight(const char* at) {
    std::uint64_t eight;
    std::memcpy(&eight, at, sizeof eight);   // little-endian hosts only, as everywhere in weft
    return eight;
}

/// How many of eight characters, from the first on, are ordinary ones inside a text: no quote, backslash or control character.
unsigned ordinary_of_eight(std::uint64_t eight) {
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    constexpr std::uint64_t tops = 0x8080808080808080ULL;
    // The lowest top bit set is right: borrows only spoil characters behind it.
    const auto equal = [&](std::uint64_t letter) { const std::uint64_t rest = eight ^ ones * letter; return (rest - ones) & ~rest; };
    const std::uint64_t control = (eight - ones * 0x20) & ~eight;
    const std::uint64_t special = (equal('"') | equal('\\') | control) & tops;
    return special == 0 ? 8 : static_cast<unsigned>(std::countr_zero(special)) / 8;
}

}  // namespace

JsonCursor::JsonCursor(Source source, std::string_view file) : file_(file), source_(std::move(source)), buffer_(buffer_size + JsonCursor::longest_token) {
    begin_ = at_ = end_ = buffer_.data();
    refill();
}

/// Moves what has not been read to the front and fills the rest. White space longer than the buffer is read in several fills.
void JsonCursor::refill() {
    do {
        bytes_before_ += static_cast<std::size_t>(at_ - begin_);
        lines_before_ += static_cast<std::size_t>(std::count(begin_, at_, '\n'));
        const auto left = static_cast<std::size_t>(end_ - at_);
        std::copy(at_, end_, buffer_.data());
        std::size_t filled = left;
        while (filled < buffer_.size()) {
            const std::size_t came = source_(buffer_.data() + filled, buffer_.size() - filled);
            filled += came;
            if (came != 0) continue;
            source_ = nullptr;
            break;
        }
        begin_ = at_ = buffer_.data();
        end_ = begin_ + filled;
        pass_space();
    } while (source_ != nullptr && static_cast<std::size_t>(end_ - at_) < longest_token);
}

void JsonCursor::fail(std::string_view what) const {
    const auto line = lines_before_ + static_cast<std::size_t>(std::count(begin_, at_, '\n')) + 1;
    bad_input("{}: line {}, byte {}: {}", file_, line, bytes_before_ + static_cast<std::size_t>(at_ - begin_), what);
}

void JsonCursor::fail_expecting(char wanted) const {
    fail(at_ == end_ && source_ == nullptr ? fmt::format("the file ends where '{}' should stand", wanted) : fmt::format("'{}' expected", wanted));
}

void JsonCursor::fail_inside_text() const {
    fail(source_ == nullptr ? "the file ends inside a text" : "a text of more than 64 KiB");
}

std::string_view JsonCursor::string() {
    expect('"');
    const char* start = at_;
    while (end_ - at_ >= 8) {
        const unsigned ordinary = ordinary_of_eight(load_eight(at_));
        at_ += ordinary;
        if (ordinary != 8) break;
    }
    while (at_ != end_ && *at_ != '"' && *at_ != '\\') {
        if (static_cast<unsigned char>(*at_) < 0x20) fail("a control character inside a text");
        ++at_;
    }
    if (at_ != end_ && *at_ == '\\') return unescape(start);
    if (at_ == end_) fail_inside_text();
    const std::string_view result(start, static_cast<std::size_t>(at_ - start));
    ++at_;
    return result;
}

std::string_view JsonCursor::unescape(const char* start) {
    scratch_.assign(start, at_);
    while (at_ != end_ && *at_ != '"') {
        if (static_cast<unsigned char>(*at_) < 0x20) fail("a control character inside a text");
        if (*at_ != '\\') {
            scratch_ += *at_++;
            continue;
        }
        if (++at_ == end_) break;
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        const auto found = letters.find(*at_);
        if (found != std::string_view::npos) {
            scratch_ += meanings[found];
        } else if (*at_ == 'u' && end_ - at_ > 4) {
            // No key or mnemonic has such a character; something that equals none of them is enough.
            at_ += 4;
            scratch_ += '?';
        } else {
            fail("an unknown escape inside a text");
        }
        ++at_;
    }
    if (at_ == end_) fail_inside_text();
    ++at_;
    return scratch_;
}

std::int32_t JsonCursor::integer() {
    skip_space();
    const char* start = at_;
    // Almost all: a few digits and then something else. The rest, and whatever is wrong, below.
    std::int32_t digits = 0;
    const char* const last = at_ + std::min<std::ptrdiff_t>(end_ - at_, 10);
    const char* digit = at_;
    for (; digit != last && *digit >= '0' && *digit <= '9' && digit - at_ < 9; ++digit) digits = digits * 10 + (*digit - '0');
    if (digit != start && digit != last && (*digit == ',' || *digit == '}' || *digit == ' ' || *digit == '\n')) {
        at_ = digit;
        return digits;
    }
    std::int32_t value = 0;
    const auto [stop, error] = std::from_chars(at_, end_, value);
    if (error == std::errc::result_out_of_range) fail("a number that does not fit 32 bits");
    if (error != std::errc()) {
        if (accept_word("true")) return 1;
        if (accept_word("false")) return 0;
        fail("a whole number expected");
    }
    at_ = stop;
    if (at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) return fractional_integer(start);
    return value;
}

std::int32_t JsonCursor::fractional_integer(const char* start) {
    double value = 0;
    const auto [stop, error] = std::from_chars(start, end_, value);
    if (error != std::errc() || std::abs(value) >= 2147483648.0 || value != std::floor(value)) fail("a whole number of 32 bits expected");
    at_ = stop;
    return static_cast<std::int32_t>(value);
}

bool JsonCursor::accept_word(std::string_view word) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) != word) return false;
    at_ += word.size();
    return true;
}

void JsonCursor::skip_scalar() {
    if (at_ != end_ && *at_ == '"') {
        (void)string();
    } else if (!accept_word("true") && !accept_word("false") && !accept_word("null")) {
        double value = 0;
        const auto [stop, error] = std::from_chars(at_, end_, value);
        if (error == std::errc::invalid_argument) fail("a value expected");
        at_ = stop;
    }
}

void JsonCursor::skip() {
    // Iterative: the nesting of a hostile file must not become the nesting of calls.
    std::string closers;
    const auto value_or_open = [&] {
        skip_space();
        if (accept('{')) {
            closers += '}';
        } else if (accept('[')) {
            closers += ']';
        } else {
            skip_scalar();
            return false;
        }
        return true;
    };
    const auto key = [&] {
        if (closers.back() != '}') return;
        (void)string();
        expect(':');
    };
    if (!value_or_open()) return;
    bool fresh = true;   // just inside an opening bracket
    while (!closers.empty()) {
        if (fresh ? accept(closers.back()) : !accept(',')) {
            if (!fresh) expect(closers.back());
            closers.pop_back();
            fresh = false;
            continue;
        }
        key();
        fresh = value_or_open();
    }
}

void JsonCursor::finish() {
    skip_space();
    if (at_ != end_) fail("something follows the end of the JSON text");
}

}  // namespace weft
