#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/kernels.h"
#include "reference/npy.h"

// Pointwise operators, Softmax and LogSoftmax; transcendental functions in double, rounded once.
namespace weft {
namespace {

float binary(OperatorKind kind, float a, float b) {
    switch (kind) {
        case OperatorKind::Add: return a + b;
        case OperatorKind::Sub: return a - b;
        case OperatorKind::Mul: return a * b;
        case OperatorKind::Div: return a / b;
        case OperatorKind::Max: return std::max(a, b);
        case OperatorKind::Min: return std::min(a, b);
        default: return a < 0 ? a * b : a;   // PRelu
    }
}

// TensorProto.DataType
enum class OnnxType : std::int32_t {
    float32 = 1, uint8 = 2, int8 = 3, uint16 = 4, int16 = 5, int32 = 6, int64 = 7, boolean = 9, float16 = 10, float64 = 11,
    uint32 = 12, uint64 = 13,
};

/// The value that `x` has after a cast to `type`, as f32.
float cast(const NodeContext& context, std::int32_t type, float x) {
    switch (static_cast<OnnxType>(type)) {
        case OnnxType::float32:
        case OnnxType::float64: return x;
        case OnnxType::float16: return half_to_float(float_to_half(x));
        case OnnxType::boolean: return x != 0 ? 1.0F : 0.0F;
        case OnnxType::uint8:
        case OnnxType::int8:
        case OnnxType::uint16:
        case OnnxType::int16:
        case OnnxType::int32:
        case OnnxType::int64:
        case OnnxType::uint32:
        case OnnxType::uint64: return std::trunc(x);
    }
    context.require(false, "a cast goes to a number type");
    return x;
}

struct UnaryParameters {
    float alpha, beta, minimum, maximum;
    std::int32_t type;
};

float gelu(bool tanh_form, double x) {
    constexpr double root_half = 0.70710678118654752440;
    constexpr double root_two_over_pi = 0.79788456080286535588;
    const double gate = tanh_form ? std::tanh(root_two_over_pi * (x + 0.044715 * x * x * x)) : std::erf(x * root_half);
    return static_cast<float>(0.5 * x * (1 + gate));
}

float unary(const NodeContext& context, const UnaryParameters& p, float x) {
    switch (context.kind()) {
        case OperatorKind::Relu: return std::max(x, 0.0F);
        case OperatorKind::LeakyRelu: return x < 0 ? p.alpha * x : x;
        case OperatorKind::Clip: return std::min(std::max(x, p.minimum), p.maximum);
        case OperatorKind::HardSigmoid: return std::max(0.0F, std::min(1.0F, p.alpha * x + p.beta));
        case OperatorKind::HardSwish: return x * std::max(0.0F, std::min(1.0F, x / 6.0F + 0.5F));
        case OperatorKind::Sigmoid: return static_cast<float>(1.0 / (1.0 + std::exp(-double{x})));
        case OperatorKind::Tanh: return static_cast<float>(std::tanh(double{x}));
        case OperatorKind::Exp: return static_cast<float>(std::exp(double{x}));
        case OperatorKind::Erf: return static_cast<float>(std::erf(double{x}));
        case OperatorKind::Sqrt: return static_cast<float>(std::sqrt(double{x}));
        case OperatorKind::Gelu: return gelu(p.alpha != 0, x);
        default: return cast(context, p.type, x);
    }
}

/// One softmax over `count` values `stride` apart.
void softmax_line(const float* source, float* target, std::size_t count, std::size_t stride, bool logarithm) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, double{source[i * stride]});
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += std::exp(source[i * stride] - largest);
    for (std::size_t i = 0; i < count; ++i) {
        const double shifted = source[i * stride] - largest;
        target[i * stride] = static_cast<float>(logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum);
    }
}

}  // namespace

OffsetTables broadcast_tables(const NodeContext& context, std::span<const std::uint32_t> from, std::span<const std::uint32_t> to) {
    context.require(from.size() <= to.size(), "an operand has no more axes than the output");
    const auto strides = row_major_strides(from);
    const std::size_t missing = to.size() - from.size();
    OffsetTables tables;
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
        std::vector<std::int64_t> offsets(to[axis], 0);
        if (axis >= missing && from[axis - missing] != 1) {
            context.require(from[axis - missing] == to[axis], "operands broadcast to the output's shape");
            for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<std::int64_t>(i) * strides[axis - missing];
        }
        tables.push_back(std::move(offsets));
    }
    return tables;
}

void run_binary(const NodeContext& context, HostTensor& output) {
    const HostTensor& a = context.input(0);
    const HostTensor& b = context.input(1);
    auto target = output.values.begin();
    walk(broadcast_tables(context, a.dims, output.dims), 0, 0, [&](std::int64_t at) { *target++ = a.values[static_cast<std::size_t>(at)]; });
    target = output.values.begin();
    walk(broadcast_tables(context, b.dims, output.dims), 0, 0, [&](std::int64_t at) {
        *target = binary(context.kind(), *target, b.values[static_cast<std::size_t>(at)]);
        ++target;
    });
}

void run_unary(const NodeContext& context, HostTensor& output) {
    const HostTensor& x = context.input(0);
    context.require(x.values.size() == output.values.size(), "a pointwise operator keeps the shape");
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const UnaryParameters parameters{context.number(AttributeKey::Alpha).value_or(0), context.number(AttributeKey::Beta).value_or(0),
                                     context.number(AttributeKey::Minimum).value_or(-infinity),
                                     context.number(AttributeKey::Maximum).value_or(infinity), context.integer(AttributeKey::To, 1)};
    for (std::size_t i = 0; i < x.values.size(); ++i) output.values[i] = unary(context, parameters, x.values[i]);
}

void run_softmax(const NodeContext& context, HostTensor& output) {
    const HostTensor& x = context.input(0);
    context.require(x.dims == output.dims, "Softmax keeps the shape");
    const std::size_t axis = context.axis(x.dims.size());
    const std::size_t count = x.dims[axis];
    const std::size_t stride = elem_count(std::span(x.dims).subspan(axis + 1));
    const std::size_t blocks = elem_count(std::span(x.dims).first(axis));
    for (std::size_t block = 0; block < blocks; ++block) {
        for (std::size_t inner = 0; inner < stride; ++inner) {
            const std::size_t at = block * count * stride + inner;
            softmax_line(x.values.data() + at, output.values.data() + at, count, stride, context.kind() == OperatorKind::LogSoftmax);
        }
    }
}

}  // namespace weft
