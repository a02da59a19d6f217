#include "reference/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <string>

#include "artifact/file.h"
#include "base/checked.h"
#include "base/failure.h"

// The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
namespace weft {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t largest_rank = 32;

/// The text after `'key':` in the header's dictionary.
std::string_view header_value(std::string_view header, std::string_view key, std::string_view file) {
    const std::size_t at = header.find(key);
    if (at == std::string_view::npos) bad_input("{}: the .npy header has no {}", file, key);
    std::string_view rest = header.substr(at + key.size());
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == ':')) rest.remove_prefix(1);
    return rest;
}

std::vector<std::uint32_t> parse_shape(std::string_view text, std::string_view file) {
    const std::size_t end = text.find(')');
    if (text.empty() || text.front() != '(' || end == std::string_view::npos) bad_input("{}: the .npy header's shape is damaged", file);
    text = text.substr(1, end - 1);
    std::vector<std::uint32_t> dims;
    while (!text.empty()) {
        if (text.front() == ' ' || text.front() == ',') {
            text.remove_prefix(1);
            continue;
        }
        std::uint32_t dim = 0;
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
        if (error != std::errc{} || dims.size() == largest_rank) bad_input("{}: the .npy header's shape is damaged", file);
        dims.push_back(dim);
        text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    }
    return dims;
}

template <class T>
std::vector<float> convert(std::span<const std::byte> data) {
    std::vector<float> values(data.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
        T value;
        std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
        values[i] = static_cast<float>(value);
    }
    return values;
}

std::vector<float> convert_halves(std::span<const std::byte> data) {
    std::vector<float> values(data.size() / sizeof(std::uint16_t));
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint16_t half = 0;
        std::memcpy(&half, data.data() + i * sizeof half, sizeof half);
        values[i] = half_to_float(half);
    }
    return values;
}

struct ElementType {
    std::string_view code;   ///< NumPy's, without the byte order
    std::size_t bytes;
    std::vector<float> (*convert)(std::span<const std::byte>);
};

constexpr ElementType element_types[] = {
    {"f4", 4, convert<float>},         {"f2", 2, convert_halves},         {"f8", 8, convert<double>},
    {"i1", 1, convert<std::int8_t>},   {"i2", 2, convert<std::int16_t>},  {"i4", 4, convert<std::int32_t>},
    {"i8", 8, convert<std::int64_t>},  {"u1", 1, convert<std::uint8_t>},  {"u2", 2, convert<std::uint16_t>},
    {"u4", 4, convert<std::uint32_t>}, {"u8", 8, convert<std::uint64_t>}, {"b1", 1, convert<std::uint8_t>},
};

const ElementType& element_type(std::string_view descriptor, std::string_view file) {
    if (descriptor.size() >= 5 && descriptor[0] == '\'' && (descriptor[1] == '<' || descriptor[1] == '|')) {
        for (const ElementType& type : element_types) {
            if (descriptor.substr(2, 2) == type.code && descriptor[4] == '\'') return type;
        }
    }
    bad_input("{}: element type {} of the .npy file is not supported; save it as float32", file, descriptor.substr(0, 8));
}

}  // namespace

float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
    const std::uint32_t exponent = (half >> 10U) & 31U;
    const std::uint32_t fraction = half & 0x3ffU;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13U));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
    // Zero and subnormals: fraction x 2^-24, exact in single precision.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
}

std::uint16_t float_to_half(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16U) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
    if (magnitude >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7c00U);   // 65536 and above
    if (magnitude < 0x38800000U) {
        // Below 2^-14: adding 0.5 leaves the half's 2^-24 steps in the low bits, rounded to nearest even by the addition.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
    }
    const std::uint32_t rounded = magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13U) & 1U);
    return static_cast<std::uint16_t>(sign | (rounded >> 13U));
}

HostTensor parse_npy(std::span<const std::byte> bytes, std::string_view file) {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    if (bytes.size() < 12 || std::memcmp(text, magic.data(), magic.size()) != 0) bad_input("{}: not a .npy file", file);
    const auto byte_at = [&](std::size_t at) { return std::to_integer<std::size_t>(bytes[at]); };
    const bool short_length = byte_at(6) == 1;
    const std::size_t start = short_length ? 10 : 12;
    std::size_t length = byte_at(8) | (byte_at(9) << 8U);
    if (!short_length) length |= (byte_at(10) << 16U) | (byte_at(11) << 24U);
    if (length > bytes.size() - start) bad_input("{}: the .npy header passes the end of the file", file);
    const std::string_view header(text + start, length);
    const ElementType& type = element_type(header_value(header, "'descr'", file), file);
    if (header_value(header, "'fortran_order'", file).starts_with("True")) {
        bad_input("{}: Fortran order is not supported; save with numpy.ascontiguousarray", file);
    }
    HostTensor tensor;
    tensor.dims = parse_shape(header_value(header, "'shape'", file), file);
    const auto data = bytes.subspan(start + length);
    const std::size_t expected = checked_multiply(elem_count(tensor.dims), type.bytes);
    if (data.size() != expected) bad_input("{}: {} bytes of data, {} expected for shape {}", file, data.size(), expected, dims_text(tensor.dims));
    tensor.values = type.convert(data);
    return tensor;
}

HostTensor read_npy(const std::filesystem::path& path) {
    const MappedFile file(path);
    return parse_npy(file.bytes(), file.name());
}

void write_npy(const std::filesystem::path& path, const HostTensor& tensor) {
    WEFT_CHECK(tensor.values.size() == elem_count(tensor.dims));
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{}), }}", fmt::join(tensor.dims, ", "),
                                     tensor.dims.size() == 1 ? "," : "");
    // The data starts at a multiple of 64 bytes; the header ends in a newline.
    constexpr std::size_t prefix = 10;
    header.resize(ceil_divide<std::size_t>(prefix + header.size() + 1, 64) * 64 - prefix - 1, ' ');
    header += '\n';
    std::string content(magic);
    content += '\x01';
    content += '\0';
    content += static_cast<char>(header.size() & 0xffU);
    content += static_cast<char>(header.size() >> 8U);
    content += header;
    const auto values = std::as_bytes(std::span(tensor.values));
    content.append(reinterpret_cast<const char*>(values.data()), values.size());
    publish_text(path, content);
}

}  // namespace weft
