#include "pim/timing.h"

#include <algorithm>

#include "base/checked.h"
#include "pim/opcode_name.h"

namespace weft {
namespace {

/// One flit of control: permission requests and replies, load requests.
constexpr std::uint64_t control_bytes = 1;
/// The sender's switch is held this long after a permission request arrived.
constexpr Picoseconds request_hold = 1000;

std::int64_t nanoseconds(Picoseconds time) { return ceil_divide<Picoseconds>(time, 1000); }

}  // namespace

KernelKey mvmul_key(std::uint64_t crossbars) { return {"mvmul", "", {{"crossbars", crossbars}}}; }
KernelKey vector_key(Opcode op, std::uint64_t elements) { return {"vector", fmt::format("op={}", opcode_name(op)), {{"elements", elements}}}; }
KernelKey copy_key(std::uint64_t bytes) { return {"copy", "", {{"bytes", bytes}}}; }

PimTiming::PimTiming(const Target& target, const KernelTable* measured) : costs_(target), measured_(measured) {}

std::int64_t PimTiming::measured_or(const KernelKey& key, std::int64_t modelled) const {
    const KernelLookup found = measured_->look_up(key);
    return found.source == KernelSource::absent ? modelled : static_cast<std::int64_t>(std::min<std::uint64_t>(found.value, picoseconds_limit / 1000));
}

std::optional<std::int64_t> PimTiming::analytical_ns(const KernelKey& key) const {
    constexpr std::uint64_t limit = 0xffffffffU;
    if (key.dims.size() != 1 || key.dims.front().second > limit) return std::nullopt;
    PimTiming model = *this;
    model.measured_ = nullptr;
    const auto size = static_cast<std::uint32_t>(key.dims.front().second);
    if (key == mvmul_key(size)) return model.mvmul_ns(size);
    if (key == copy_key(size)) return model.copy_ns(size);
    for (std::uint8_t op = static_cast<std::uint8_t>(Opcode::Vvadd); op <= static_cast<std::uint8_t>(Opcode::Vrsl); ++op) {
        if (key == vector_key(static_cast<Opcode>(op), size)) return model.vector_ns(static_cast<Opcode>(op), size);
    }
    return std::nullopt;
}

std::int64_t PimTiming::scalar_ns() const { return nanoseconds(costs_.period()); }

std::int64_t PimTiming::mvmul_ns(std::uint32_t crossbars) const {
    // One more clock: the register between dispatcher and array groups.
    const std::int64_t modelled = nanoseconds(costs_.unit_time(costs_.mvmul(crossbars, costs_.weight_bits(), costs_.native_widths())) + costs_.period());
    return measured_ == nullptr ? modelled : measured_or(mvmul_key(crossbars), modelled);
}

std::int64_t PimTiming::vector_ns(Opcode op, std::uint32_t length) const {
    const std::int64_t modelled = nanoseconds(costs_.unit_time(costs_.vector(op, length, costs_.native_widths())));
    return measured_ == nullptr ? modelled : measured_or(vector_key(op, length), modelled);
}

std::int64_t PimTiming::copy_ns(std::uint32_t bytes) const {
    const std::int64_t modelled = nanoseconds(costs_.unit_time(costs_.copy(bytes)));
    return measured_ == nullptr ? modelled : measured_or(copy_key(bytes), modelled);
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
