#include <cmath>

#include "reference/kernels.h"

// Products of two activations and normalisation of rows: sums in double, rounded once.
namespace weft {
namespace {

/// `dims` without its last two axes.
std::vector<std::uint32_t> stack_of(const std::vector<std::uint32_t>& dims) { return {dims.begin(), dims.end() - 2}; }

}  // namespace

void run_matmul(const NodeContext& context, HostTensor& output) {
    const HostTensor& a = context.input(0);
    const HostTensor& b = context.input(1);
    context.require(a.dims.size() >= 2 && b.dims.size() >= 2 && output.dims.size() >= 2, "MatMul: matrices or stacks of them");
    const std::size_t rows = a.dims[a.dims.size() - 2];
    const std::size_t inner = a.dims.back();
    const std::size_t columns = b.dims.back();
    context.require(b.dims[b.dims.size() - 2] == inner && output.dims.back() == columns && output.dims[output.dims.size() - 2] == rows,
                    "MatMul: inner sizes agree");
    const auto stack = stack_of(output.dims);
    const OffsetTables a_tables = broadcast_tables(context, stack_of(a.dims), stack);
    const OffsetTables b_tables = broadcast_tables(context, stack_of(b.dims), stack);
    std::vector<std::int64_t> a_stack;
    std::vector<std::int64_t> b_stack;
    walk(a_tables, 0, 0, [&](std::int64_t offset) { a_stack.push_back(offset); });
    walk(b_tables, 0, 0, [&](std::int64_t offset) { b_stack.push_back(offset); });
    std::vector<double> sums(columns);
    for (std::size_t s = 0; s < a_stack.size(); ++s) {
        const float* left = a.values.data() + static_cast<std::size_t>(a_stack[s]) * rows * inner;
        const float* right = b.values.data() + static_cast<std::size_t>(b_stack[s]) * inner * columns;
        for (std::size_t row = 0; row < rows; ++row) {
            sums.assign(columns, 0.0);
            for (std::size_t k = 0; k < inner; ++k) {
                const double value = left[row * inner + k];
                for (std::size_t n = 0; n < columns; ++n) sums[n] += value * double{right[k * columns + n]};
            }
            for (std::size_t n = 0; n < columns; ++n) output.values[(s * rows + row) * columns + n] = static_cast<float>(sums[n]);
        }
    }
}

void run_layer_norm(const NodeContext& context, HostTensor& output) {
    const HostTensor& x = context.input(0);
    const HostTensor& scale = context.input(1);
    context.require(!x.dims.empty() && scale.values.size() == x.dims.back(), "LayerNorm: one scale per column");
    context.require(!context.has_input(2) || context.input(2).values.size() == x.dims.back(), "LayerNorm: one offset per column");
    const double epsilon = double{context.number(AttributeKey::Alpha).value_or(1e-5F)};
    const std::size_t columns = x.dims.back();
    for (std::size_t first = 0; columns > 0 && first < x.values.size(); first += columns) {
        double sum = 0;
        double squares = 0;
        for (std::size_t c = 0; c < columns; ++c) sum += x.values[first + c];
        const double mean = sum / static_cast<double>(columns);
        for (std::size_t c = 0; c < columns; ++c) squares += (x.values[first + c] - mean) * (x.values[first + c] - mean);
        const double factor = 1.0 / std::sqrt(squares / static_cast<double>(columns) + epsilon);
        for (std::size_t c = 0; c < columns; ++c) {
            const double offset = context.has_input(2) ? double{context.input(2).values[c]} : 0.0;
            output.values[first + c] = static_cast<float>((x.values[first + c] - mean) * factor * double{scale.values[c]} + offset);
        }
    }
}

}  // namespace weft
