#include "frontend/external.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "frontend/wire.h"

namespace weft::frontend {

/// One mapped external file.
struct TensorReader::Mapping {
    std::span<const std::byte> bytes;
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (!bytes.empty()) ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
    }
};

namespace {

struct Descriptor {
    int number = -1;
    Descriptor() = default;
    explicit Descriptor(int opened) : number(opened) {}
    Descriptor(Descriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number, other.number);
        return *this;
    }
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

/// The components of a relative path that stays below its folder; bad input otherwise.
std::vector<std::string> safe_components(const std::string& location) {
    if (location.empty()) bad_input("external data without a location");
    if (location.front() == '/') bad_input("external data '{}': an absolute path is not allowed", location);
    if (location.find('\0') != std::string::npos) bad_input("external data: the path contains a NUL byte");
    std::vector<std::string> components;
    std::size_t begin = 0;
    while (begin <= location.size()) {
        const std::size_t end = std::min(location.find('/', begin), location.size());
        std::string part = location.substr(begin, end - begin);
        if (part == "..") bad_input("external data '{}': '..' is not allowed; keep the data beside the model", location);
        if (!part.empty() && part != ".") components.push_back(std::move(part));
        begin = end + 1;
    }
    if (components.empty()) bad_input("external data '{}': not a file", location);
    return components;
}

Descriptor open_below(const std::filesystem::path& folder, const std::string& location) {
    const auto components = safe_components(location);
    const std::string start = folder.empty() ? "." : folder.string();
    Descriptor at(::open(start.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (at.number < 0) bad_input("{}: cannot open: {}", start, std::strerror(errno));
    for (std::size_t i = 0; i < components.size(); ++i) {
        const bool last = i + 1 == components.size();
        const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
        Descriptor next(::openat(at.number, components[i].c_str(), flags));
        if (next.number < 0) {
            const bool link = errno == ELOOP || (errno == ENOTDIR && !last);
            bad_input("external data '{}': cannot open below {}: {}{}", location, start, std::strerror(errno),
                      link ? " (symbolic links are not followed; copy the file beside the model)" : "");
        }
        at = std::move(next);
    }
    return at;
}

std::size_t parse_number(const std::string& text, const char* what) {
    std::size_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size())
        bad_input("external data: {} '{}' is no number", what, text);
    return value;
}

template <class Field>
Constant from_field(std::int32_t type, Shape shape, const Field& field, std::int64_t expected) {
    if (field.size() != expected) {
        bad_input("{} elements are stored for shape {} of {}", field.size(), shape_text(shape), expected);
    }
    if (is_floating(type) && type != type_float16 && type != type_bfloat16) {
        const std::vector<double> values(field.begin(), field.end());
        return from_f64(type, std::move(shape), values);
    }
    // Half precision comes as bit patterns in int32_data.
    const bool half = type == type_float16 || type == type_bfloat16;
    std::vector<std::int64_t> values;
    values.reserve(static_cast<std::size_t>(field.size()));
    for (const auto value : field) values.push_back(static_cast<std::int64_t>(value));
    Constant result = from_i64(half ? static_cast<std::int32_t>(type_uint16) : type, std::move(shape), values);
    result.type = type;
    return result;
}

Constant from_typed_fields(const onnx::TensorProto& tensor, Shape shape, std::int64_t count) {
    const std::int32_t type = tensor.data_type();
    switch (type) {
        case type_float: {
            if (tensor.float_data_size() != count) bad_input("{} elements are stored for {}", tensor.float_data_size(), count);
            return make_f32(std::move(shape), {tensor.float_data().begin(), tensor.float_data().end()});
        }
        case type_double:
            return from_field(type, std::move(shape), tensor.double_data(), count);
        case type_int64:
            return from_field(type, std::move(shape), tensor.int64_data(), count);
        case type_uint32:
        case type_uint64:
            return from_field(type, std::move(shape), tensor.uint64_data(), count);
        default:
            return from_field(type, std::move(shape), tensor.int32_data(), count);
    }
}

}  // namespace

std::shared_ptr<const TensorReader::Mapping> TensorReader::open_external(const std::string& location) {
    if (const auto found = files_.find(location); found != files_.end()) return found->second;
    if (!options_.external_folder) bad_input("external data '{}' is not available here", location);
    const Descriptor file = open_below(*options_.external_folder, location);
    struct stat status {};
    if (::fstat(file.number, &status) != 0) bad_input("external data '{}': cannot stat: {}", location, std::strerror(errno));
    if (!S_ISREG(status.st_mode)) bad_input("external data '{}': not a regular file", location);
    auto mapping = std::make_shared<Mapping>();
    if (status.st_size > 0) {
        const auto size = static_cast<std::size_t>(status.st_size);
        void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
        if (address == MAP_FAILED) system_failure("external data '{}': cannot map: {}", location, std::strerror(errno));
        mapping->bytes = {static_cast<const std::byte*>(address), size};
    }
    return files_[location] = mapping;
}

Constant TensorReader::read_external(const onnx::TensorProto& tensor, Shape shape) {
    std::string location;
    std::size_t offset = 0;
    const std::size_t expected = static_cast<std::size_t>(
        checked_multiply(elem_count(shape), static_cast<std::int64_t>(element_size(tensor.data_type()))));
    std::size_t length = expected;
    for (const auto& entry : tensor.external_data()) {
        if (entry.key() == "location") location = entry.value();
        if (entry.key() == "offset") offset = parse_number(entry.value(), "offset");
        if (entry.key() == "length") length = parse_number(entry.value(), "length");
    }
    const auto mapping = open_external(location);
    if (length != expected)
        bad_input("external data '{}': length {} where the shape needs {} bytes", location, length, expected);
    if (offset > mapping->bytes.size() || length > mapping->bytes.size() - offset) {
        bad_input("external data '{}': {} bytes at {} pass the end of the file ({} bytes)", location, length, offset,
                  mapping->bytes.size());
    }
    return {tensor.data_type(), false, std::move(shape), mapping->bytes.subspan(offset, length), mapping};
}

Constant TensorReader::read(const onnx::TensorProto& tensor) {
    const std::int32_t type = tensor.data_type();
    const std::size_t size = element_size(type);
    if (size == 0) bad_input("a tensor of type {} cannot be used", type_name(type));
    Shape shape(tensor.dims().begin(), tensor.dims().end());
    for (const std::int64_t dim : shape) {
        if (dim < 0) bad_input("a tensor has the negative dimension {}", dim);
    }
    const std::int64_t count = elem_count(shape);
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return read_external(tensor, std::move(shape));
    const bool stripped = !tensor.doc_string().empty();
    if (!stripped && !tensor.has_raw_data()) return from_typed_fields(tensor, std::move(shape), count);
    Constant result{type, false, std::move(shape), {}, {}};
    if (stripped) {
        result.bytes = stripped_bytes(model_, tensor.doc_string());
    } else {
        const auto text = std::make_shared<std::string>(tensor.raw_data());
        result.bytes = std::as_bytes(std::span<const char>(*text));
        result.owner = text;
    }
    const std::int64_t needed = checked_multiply(count, static_cast<std::int64_t>(size));
    if (static_cast<std::int64_t>(result.bytes.size()) != needed) {
        bad_input("a tensor of shape {} and type {} needs {} bytes, but {} are stored", shape_text(result.shape),
                  type_name(type), needed, result.bytes.size());
    }
    return result;
}

std::vector<std::string> TensorReader::external_files() const {
    std::vector<std::string> names;
    for (const auto& [name, mapping] : files_) names.push_back(name);
    return names;
}

}  // namespace weft::frontend
