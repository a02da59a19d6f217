#include "frontend/wire.h"

#include <charconv>
#include <cstring>

#include "base/failure.h"

namespace weft::frontend {
namespace {

constexpr std::size_t keep_limit = 256;

/// The messages on the way from the model to its tensors.
enum class Message { model, graph, node, attribute, tensor };

/// What field `number` of `parent` is, where it is one of Message's kinds.
bool child_message(Message parent, std::uint64_t number, Message& child) {
    if (parent == Message::model && number == 7) return child = Message::graph, true;
    if (parent == Message::graph && number == 1) return child = Message::node, true;
    if (parent == Message::graph && number == 5) return child = Message::tensor, true;
    if (parent == Message::node && number == 5) return child = Message::attribute, true;
    if (parent == Message::attribute && number == 5) return child = Message::tensor, true;
    return false;
}

bool is_documentation(Message parent, std::uint64_t number) {
    switch (parent) {
        case Message::model:
            return number == 6;
        case Message::graph:
            return number == 10;
        case Message::node:
            return number == 6;
        case Message::attribute:
            return number == 13;
        case Message::tensor:
            return number == 12;
    }
    return false;
}

void put_varint(std::string& out, std::uint64_t value) {
    while (value >= 0x80) {
        out += static_cast<char>((value & 0x7f) | 0x80);
        value >>= 7U;
    }
    out += static_cast<char>(value);
}

void put_bytes(std::string& out, std::uint64_t number, std::string_view bytes) {
    put_varint(out, number << 3U | 2U);
    put_varint(out, bytes.size());
    out += bytes;
}

/// Reads wire-format fields of [position, end) of the whole model.
class Reader {
public:
    Reader(std::span<const std::byte> model, std::size_t position, std::size_t end)
        : model_(model), position_(position), end_(end) {}

    [[nodiscard]] bool at_end() const { return position_ == end_; }
    [[nodiscard]] std::size_t position() const { return position_; }

    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (position_ == end_) damaged();
            const auto byte = static_cast<std::uint64_t>(model_[position_++]);
            value |= (byte & 0x7f) << shift;
            if ((byte & 0x80) == 0) return value;
        }
        damaged();
    }

    void skip(std::uint64_t count) {
        if (count > end_ - position_) damaged();
        position_ += static_cast<std::size_t>(count);
    }

    [[noreturn]] static void damaged() { bad_input("not an ONNX model, or cut short (its protobuf bytes cannot be read)"); }

private:
    std::span<const std::byte> model_;
    std::size_t position_;
    std::size_t end_;
};

void copy_message(std::span<const std::byte> model, std::size_t begin, std::size_t end, Message kind, std::string& out) {
    const auto text = [&](std::size_t first, std::size_t last) {
        return std::string_view(reinterpret_cast<const char*>(model.data()) + first, last - first);
    };
    Reader reader(model, begin, end);
    while (!reader.at_end()) {
        const std::size_t field_begin = reader.position();
        const std::uint64_t tag = reader.varint();
        const std::uint64_t number = tag >> 3U;
        switch (tag & 7U) {
            case 0:
                reader.varint();
                break;
            case 1:
                reader.skip(8);
                break;
            case 5:
                reader.skip(4);
                break;
            case 2: {
                const std::uint64_t length = reader.varint();
                const std::size_t content = reader.position();
                reader.skip(length);
                Message child{};
                if (is_documentation(kind, number)) continue;
                if (child_message(kind, number, child)) {
                    std::string inner;
                    copy_message(model, content, reader.position(), child, inner);
                    put_bytes(out, number, inner);
                    continue;
                }
                if (kind == Message::tensor && number == 9 && length > keep_limit) {
                    put_bytes(out, 12, fmt::format("{}:{}", content, length));
                    continue;
                }
                break;
            }
            default:
                Reader::damaged();
        }
        out += text(field_begin, reader.position());
    }
}

}  // namespace

std::string strip_weights(std::span<const std::byte> model) {
    std::string out;
    copy_message(model, 0, model.size(), Message::model, out);
    return out;
}

std::span<const std::byte> stripped_bytes(std::span<const std::byte> model, const std::string& reference) {
    std::size_t offset = 0;
    std::size_t length = 0;
    const char* end = reference.data() + reference.size();
    const auto first = std::from_chars(reference.data(), end, offset);
    WEFT_CHECK(first.ec == std::errc() && first.ptr != end && *first.ptr == ':');
    const auto second = std::from_chars(first.ptr + 1, end, length);
    WEFT_CHECK(second.ec == std::errc() && offset <= model.size() && length <= model.size() - offset);
    return model.subspan(offset, length);
}

}  // namespace weft::frontend
