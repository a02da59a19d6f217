#include "pim/local_memory.h"

#include <bit>

#include "base/checked.h"

namespace weft {

std::int32_t LocalMemory::allocate(std::int64_t elems) {
    const std::int64_t address = used_;
    used_ = checked_add(used_, elems);
    return narrow<std::int32_t>(address);
}

std::int32_t LocalMemory::fill(float value, std::int32_t count) {
    const auto [entry, added] = fills_.try_emplace({std::bit_cast<std::uint32_t>(value), count}, 0);
    if (added) {
        entry->second = allocate(count);
        LocalConstant constant;
        constant.core = core_.value;
        constant.address = static_cast<std::uint32_t>(entry->second);
        constant.count = static_cast<std::uint32_t>(count);
        constant.repeats = 1;
        constant.weight = no_id;
        constant.shift = value;
        constants_.push_back(constant);
    }
    return entry->second;
}

std::int32_t LocalMemory::channel_constant(const Tasks& tasks, std::uint32_t constant, std::uint32_t channels,
                                           std::uint32_t positions) {
    const auto [entry, added] = channel_rows_.try_emplace({constant, positions}, 0);
    if (added) {
        const TaskConstant& values = tasks.constants[constant];
        entry->second = allocate(std::int64_t{channels} * positions);
        constants_.push_back({core_.value, static_cast<std::uint32_t>(entry->second), channels, positions, channels, values.weight,
                              values.offset, values.channel_stride, values.scale, values.shift});
    }
    return entry->second;
}

std::int32_t LocalMemory::full_constant(const Tasks& tasks, std::uint32_t constant, const TaskTensor& tensor,
                                        std::uint32_t first_row, std::uint32_t end_row) {
    const TaskConstant& values = tasks.constants[constant];
    const std::uint32_t pitch = (tensor.columns + tensor.gap) * tensor.channels;
    const std::int32_t address = allocate(std::int64_t{pitch} * (end_row - first_row));
    for (std::uint32_t row = first_row; row < end_row; ++row) {
        for (std::uint32_t column = 0; column < tensor.columns; ++column) {
            const std::uint32_t at = static_cast<std::uint32_t>(address) + (row - first_row) * pitch + column * tensor.channels;
            const std::uint32_t offset = values.offset + row * values.row_stride + column * values.column_stride;
            constants_.push_back({core_.value, at, tensor.channels, 1, 0, values.weight, offset, values.channel_stride, values.scale,
                                  values.shift});
        }
    }
    return address;
}

std::int32_t LocalMemory::gather_buffer_with_one(std::int32_t elems) {
    const std::int32_t address = allocate(elems);
    constants_.push_back({core_.value, static_cast<std::uint32_t>(address + elems - 1), 1, 1, 0, no_id, 0, 0, 0.0F, 1.0F});
    return address;
}

}  // namespace weft
