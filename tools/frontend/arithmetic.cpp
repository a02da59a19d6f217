#include "frontend/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace weft::frontend {
namespace {

/// For each element of `out` in row-major order, the element of a tensor of shape `in` that broadcasting takes.
class BroadcastIndex {
public:
    BroadcastIndex(const Shape& in, const Shape& out) : out_(out), strides_(out.size(), 0), index_(out.size(), 0) {
        const auto own = strides_of(in);
        const std::size_t offset = out.size() - in.size();
        for (std::size_t k = 0; k < in.size(); ++k) strides_[offset + k] = in[k] == 1 ? 0 : own[k];
    }
    [[nodiscard]] std::size_t at() const { return static_cast<std::size_t>(position_); }
    void advance() {
        for (std::size_t k = out_.size(); k-- > 0;) {
            position_ += strides_[k];
            if (++index_[k] < out_[k]) return;
            position_ -= strides_[k] * out_[k];
            index_[k] = 0;
        }
    }

private:
    const Shape& out_;
    std::vector<std::int64_t> strides_;
    std::vector<std::int64_t> index_;
    std::int64_t position_ = 0;
};

template <class T, class R, class F>
std::vector<R> broadcast_apply(std::span<const T> a, const Shape& a_shape, std::span<const T> b, const Shape& b_shape,
                               const Shape& out, F&& f) {
    std::vector<R> result(static_cast<std::size_t>(elem_count(out)));
    BroadcastIndex left(a_shape, out);
    BroadcastIndex right(b_shape, out);
    for (R& value : result) {
        value = f(a[left.at()], b[right.at()]);
        left.advance();
        right.advance();
    }
    return result;
}

std::int64_t divide(std::int64_t a, std::int64_t b) {
    if (b == 0) bad_input("integer division by zero in a constant");
    return b == -1 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a / b;
}

// Wrapping arithmetic, as two's complement hardware does.
std::int64_t binary_i64(OperatorKind kind, std::int64_t a, std::int64_t b) {
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    switch (kind) {
        case OperatorKind::Add:
            return static_cast<std::int64_t>(x + y);
        case OperatorKind::Sub:
            return static_cast<std::int64_t>(x - y);
        case OperatorKind::Mul:
            return static_cast<std::int64_t>(x * y);
        case OperatorKind::Div:
            return divide(a, b);
        case OperatorKind::Max:
            return std::max(a, b);
        default:
            return std::min(a, b);
    }
}

double binary_f64(OperatorKind kind, double a, double b) {
    switch (kind) {
        case OperatorKind::Add:
            return a + b;
        case OperatorKind::Sub:
            return a - b;
        case OperatorKind::Mul:
            return a * b;
        case OperatorKind::Div:
            return a / b;
        case OperatorKind::Max:
            return std::max(a, b);
        default:
            return std::min(a, b);
    }
}

void require_same_type(const Constant& a, const Constant& b) {
    if (a.type != b.type) bad_input("operands of types {} and {}", type_name(a.type), type_name(b.type));
}

template <class F>
bool compare(CompareFunction function, F a, F b) {
    switch (function) {
        case CompareFunction::equal:
            return a == b;
        case CompareFunction::less:
            return a < b;
        case CompareFunction::less_or_equal:
            return a <= b;
        case CompareFunction::greater:
            return a > b;
        case CompareFunction::greater_or_equal:
            return a >= b;
        case CompareFunction::logical_and:
            return a != 0 && b != 0;
        case CompareFunction::logical_or:
            return a != 0 || b != 0;
        case CompareFunction::logical_xor:
            return (a != 0) != (b != 0);
    }
    return false;
}

double unary_f64(UnaryFunction function, double a) {
    switch (function) {
        case UnaryFunction::negate:
            return -a;
        case UnaryFunction::absolute:
            return std::fabs(a);
        case UnaryFunction::floor:
            return std::floor(a);
        case UnaryFunction::ceil:
            return std::ceil(a);
        case UnaryFunction::round:
            return std::nearbyint(a);
        case UnaryFunction::sqrt:
            return std::sqrt(a);
        case UnaryFunction::exp:
            return std::exp(a);
        case UnaryFunction::log:
            return std::log(a);
        case UnaryFunction::reciprocal:
            return 1 / a;
        case UnaryFunction::sign:
            return a > 0 ? 1 : a < 0 ? -1 : 0;
        case UnaryFunction::logical_not:
            return a == 0 ? 1 : 0;
    }
    return a;
}

std::int64_t unary_i64(UnaryFunction function, std::int64_t a) {
    switch (function) {
        case UnaryFunction::negate:
            return binary_i64(OperatorKind::Sub, 0, a);
        case UnaryFunction::absolute:
            return a < 0 ? binary_i64(OperatorKind::Sub, 0, a) : a;
        case UnaryFunction::sign:
            return a > 0 ? 1 : a < 0 ? -1 : 0;
        case UnaryFunction::logical_not:
            return a == 0 ? 1 : 0;
        case UnaryFunction::floor:
        case UnaryFunction::ceil:
        case UnaryFunction::round:
            return a;
        default:
            bad_input("this function is not defined on integers");
    }
}

template <class T>
void reduce_into(ReduceFunction function, T& sum, T value, bool first) {
    switch (function) {
        case ReduceFunction::sum:
        case ReduceFunction::mean:
            sum = first ? value : sum + value;
            return;
        case ReduceFunction::product:
            sum = first ? value : sum * value;
            return;
        case ReduceFunction::minimum:
            sum = first ? value : std::min(sum, value);
            return;
        case ReduceFunction::maximum:
            sum = first ? value : std::max(sum, value);
            return;
    }
}

template <class T>
std::vector<T> reduce_values(ReduceFunction function, std::span<const T> in, const Shape& in_shape, const Shape& out) {
    std::vector<T> result(static_cast<std::size_t>(elem_count(out)), T{});
    std::vector<bool> started(result.size(), false);
    BroadcastIndex target(out, in_shape);
    for (const T value : in) {
        reduce_into(function, result[target.at()], value, !started[target.at()]);
        started[target.at()] = true;
        target.advance();
    }
    return result;
}

}  // namespace

Constant compute_binary(OperatorKind kind, const Constant& a, const Constant& b, const Shape& out) {
    require_same_type(a, b);
    if (a.splat && b.splat && elem_count(out) > 0) {
        const Constant left = make_splat(a, {1});
        const Constant right = make_splat(b, {1});
        if (out != Shape{1}) return make_splat(compute_binary(kind, left, right, {1}), out);
    }
    if (is_floating(a.type)) {
        const auto values = broadcast_apply<double, double>(as_f64(a), a.shape, as_f64(b), b.shape, out,
                                                            [&](double x, double y) { return binary_f64(kind, x, y); });
        return from_f64(a.type, out, values);
    }
    const auto values = broadcast_apply<std::int64_t, std::int64_t>(
        as_i64(a), a.shape, as_i64(b), b.shape, out, [&](std::int64_t x, std::int64_t y) { return binary_i64(kind, x, y); });
    return from_i64(a.type, out, values);
}

Constant compute_unary(UnaryFunction function, const Constant& a) {
    if (a.splat && a.shape != Shape{1} && elem_count(a.shape) > 0)
        return make_splat(compute_unary(function, make_splat(a, {1})), a.shape);
    if (is_floating(a.type)) {
        auto values = as_f64(a);
        for (double& value : values) value = unary_f64(function, value);
        return from_f64(a.type, a.shape, values);
    }
    auto values = as_i64(a);
    for (std::int64_t& value : values) value = unary_i64(function, value);
    return from_i64(a.type, a.shape, values);
}

Constant compute_compare(CompareFunction function, const Constant& a, const Constant& b, const Shape& out) {
    require_same_type(a, b);
    std::vector<std::int64_t> values;
    if (is_floating(a.type)) {
        values = broadcast_apply<double, std::int64_t>(as_f64(a), a.shape, as_f64(b), b.shape, out,
                                                       [&](double x, double y) { return compare(function, x, y) ? 1 : 0; });
    } else {
        values = broadcast_apply<std::int64_t, std::int64_t>(
            as_i64(a), a.shape, as_i64(b), b.shape, out,
            [&](std::int64_t x, std::int64_t y) { return compare(function, x, y) ? 1 : 0; });
    }
    return from_i64(type_bool, out, values);
}

Constant compute_power(const Constant& a, const Constant& b, const Shape& out) {
    const auto values = broadcast_apply<double, double>(as_f64(a), a.shape, as_f64(b), b.shape, out,
                                                        [](double x, double y) { return std::pow(x, y); });
    if (is_floating(a.type)) return from_f64(a.type, out, values);
    std::vector<std::int64_t> whole(values.size());
    std::transform(values.begin(), values.end(), whole.begin(), saturated_i64);
    return from_i64(a.type, out, whole);
}

Constant compute_modulo(const Constant& a, const Constant& b, bool truncated, const Shape& out) {
    require_same_type(a, b);
    if (is_floating(a.type)) {
        const auto values = broadcast_apply<double, double>(as_f64(a), a.shape, as_f64(b), b.shape, out,
                                                            [](double x, double y) { return std::fmod(x, y); });
        return from_f64(a.type, out, values);
    }
    const auto values = broadcast_apply<std::int64_t, std::int64_t>(
        as_i64(a), a.shape, as_i64(b), b.shape, out, [&](std::int64_t x, std::int64_t y) {
            if (y == 0) bad_input("integer division by zero in a constant");
            const std::int64_t rest = y == -1 ? 0 : x % y;
            return !truncated && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
        });
    return from_i64(a.type, out, values);
}

Constant compute_where(const Constant& condition, const Constant& a, const Constant& b, const Shape& out) {
    require_same_type(a, b);
    const auto chosen = as_i64(condition);
    BroadcastIndex which(condition.shape, out);
    const auto choose = [&](auto x, auto y) {
        const bool first = chosen[which.at()] != 0;
        which.advance();
        return first ? x : y;
    };
    if (is_floating(a.type)) {
        return from_f64(a.type, out, broadcast_apply<double, double>(as_f64(a), a.shape, as_f64(b), b.shape, out, choose));
    }
    return from_i64(a.type, out,
                    broadcast_apply<std::int64_t, std::int64_t>(as_i64(a), a.shape, as_i64(b), b.shape, out, choose));
}

Constant compute_cast(const Constant& a, std::int32_t type) {
    if (a.type == type) return a;
    if (a.splat && a.shape != Shape{1} && elem_count(a.shape) > 0)
        return make_splat(compute_cast(make_splat(a, {1}), type), a.shape);
    if (is_floating(type)) return from_f64(type, a.shape, as_f64(a));
    if (!is_floating(a.type)) return from_i64(type, a.shape, as_i64(a));
    const auto values = as_f64(a);
    std::vector<std::int64_t> whole(values.size());
    const bool to_bool = type == type_bool;
    std::transform(values.begin(), values.end(), whole.begin(),
                   [&](double value) { return to_bool ? std::int64_t{value != 0} : saturated_i64(value); });
    return from_i64(type, a.shape, whole);
}

Constant compute_reduce(ReduceFunction function, const Constant& a, const std::vector<bool>& axes) {
    Shape out = a.shape;
    std::int64_t reduced = 1;
    for (std::size_t k = 0; k < out.size(); ++k) {
        if (!axes[k]) continue;
        reduced = checked_multiply(reduced, out[k]);
        out[k] = 1;
    }
    if (elem_count(a.shape) == 0) bad_input("a reduction over no elements");
    if (is_floating(a.type)) {
        auto values = reduce_values<double>(function, as_f64(a), a.shape, out);
        if (function == ReduceFunction::mean) {
            for (double& value : values) value /= static_cast<double>(reduced);
        }
        return from_f64(a.type, out, values);
    }
    if (function == ReduceFunction::mean) bad_input("the mean of integers is not supported");
    const auto wide = as_i64(a);
    // Unsigned sums wrap instead of overflowing; minimum and maximum keep the sign.
    if (function == ReduceFunction::minimum || function == ReduceFunction::maximum) {
        return from_i64(a.type, out, reduce_values<std::int64_t>(function, wide, a.shape, out));
    }
    const std::vector<std::uint64_t> bits(wide.begin(), wide.end());
    const auto sums = reduce_values<std::uint64_t>(function, bits, a.shape, out);
    return from_i64(a.type, out, std::vector<std::int64_t>(sums.begin(), sums.end()));
}

}  // namespace weft::frontend
