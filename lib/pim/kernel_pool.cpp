#include <algorithm>

#include "base/checked.h"
#include "pim/kernel_parts.h"

namespace weft::kernel {
namespace {

/// Taps [first, end) of one axis whose inputs exist at output coordinate `at`.
struct TapRange {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    bool operator==(const TapRange&) const = default;
};

TapRange valid_taps(std::uint32_t at, std::uint32_t stride, std::uint32_t pad, std::uint32_t dilation, std::uint32_t kernel,
                    std::uint32_t extent) {
    const auto start = static_cast<std::int64_t>(at) * stride - pad;
    TapRange range{kernel, 0};
    for (std::uint32_t tap = 0; tap < kernel; ++tap) {
        const std::int64_t input = start + static_cast<std::int64_t>(tap) * dilation;
        if (input < 0 || input >= extent) continue;
        range.first = std::min(range.first, tap);
        range.end = tap + 1;
    }
    WEFT_CHECK(range.first < range.end, "a pooling window lies wholly in the padding");
    return range;
}

/// Outputs x .. x + count of row y, all with the same valid taps.
struct PoolRun {
    std::uint32_t y = 0;
    std::uint32_t x = 0;
    std::uint32_t count = 0;
    TapRange rows;
    TapRange columns;
};

bool is_contiguous(const Family& family) { return family.stride_columns == 1; }

void emit_run(Emission& emission, const PoolRun& run) {
    const Family& family = emission.family;
    const TaskTensor& input = emission.input(0);
    const auto channels = static_cast<std::int32_t>(input.channels);
    // With a column stride of one the same tap of neighbouring outputs is contiguous: the whole run is one instruction.
    const bool whole = is_contiguous(family) && run.count <= segment_positions(emission.output);
    const std::uint32_t trips = whole ? 1 : run.count;
    const std::int32_t length = whole ? channels * static_cast<std::int32_t>(run.count) : channels;
    const Address output{element_address(emission.space.output, emission.output, static_cast<std::int32_t>(run.y),
                                         static_cast<std::int32_t>(run.x)),
                         channels};
    const auto tap_address = [&](std::uint32_t row_tap, std::uint32_t column_tap) {
        const auto row = static_cast<std::int32_t>(run.y * family.stride_rows + row_tap * family.dilation_rows) -
                         static_cast<std::int32_t>(family.pad_top);
        const auto column = static_cast<std::int32_t>(run.x * family.stride_columns + column_tap * family.dilation_columns) -
                            static_cast<std::int32_t>(family.pad_left);
        return Address{element_address(emission.space.inputs[0], input, row, column),
                       static_cast<std::int32_t>(family.stride_columns) * channels};
    };
    const bool maximum = family.pool_mode == static_cast<std::uint32_t>(PoolMode::Maximum);
    const Opcode combine = maximum ? Opcode::Vvmax : Opcode::Vvadd;
    emission.body.clear();
    Address value = tap_address(run.rows.first, run.columns.first);
    std::uint32_t taps = 0;
    for (std::uint32_t r = run.rows.first; r < run.rows.end; ++r) {
        for (std::uint32_t c = run.columns.first; c < run.columns.end; ++c) {
            if (taps++ == 0) continue;
            emission.body.push_back({combine, output, value, tap_address(r, c), length, 0});
            value = output;
        }
    }
    if (maximum) {
        if (taps == 1) emission.body.push_back({Opcode::Lmv, output, value, {}, length, 0});
    } else {
        const bool count_pads = family.pool_mode == static_cast<std::uint32_t>(PoolMode::AverageCountPads);
        const std::uint32_t divisor = count_pads ? family.kernel_rows * family.kernel_columns : taps;
        const std::int32_t fill_elems = std::max(length, static_cast<std::int32_t>(segment_limit_elems));
        const Address scale{emission.memory.fill(1.0F / static_cast<float>(divisor), fill_elems), 0};
        emission.body.push_back({Opcode::Vvmul, output, value, scale, length, 0});
    }
    emission.code.append(emission.body, trips, emission.label());
}

}  // namespace

void emit_pool(Emission& emission, std::uint32_t first_position, std::uint32_t position_count) {
    const Family& family = emission.family;
    const TaskTensor& input = emission.input(0);
    const TaskTensor& output = emission.output;
    const auto columns_at = [&](std::uint32_t x) {
        return valid_taps(x, family.stride_columns, family.pad_left, family.dilation_columns, family.kernel_columns, input.columns);
    };
    for (std::uint32_t position = first_position; position < first_position + position_count;) {
        const std::uint32_t y = position / output.columns;
        const std::uint32_t first = position % output.columns;
        const std::uint32_t end = std::min(output.columns, first + (first_position + position_count - position));
        const TapRange rows =
            valid_taps(y, family.stride_rows, family.pad_top, family.dilation_rows, family.kernel_rows, input.rows);
        for (std::uint32_t x = first; x < end;) {
            const TapRange columns = columns_at(x);
            const std::uint32_t limit = is_contiguous(family) ? std::min(end, x + segment_positions(output)) : end;
            std::uint32_t stop = x + 1;
            while (stop < limit && columns_at(stop) == columns) ++stop;
            emit_run(emission, {y, x, stop - x, rows, columns});
            x = stop;
        }
        emit_steps(emission, y, first, end);
        position += end - first;
    }
}

}  // namespace weft::kernel
