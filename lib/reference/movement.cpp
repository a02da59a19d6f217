#include <algorithm>

#include "reference/kernels.h"

// Operators that move values and compute nothing.
namespace weft {
namespace {

void gather(const NodeContext& context, const OffsetTables& tables, float fill, HostTensor& output) {
    const auto& source = context.input(0).values;
    auto target = output.values.begin();
    walk(tables, 0, 0, [&](std::int64_t at) { *target++ = at == outside ? fill : source[static_cast<std::size_t>(at)]; });
}

}  // namespace

void run_concat(const NodeContext& context, HostTensor& output) {
    const std::size_t axis = context.axis(output.dims.size());
    const std::size_t inner = elem_count(std::span(output.dims).subspan(axis + 1));
    const std::size_t blocks = elem_count(std::span(output.dims).first(axis));
    const std::size_t row = output.dims[axis] * inner;
    std::size_t start = 0;
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
        const HostTensor& part = context.input(i);
        context.require(part.dims.size() == output.dims.size(), "Concat keeps the rank");
        for (std::size_t other = 0; other < part.dims.size(); ++other) {
            context.require(other == axis || part.dims[other] == output.dims[other], "Concat joins along one axis only");
        }
        const std::size_t length = part.dims[axis] * inner;
        context.require(start + length <= row, "the parts of a Concat fill the output");
        for (std::size_t block = 0; block < blocks; ++block) {
            std::copy_n(part.values.data() + block * length, length, output.values.data() + block * row + start);
        }
        start += length;
    }
    context.require(start == row, "the parts of a Concat fill the output");
}

void run_remap(const NodeContext& context, HostTensor& output) {
    const auto& dims = context.input(0).dims;
    context.require(dims.size() == output.dims.size(), "Remap keeps the rank");
    const auto strides = row_major_strides(dims);
    OffsetTables tables;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        std::vector<std::int64_t> offsets;
        const auto key = static_cast<AttributeKey>(static_cast<std::size_t>(AttributeKey::MapAxis0) + axis);
        const auto map = context.ints(key);
        if (map.empty() && dims[axis] == output.dims[axis]) {
            for (std::int64_t i = 0; i < dims[axis]; ++i) offsets.push_back(i * strides[axis]);
        }
        for (const std::int32_t index : map) {
            context.require(index >= -1 && index < std::int64_t{dims[axis]}, "a map's indices lie within the input's axis");
            offsets.push_back(index < 0 ? outside : index * strides[axis]);
        }
        context.require(offsets.size() == output.dims[axis], "a map has one index per output position");
        tables.push_back(std::move(offsets));
    }
    gather(context, tables, context.number(AttributeKey::Fill).value_or(0), output);
}

void run_transpose(const NodeContext& context, HostTensor& output) {
    const auto& dims = context.input(0).dims;
    const auto perm = context.ints(AttributeKey::Perm);
    context.require(perm.size() == dims.size() && dims.size() == output.dims.size(), "perm has one entry per axis");
    std::vector<std::int32_t> sorted(perm.begin(), perm.end());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t axis = 0; axis < sorted.size(); ++axis) {
        context.require(sorted[axis] == static_cast<std::int64_t>(axis), "perm is a permutation of the axes");
    }
    const auto strides = row_major_strides(dims);
    OffsetTables tables;
    for (std::size_t axis = 0; axis < perm.size(); ++axis) {
        const auto source = static_cast<std::size_t>(perm[axis]);
        context.require(dims[source] == output.dims[axis], "the output's shape is the permuted input's");
        std::vector<std::int64_t> offsets;
        for (std::int64_t i = 0; i < dims[source]; ++i) offsets.push_back(i * strides[source]);
        tables.push_back(std::move(offsets));
    }
    gather(context, tables, 0, output);
}

void run_reshape(const NodeContext& context, HostTensor& output) {
    context.require(context.input(0).values.size() == output.values.size(), "Reshape keeps the number of elements");
    output.values = context.input(0).values;
}

}  // namespace weft
