#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "artifact/program.h"
#include "artifact/tasks.h"
#include "base/id.h"

namespace weft {

/// Local memory of one core, handed out from address 0 upwards, in elements, and the constants that the loader puts there.
/// Memory is never returned: every buffer of a program lives through the whole round.
class LocalMemory {
public:
    explicit LocalMemory(CoreId core) : core_(core) {}

    [[nodiscard]] std::int32_t allocate(std::int64_t elems);
    [[nodiscard]] std::int64_t used() const { return used_; }
    [[nodiscard]] std::span<const LocalConstant> constants() const { return constants_; }

    /// `count` elements of `value`. Requests share with earlier ones that are as large.
    std::int32_t fill(float value, std::int32_t count);
    /// A ChannelConstant of `channels` values, repeated for `positions` neighbouring positions. Requests share with earlier ones that are as large.
    std::int32_t channel_constant(const Tasks& tasks, std::uint32_t constant, std::uint32_t channels, std::uint32_t positions);
    /// A FullConstant for rows [first_row, end_row) of a tensor, in the tensor's local layout. Returns the address of the first row.
    std::int32_t full_constant(const Tasks& tasks, std::uint32_t constant, const TaskTensor& tensor, std::uint32_t first_row,
                               std::uint32_t end_row);
    /// A gather buffer of `elems` elements whose last one is a constant one (for a bias row). Strips as long share it: each fills it before it reads it.
    std::int32_t gather_buffer_with_one(std::int32_t elems);

private:
    CoreId core_;
    std::int64_t used_ = 0;
    std::vector<LocalConstant> constants_;
    std::map<std::pair<std::uint32_t, std::int32_t>, std::int32_t> fills_;           // (bits, count)
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int32_t> channel_rows_;   // (constant, positions)
    std::map<std::int32_t, std::int32_t> gathers_;                                   // by length
};

}  // namespace weft
