#include "simulate/chip_times.h"

#include <algorithm>

#include "base/checked.h"

namespace weft {
namespace {

/// Femtoseconds to the nearest picosecond, a half upwards, as the simulator rounds every duration.
Picoseconds rounded(std::int64_t femtoseconds) { return checked_add<std::int64_t>(femtoseconds, 500) / 1000; }

Picoseconds memory_cost(std::int64_t bytes, std::int64_t width, std::int64_t cycles, std::uint64_t period_fs) {
    const std::int64_t beats = ceil_divide(bytes, width);
    return rounded(checked_multiply(checked_multiply(beats, cycles), static_cast<std::int64_t>(period_fs)));
}

}  // namespace

ChipTimes::ChipTimes(const Target& target)
    : core_(target.core), memory_(target.memory), bus_width_(target.network.bus_width_bytes), core_count_(target.core_count),
      link_ps_(target.link_latency_ps), period_(rounded(static_cast<std::int64_t>(target.core.period_fs))) {}

Picoseconds ChipTimes::local_read(std::int64_t bytes) const {
    return memory_cost(bytes, core_.local_data_width_bytes, core_.local_read_cycles, core_.local_period_fs);
}

Picoseconds ChipTimes::local_write(std::int64_t bytes) const {
    return memory_cost(bytes, core_.local_data_width_bytes, core_.local_write_cycles, core_.local_period_fs);
}

Picoseconds ChipTimes::memory_read(std::int64_t bytes) const {
    return memory_cost(bytes, memory_.data_width_bytes, memory_.read_cycles, memory_.period_fs);
}

Picoseconds ChipTimes::memory_write(std::int64_t bytes) const {
    return memory_cost(bytes, memory_.data_width_bytes, memory_.write_cycles, memory_.period_fs);
}

Picoseconds ChipTimes::vector_compute(std::int64_t length) const {
    // The step is in nanoseconds, whatever the core's period.
    return checked_multiply(ceil_divide<std::int64_t>(length, core_.vector_width_elems) * core_.vector_step_ns, std::int64_t{1000});
}

Picoseconds ChipTimes::matrix_compute(std::int64_t input_bits) const {
    const auto period_fs = static_cast<std::int64_t>(core_.matrix_period_fs);
    const std::int64_t crossbar_cycles = ceil_divide(static_cast<std::int64_t>(core_.crossbar_read_fs), period_fs);
    const std::int64_t front = core_.dac_cycles + crossbar_cycles + core_.sample_hold_cycles;
    // All divisions of counts round down, as in the simulator.
    const std::int64_t conversions = core_.crossbar_columns / core_.adc_count;
    const std::int64_t shift_and_store = std::int64_t{core_.shift_adder_cycles} + core_.output_buffer_cycles;
    const std::int64_t conversion_step = std::max<std::int64_t>(core_.adc_cycles, shift_and_store);
    const std::int64_t back = core_.adc_cycles + shift_and_store + (conversions - 1) * conversion_step;
    const std::int64_t passes = input_bits / core_.dac_resolution_bits * (core_.crossbar_rows / core_.dac_count);
    const std::int64_t cycles = core_.matrix_pipelined ? front + back + checked_multiply(passes - 1, std::max(front, back))
                                                       : checked_multiply(front + back, passes);
    return rounded(checked_multiply(cycles, period_fs));
}

std::int64_t ChipTimes::matrix_read_bytes(std::int64_t input_bytes) const { return core_.crossbar_rows * input_bytes * 8; }

std::int64_t ChipTimes::results_per_crossbar(std::int64_t weight_bits) const {
    return std::int64_t{core_.cell_bits} * core_.crossbar_columns / weight_bits;
}

std::int64_t ChipTimes::matrix_write_bytes(std::int64_t weight_bits, std::int64_t output_bytes, std::int64_t crossbars) const {
    return checked_multiply(results_per_crossbar(weight_bits) * output_bytes, crossbars);
}

Picoseconds ChipTimes::network(std::uint32_t source, std::uint32_t destination, std::int64_t bytes) const {
    const std::int64_t flits = ceil_divide(bytes, bus_width_);
    const std::int64_t link = link_ps_[std::size_t{source} * (core_count_ + 1) + destination];
    return checked_multiply(flits, link) / 1000 * 1000;   // cut to whole nanoseconds
}

}  // namespace weft
