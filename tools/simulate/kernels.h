#pragma once

#include <cstddef>
#include <span>

#include "artifact/program.h"

namespace weft {

/// y[column] = sum over rows of x[row] * cells[row * columns + column], rows in ascending order, in f32.
void multiply_matrix(std::span<const float> x, const float* cells, std::size_t columns, float* y);

/// Elementwise two-operand instruction on y.size() elements; y may be a or b.
void two_operand_kernel(Opcode op, const float* a, const float* b, std::span<float> y);

/// Elementwise one-operand instruction (vrelu, vtanh, vsigm, vrsu, vrsl, vsoftmax); `bound` for vrsu and vrsl. y may be a.
void one_operand_kernel(Opcode op, const float* a, float bound, std::span<float> y);

}  // namespace weft
