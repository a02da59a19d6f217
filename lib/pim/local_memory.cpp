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
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if (const auto known = fills_.lower_bound({bits, count}); known != fills_.end() && known->first.first == bits) return known->second;
    const std::int32_t address = allocate(count);
    fills_.emplace(std::pair(bits, count), address);
    LocalConstant constant;
    constant.core = core_.value;
    constant.address = static_cast<std::uint32_t>(address);
    constant.count = static_cast<std::uint32_t>(count);
    constant.repeats = 1;
    constant.weight = no_id;
    constant.shift = value;
    constants_.push_back(constant);
    return address;
}

std::int32_t LocalMemory::channel_constant(const Tasks& tasks, std::uint32_t constant, std::uint32_t channels,
                                           std::uint32_t positions) {
    if (const auto known = channel_rows_.lower_bound({constant, positions}); known != channel_rows_.end() && known->first.first == constant) return known->second;
    const TaskConstant& values = tasks.constants[constant];
    const std::int32_t address = allocate(std::int64_t{channels} * positions);
    channel_rows_.emplace(std::pair(constant, positions), address);
    constants_.push_back({core_.value, static_cast<std::uint32_t>(address), channels, positions, channels, values.weight,
                          values.offset, values.channel_stride, values.scale, values.shift});
    return address;
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
    const auto [known, added] = gathers_.try_emplace(elems, 0);
    if (!added) return known->second;
    const std::int32_t address = known->second = allocate(elems);
    constants_.push_back({core_.value, static_cast<std::uint32_t>(address + elems - 1), 1, 1, 0, no_id, 0, 0, 0.0F, 1.0F});
    return address;
}

}  // namespace weft
