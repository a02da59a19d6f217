#include "frontend/constant.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.h"

namespace weft::frontend {
namespace {

template <class T>
T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    const std::uint32_t exponent = (half >> 10U) & 0x1fU;
    const std::uint32_t mantissa = half & 0x3ffU;
    if (exponent == 0) {  // zero and subnormals are multiples of 2^-24
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide = exponent == 31 ? 0xffU : exponent + 112U;
    return std::bit_cast<float>(sign | wide << 23U | mantissa << 13U);
}

std::uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16U & 0x8000U;
    const float magnitude = std::fabs(value);
    const std::uint32_t rounded = (bits & 0x7fffffffU) + 0xfffU + (bits >> 13U & 1U);
    std::uint32_t result = (rounded >> 13U) - (112U << 10U);
    if (magnitude < 0x1p-14F) result = static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24F));
    if (magnitude >= 65520.0F) result = 0x7c00U;
    if (std::isnan(value)) result = 0x7e00U;
    return static_cast<std::uint16_t>(sign | result);
}

/// Calls f with a reader of one element as its C++ value.
template <class F>
void with_reader(std::int32_t type, F&& f) {
    switch (type) {
        case type_float:
            return f([](const std::byte* at) { return load<float>(at); });
        case type_double:
            return f([](const std::byte* at) { return load<double>(at); });
        case type_float16:
            return f([](const std::byte* at) { return half_to_float(load<std::uint16_t>(at)); });
        case type_bfloat16:
            return f([](const std::byte* at) { return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(at)} << 16U); });
        case type_uint8:
            return f([](const std::byte* at) { return load<std::uint8_t>(at); });
        case type_bool:
            return f([](const std::byte* at) { return static_cast<std::uint8_t>(load<std::uint8_t>(at) != 0); });
        case type_int8:
            return f([](const std::byte* at) { return load<std::int8_t>(at); });
        case type_uint16:
            return f([](const std::byte* at) { return load<std::uint16_t>(at); });
        case type_int16:
            return f([](const std::byte* at) { return load<std::int16_t>(at); });
        case type_uint32:
            return f([](const std::byte* at) { return load<std::uint32_t>(at); });
        case type_int32:
            return f([](const std::byte* at) { return load<std::int32_t>(at); });
        case type_uint64:
            return f([](const std::byte* at) { return load<std::uint64_t>(at); });
        case type_int64:
            return f([](const std::byte* at) { return load<std::int64_t>(at); });
        default:
            bad_input("a constant of type {} is used as numbers", type_name(type));
    }
}

template <class T>
Constant owned(std::int32_t type, Shape shape, std::vector<T> values) {
    auto owner = std::make_shared<std::vector<T>>(std::move(values));
    const auto bytes = std::as_bytes(std::span<const T>(*owner));
    return {type, false, std::move(shape), bytes, std::move(owner)};
}

Constant owned_bytes(const Constant& like, Shape shape, std::shared_ptr<std::vector<std::byte>> bytes) {
    const std::span<const std::byte> view(*bytes);
    return {like.type, false, std::move(shape), view, std::move(bytes)};
}

template <class T>
std::vector<T> all_as(const Constant& tensor) {
    const auto count = static_cast<std::size_t>(elem_count(tensor.shape));
    std::vector<T> out(count);
    if (count == 0) return out;
    const std::size_t size = element_size(tensor.type);
    with_reader(tensor.type, [&](auto read) {
        if (tensor.splat) {
            std::fill(out.begin(), out.end(), static_cast<T>(read(tensor.bytes.data())));
            return;
        }
        for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<T>(read(tensor.bytes.data() + i * size));
    });
    return out;
}

template <class T, class V>
Constant narrowed(std::int32_t type, Shape shape, std::span<const V> values) {
    std::vector<T> out(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(values[i]);
    return owned(type, std::move(shape), std::move(out));
}

}  // namespace

std::size_t element_size(std::int32_t type) {
    switch (type) {
        case type_uint8:
        case type_int8:
        case type_bool:
            return 1;
        case type_uint16:
        case type_int16:
        case type_float16:
        case type_bfloat16:
            return 2;
        case type_float:
        case type_int32:
        case type_uint32:
            return 4;
        case type_double:
        case type_int64:
        case type_uint64:
            return 8;
        default:
            return 0;
    }
}

bool is_floating(std::int32_t type) {
    return type == type_float || type == type_float16 || type == type_double || type == type_bfloat16;
}

const char* type_name(std::int32_t type) {
    static constexpr const char* names[] = {"undefined", "float",  "uint8",     "int8",       "uint16",  "int16",
                                            "int32",     "int64",  "string",    "bool",       "float16", "double",
                                            "uint32",    "uint64", "complex64", "complex128", "bfloat16"};
    return type >= 0 && type < static_cast<std::int32_t>(std::size(names)) ? names[type] : "unknown";
}

std::int64_t elem_count(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) count = checked_multiply(count, dim);
    return count;
}

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::vector<std::int64_t> strides_of(const Shape& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis > 1; --axis) strides[axis - 2] = checked_multiply(strides[axis - 1], shape[axis - 1]);
    return strides;
}

std::int64_t saturated_i64(double value) {
    if (std::isnan(value)) return 0;
    if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
    if (value < -0x1p63) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(value);
}

Constant make_f32(Shape shape, std::vector<float> values) { return owned(type_float, std::move(shape), std::move(values)); }
Constant make_i64(Shape shape, std::vector<std::int64_t> values) {
    return owned(type_int64, std::move(shape), std::move(values));
}

Constant from_f64(std::int32_t type, Shape shape, std::span<const double> values) {
    if (type == type_double) return narrowed<double>(type, std::move(shape), values);
    if (type == type_float) return narrowed<float>(type, std::move(shape), values);
    if (type != type_float16) bad_input("constants of type {} cannot be computed", type_name(type));
    std::vector<std::uint16_t> halves(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) halves[i] = float_to_half(static_cast<float>(values[i]));
    return owned(type, std::move(shape), std::move(halves));
}

Constant from_i64(std::int32_t type, Shape shape, std::span<const std::int64_t> values) {
    switch (type) {
        case type_bool: {
            std::vector<std::uint8_t> out(values.size());
            for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i] != 0 ? 1 : 0;
            return owned(type, std::move(shape), std::move(out));
        }
        case type_uint8:
            return narrowed<std::uint8_t>(type, std::move(shape), values);
        case type_int8:
            return narrowed<std::int8_t>(type, std::move(shape), values);
        case type_uint16:
            return narrowed<std::uint16_t>(type, std::move(shape), values);
        case type_int16:
            return narrowed<std::int16_t>(type, std::move(shape), values);
        case type_uint32:
            return narrowed<std::uint32_t>(type, std::move(shape), values);
        case type_int32:
            return narrowed<std::int32_t>(type, std::move(shape), values);
        case type_uint64:
            return narrowed<std::uint64_t>(type, std::move(shape), values);
        case type_int64:
            return narrowed<std::int64_t>(type, std::move(shape), values);
        default:
            bad_input("constants of type {} cannot be computed", type_name(type));
    }
}

Constant make_splat(const Constant& element, Shape shape) {
    Constant result = element;
    result.splat = true;
    result.bytes = result.bytes.first(element_size(element.type));
    result.shape = std::move(shape);
    return result;
}

std::vector<std::int64_t> as_i64(const Constant& tensor) {
    if (is_floating(tensor.type)) bad_input("a constant of type {} is used as whole numbers", type_name(tensor.type));
    return all_as<std::int64_t>(tensor);
}

std::vector<double> as_f64(const Constant& tensor) { return all_as<double>(tensor); }

void read_f32(const Constant& tensor, std::int64_t first, std::span<float> out) {
    const std::size_t size = element_size(tensor.type);
    if (tensor.type == type_float && !tensor.splat) {
        if (!out.empty())
            std::memcpy(out.data(), tensor.bytes.data() + static_cast<std::size_t>(first) * size, out.size_bytes());
        return;
    }
    with_reader(tensor.type, [&](auto read) {
        const std::byte* at = tensor.bytes.data() + (tensor.splat ? 0 : static_cast<std::size_t>(first) * size);
        const std::size_t step = tensor.splat ? 0 : size;
        for (float& value : out) {
            value = static_cast<float>(read(at));
            at += step;
        }
    });
}

Constant reshaped(Constant tensor, Shape shape) {
    WEFT_CHECK(elem_count(shape) == elem_count(tensor.shape));
    tensor.shape = std::move(shape);
    return tensor;
}

Constant permuted(const Constant& tensor, std::span<const std::int64_t> perm) {
    Shape shape(perm.size());
    for (std::size_t k = 0; k < perm.size(); ++k) shape[k] = tensor.shape[static_cast<std::size_t>(perm[k])];
    if (tensor.splat) return make_splat(tensor, std::move(shape));
    const auto in_strides = strides_of(tensor.shape);
    const std::size_t size = element_size(tensor.type);
    auto out = std::make_shared<std::vector<std::byte>>(tensor.bytes.size());
    std::vector<std::int64_t> index(perm.size(), 0);
    std::int64_t source = 0;
    for (std::size_t at = 0; at < out->size(); at += size) {
        std::memcpy(out->data() + at, tensor.bytes.data() + static_cast<std::size_t>(source) * size, size);
        for (std::size_t k = perm.size(); k-- > 0;) {
            const std::int64_t stride = in_strides[static_cast<std::size_t>(perm[k])];
            source += stride;
            if (++index[k] < shape[k]) break;
            source -= stride * shape[k];
            index[k] = 0;
        }
    }
    return owned_bytes(tensor, std::move(shape), std::move(out));
}

Constant remapped(const Constant& tensor, std::span<const std::vector<std::int32_t>> maps, double fill) {
    Shape shape = tensor.shape;
    bool all_inside = true;
    for (std::size_t axis = 0; axis < maps.size(); ++axis) {
        if (maps[axis].empty()) continue;
        shape[axis] = static_cast<std::int64_t>(maps[axis].size());
        for (const std::int32_t index : maps[axis]) all_inside = all_inside && index >= 0;
    }
    if (tensor.splat && all_inside) return make_splat(tensor, std::move(shape));
    const std::size_t size = element_size(tensor.type);
    const std::vector<std::int64_t> whole_fill = {saturated_i64(fill)};
    const Constant filler =
        is_floating(tensor.type) ? from_f64(tensor.type, {}, std::span(&fill, 1)) : from_i64(tensor.type, {}, whole_fill);
    const auto in_strides = strides_of(tensor.shape);
    auto out = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(elem_count(shape)) * size);
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::size_t at = 0; at < out->size(); at += size) {
        std::int64_t source = 0;
        bool inside = true;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            const auto i = static_cast<std::size_t>(index[axis]);
            const std::int64_t mapped = axis < maps.size() && !maps[axis].empty() ? maps[axis][i] : index[axis];
            inside = inside && mapped >= 0;
            source += mapped * in_strides[axis];
        }
        const std::byte* from =
            inside ? tensor.bytes.data() + (tensor.splat ? 0 : static_cast<std::size_t>(source) * size) : filler.bytes.data();
        std::memcpy(out->data() + at, from, size);
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
    return owned_bytes(tensor, std::move(shape), std::move(out));
}

Constant concatenated(std::span<const Constant> parts, std::size_t axis) {
    Shape shape = parts[0].shape;
    shape[axis] = 0;
    for (const Constant& part : parts) shape[axis] += part.shape[axis];
    const std::size_t size = element_size(parts[0].type);
    const std::int64_t outer = elem_count(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)));
    auto out = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(elem_count(shape)) * size);
    std::size_t at = 0;
    for (std::int64_t row = 0; row < outer; ++row) {
        for (const Constant& part : parts) {
            const std::size_t length = static_cast<std::size_t>(elem_count(part.shape) / outer) * size;
            const std::size_t step = part.splat ? size : length;
            const std::byte* source = part.bytes.data() + (part.splat ? 0 : static_cast<std::size_t>(row) * length);
            for (std::size_t done = 0; done < length; done += step) std::memcpy(out->data() + at + done, source, step);
            at += length;
        }
    }
    return owned_bytes(parts[0], std::move(shape), std::move(out));
}

}  // namespace weft::frontend
