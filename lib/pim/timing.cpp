#include "pim/timing.h"

#include <algorithm>

#include "base/checked.h"

namespace weft {
namespace {

/// One flit of control: permission requests and replies, load requests.
constexpr std::uint64_t control_bytes = 1;
/// The sender's switch is held this long after a permission request arrived.
constexpr Picoseconds request_hold = 1000;

std::int64_t nanoseconds(Picoseconds time) { return ceil_divide<Picoseconds>(time, 1000); }

}  // namespace

PimTiming::PimTiming(const Target& target) : costs_(target) {}

std::int64_t PimTiming::scalar_ns() const { return nanoseconds(costs_.period()); }

std::int64_t PimTiming::mvmul_ns(std::uint32_t crossbars) const {
    // One more clock: the register between dispatcher and array groups.
    return nanoseconds(costs_.unit_time(costs_.mvmul(crossbars, costs_.weight_bits(), costs_.native_widths())) + costs_.period());
}

std::int64_t PimTiming::vector_ns(Opcode op, std::uint32_t length) const {
    return nanoseconds(costs_.unit_time(costs_.vector(op, length, costs_.native_widths())));
}

std::int64_t PimTiming::copy_ns(std::uint32_t bytes) const {
    return nanoseconds(costs_.unit_time(costs_.copy(bytes)));
}

std::int64_t PimTiming::fill_ns(std::uint32_t bytes) const {
    return nanoseconds(costs_.unit_time(costs_.fill(bytes)));
}

std::int64_t PimTiming::load_ns(CoreId core, std::uint32_t bytes) const {
    const Picoseconds write = costs_.local_write(bytes);
    const Picoseconds duration = costs_.network(core.value, costs_.memory_switch(), control_bytes) + costs_.memory_read(bytes) + write;
    return nanoseconds(costs_.unit_time({duration, costs_.late_after(write)}));
}

std::int64_t PimTiming::store_ns(CoreId core, std::uint32_t bytes) const {
    const Picoseconds duration =
        costs_.local_read(bytes) + costs_.network(core.value, costs_.memory_switch(), bytes) + costs_.memory_write(bytes);
    return nanoseconds(costs_.unit_time({duration, true}));
}

std::int64_t PimTiming::send_ns(CoreId from, CoreId to, std::uint32_t bytes) const {
    const Picoseconds read = costs_.local_read(bytes);
    const Picoseconds permission =
        costs_.network(from.value, to.value, control_bytes) + costs_.network(to.value, from.value, control_bytes);
    return nanoseconds(costs_.unit_time({permission + read, costs_.late_after(read)}));
}

std::int64_t PimTiming::recv_ns(CoreId from, CoreId to, std::uint32_t bytes) const {
    const Picoseconds request = costs_.network(from.value, to.value, control_bytes);
    const Picoseconds permitted = request + costs_.network(to.value, from.value, control_bytes);
    const Picoseconds dispatched = std::max(permitted + costs_.local_read(bytes), request + request_hold);
    const Picoseconds write = costs_.local_write(bytes);
    const Picoseconds duration = dispatched + costs_.network(from.value, to.value, bytes) + write;
    return nanoseconds(costs_.unit_time({duration, costs_.late_after(write)}));
}

std::int64_t PimTiming::network_ns(CoreId from, CoreId to, std::uint32_t bytes) const {
    return nanoseconds(costs_.network(from.value, to.value, bytes));
}

std::int64_t PimTiming::memory_request_ns(CoreId core) const {
    return nanoseconds(costs_.network(core.value, costs_.memory_switch(), control_bytes));
}
std::int64_t PimTiming::memory_read_ns(std::uint32_t bytes) const { return nanoseconds(costs_.memory_read(bytes)); }
std::int64_t PimTiming::memory_write_ns(std::uint32_t bytes) const { return nanoseconds(costs_.memory_write(bytes)); }

std::uint32_t PimTiming::results_per_crossbar() const {
    return narrow<std::uint32_t>(costs_.results_per_crossbar(costs_.weight_bits()));
}

}  // namespace weft
