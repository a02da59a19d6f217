#include "simulate/kernels.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"

// The same additions in the same order on every machine (no contraction, rows one after the other), so wider registers change
// the speed and not one bit.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#if defined(__has_feature)
#if !__has_feature(address_sanitizer)
#define WEFT_WIDE __attribute__((target_clones("avx2", "default")))
#endif
#else
#define WEFT_WIDE __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef WEFT_WIDE
#define WEFT_WIDE
#endif

namespace weft {

WEFT_WIDE void multiply_matrix(std::span<const float> x, const float* cells, std::size_t columns, float* y) {
    std::fill(y, y + columns, 0.0F);
    std::size_t row = 0;
    for (; row + 4 <= x.size(); row += 4) {
        const float x0 = x[row];
        const float x1 = x[row + 1];
        const float x2 = x[row + 2];
        const float x3 = x[row + 3];
        const float* m0 = cells + row * columns;
        const float* m1 = m0 + columns;
        const float* m2 = m1 + columns;
        const float* m3 = m2 + columns;
        for (std::size_t column = 0; column < columns; ++column) {
            y[column] = (((y[column] + x0 * m0[column]) + x1 * m1[column]) + x2 * m2[column]) + x3 * m3[column];
        }
    }
    for (; row < x.size(); ++row) {
        const float* line = cells + row * columns;
        for (std::size_t column = 0; column < columns; ++column) y[column] += x[row] * line[column];
    }
}

namespace {

template <class Function>
void each(const float* a, const float* b, std::span<float> y, Function&& function) {
    for (std::size_t at = 0; at < y.size(); ++at) y[at] = function(a[at], b[at]);
}

template <class Function>
void each(const float* a, std::span<float> y, Function&& function) {
    for (std::size_t at = 0; at < y.size(); ++at) y[at] = function(a[at]);
}

void softmax(const float* a, std::span<float> y) {
    if (y.empty()) return;
    const float largest = *std::max_element(a, a + y.size());
    double sum = 0;
    for (std::size_t at = 0; at < y.size(); ++at) {
        y[at] = std::exp(a[at] - largest);
        sum += static_cast<double>(y[at]);
    }
    for (float& value : y) value = static_cast<float>(static_cast<double>(value) / sum);
}

}  // namespace

void two_operand_kernel(Opcode op, const float* a, const float* b, std::span<float> y) {
    // An element's shift distance is a whole number; anything beyond the exponent's range gives zero or infinity.
    const auto shifted = [](float value, float distance) {
        return std::ldexp(value, static_cast<int>(std::clamp(distance, -1000.0F, 1000.0F)));
    };
    switch (op) {
        case Opcode::Vvadd: return each(a, b, y, [](float p, float q) { return p + q; });
        case Opcode::Vvsub: return each(a, b, y, [](float p, float q) { return p - q; });
        case Opcode::Vvmul: return each(a, b, y, [](float p, float q) { return p * q; });
        case Opcode::Vvmax: return each(a, b, y, [](float p, float q) { return p < q ? q : p; });
        case Opcode::Vvsll: return each(a, b, y, [&](float p, float q) { return shifted(p, q); });
        case Opcode::Vvsra: return each(a, b, y, [&](float p, float q) { return shifted(p, -q); });
        default: WEFT_CHECK(false, "opcode {} takes no two vectors", static_cast<int>(op));
    }
}

void one_operand_kernel(Opcode op, const float* a, float bound, std::span<float> y) {
    switch (op) {
        case Opcode::Vrelu: return each(a, y, [](float p) { return p < 0.0F ? 0.0F : p; });
        case Opcode::Vtanh: return each(a, y, [](float p) { return std::tanh(p); });
        case Opcode::Vsigm: return each(a, y, [](float p) { return 1.0F / (1.0F + std::exp(-p)); });
        case Opcode::Vrsu: return each(a, y, [bound](float p) { return bound < p ? bound : p; });
        case Opcode::Vrsl: return each(a, y, [bound](float p) { return p < bound ? bound : p; });
        case Opcode::Vsoftmax: return softmax(a, y);
        default: WEFT_CHECK(false, "opcode {} takes no single vector", static_cast<int>(op));
    }
}

}  // namespace weft
