#pragma once

#include <string_view>

#include "frontend/constant.h"
#include "frontend/network.h"

namespace weft::frontend {

enum class UnaryFunction { negate, absolute, floor, ceil, round, sqrt, exp, log, reciprocal, logical_not, sign };

/// Binary functions on constants beyond the canonical operators.
enum class CompareFunction { equal, less, less_or_equal, greater, greater_or_equal, logical_and, logical_or, logical_xor };

enum class ReduceFunction { sum, mean, product, minimum, maximum };

/// All of these compute in 64 bits (exact integers, or double rounded once to the tensor's type, which equals single precision
/// arithmetic for one operation) and throw Failure(bad_input) on types that do not match and on integer division by zero.
/// `out` is the broadcast shape.
[[nodiscard]] Constant compute_binary(OperatorKind kind, const Constant& a, const Constant& b, const Shape& out);
[[nodiscard]] Constant compute_unary(UnaryFunction function, const Constant& a);
[[nodiscard]] Constant compute_compare(CompareFunction function, const Constant& a, const Constant& b, const Shape& out);
[[nodiscard]] Constant compute_power(const Constant& a, const Constant& b, const Shape& out);
/// Integer Mod with the divisor's sign, or fmod.
[[nodiscard]] Constant compute_modulo(const Constant& a, const Constant& b, bool truncated, const Shape& out);
[[nodiscard]] Constant compute_where(const Constant& condition, const Constant& a, const Constant& b, const Shape& out);
[[nodiscard]] Constant compute_cast(const Constant& a, std::int32_t type);
/// Reduce the axes marked true; the result keeps them with size 1.
[[nodiscard]] Constant compute_reduce(ReduceFunction function, const Constant& a, const std::vector<bool>& axes);

}  // namespace weft::frontend
