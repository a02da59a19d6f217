#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frontend/frontend.h"

namespace weft::frontend {

/// TensorProto.DataType numbers that weft computes with.
enum ElementType : std::int32_t {
    type_float = 1,
    type_uint8 = 2,
    type_int8 = 3,
    type_uint16 = 4,
    type_int16 = 5,
    type_int32 = 6,
    type_int64 = 7,
    type_string = 8,
    type_bool = 9,
    type_float16 = 10,
    type_double = 11,
    type_uint32 = 12,
    type_uint64 = 13,
    type_bfloat16 = 16
};

/// Bytes per element; 0 for types that weft does not know.
[[nodiscard]] std::size_t element_size(std::int32_t type);
[[nodiscard]] bool is_floating(std::int32_t type);
[[nodiscard]] const char* type_name(std::int32_t type);
/// Product of the dimensions; Failure(system) where it passes 63 bits. 1 for a scalar.
[[nodiscard]] std::int64_t elem_count(const Shape& shape);
[[nodiscard]] std::string shape_text(const Shape& shape);

/// A tensor known at compile time. Its bytes may lie unaligned in the mapped model, so they are only read through the
/// functions below. A splat holds a single element that stands for all (ConstantOfShape of hundreds of megabytes).
struct Constant {
    std::int32_t type = 0;
    bool splat = false;
    Shape shape;
    std::span<const std::byte> bytes;   ///< row-major, little-endian
    std::shared_ptr<const void> owner;  ///< keeps `bytes` alive; empty where the caller's model does
};

[[nodiscard]] Constant make_f32(Shape shape, std::vector<float> values);
[[nodiscard]] Constant make_i64(Shape shape, std::vector<std::int64_t> values);
/// Values rounded to `type`, which must be floating (from_f64) or integer or bool (from_i64; wraps).
[[nodiscard]] Constant from_f64(std::int32_t type, Shape shape, std::span<const double> values);
[[nodiscard]] Constant from_i64(std::int32_t type, Shape shape, std::span<const std::int64_t> values);
/// One element for all of `shape`.
[[nodiscard]] Constant make_splat(const Constant& element, Shape shape);

/// All elements of an integer or bool tensor; bad input for other types.
[[nodiscard]] std::vector<std::int64_t> as_i64(const Constant& tensor);
/// All elements, from any numeric type.
[[nodiscard]] std::vector<double> as_f64(const Constant& tensor);
/// Convert `count` elements from element `first` to f32.
void read_f32(const Constant& tensor, std::int64_t first, std::span<float> out);

/// Another shape over the same elements.
[[nodiscard]] Constant reshaped(Constant tensor, Shape shape);
/// out axis k is axis perm[k] of the input.
[[nodiscard]] Constant permuted(const Constant& tensor, std::span<const std::int64_t> perm);
/// out[i0, i1, ...] = tensor[map0[i0], map1[i1], ...], the bytes `fill` where an index is -1; an empty map takes the axis
/// whole.
[[nodiscard]] Constant remapped(const Constant& tensor, std::span<const std::vector<std::int32_t>> maps, double fill);
[[nodiscard]] Constant concatenated(std::span<const Constant> parts, std::size_t axis);

/// Towards zero; NaN becomes 0, what does not fit the nearest limit.
[[nodiscard]] std::int64_t saturated_i64(double value);

/// Row-major strides in elements.
[[nodiscard]] std::vector<std::int64_t> strides_of(const Shape& shape);

}  // namespace weft::frontend
