#include "pim/costs.h"

#include <algorithm>

#include "base/failure.h"

namespace weft {
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
using Wide = __int128;
#pragma GCC diagnostic pop

Picoseconds saturated(Wide value) { return value >= picoseconds_limit ? picoseconds_limit : static_cast<Picoseconds>(value); }

/// `count` cycles of `period_fs` as one wait: rounded to the nearest picosecond, halves up.
Picoseconds cycles_to_picoseconds(Wide count, std::uint64_t period_fs) { return saturated((count * period_fs + 500) / 1000); }

/// The simulator's integer division: nothing divided by nothing is nothing.
std::int64_t quotient(std::uint32_t a, std::uint32_t b) { return b == 0 ? 0 : a / b; }

void require_positive(std::uint64_t value, const Target& target, const char* what) {
    if (value == 0) refuse("target '{}': {} is zero, so instructions have no defined time; correct the chip description", target.name, what);
}

/// Where 64 bits are not enough.
Picoseconds wide_unit_time(Activity activity, Picoseconds period) {
    const Wide edge = (Wide{activity.duration} + period - 1) / period * period;
    const bool late = activity.late && edge == activity.duration;
    return saturated(edge + (late ? 3 : 2) * Wide{period});
}

bool reads_two_operands(Opcode op) { return op >= Opcode::Vvadd && op <= Opcode::Vvsra; }

bool writes_output_width(Opcode op) {
    switch (op) {
        case Opcode::Vvmul:
        case Opcode::Vvsll:
        case Opcode::Vvsra:
        case Opcode::Vtanh:
        case Opcode::Vsigm:
        case Opcode::Vrsu:
        case Opcode::Vrsl: return true;
        default: return false;  // vvdmul and vavg too: the simulator charges the whole length for their one result
    }
}

}  // namespace

bool is_vector(Opcode op) { return op >= Opcode::Vvadd && op <= Opcode::Vrsl; }

bool is_scalar(Opcode op) { return op >= Opcode::Sldi && op <= Opcode::Setbw; }

PimCosts::PimCosts(const Target& target)
    : core_count_(target.core_count),
      activation_bits_(target.activation_bits),
      weight_bits_(target.weight_bits),
      bus_width_bytes_(target.network.bus_width_bytes),
      core_(target.core),
      local_{target.core.local_data_width_bytes, target.core.local_period_fs, target.core.local_read_cycles, target.core.local_write_cycles},
      memory_{target.memory.data_width_bytes, target.memory.period_fs, target.memory.read_cycles, target.memory.write_cycles},
      link_latency_ps_(target.link_latency_ps.begin(), target.link_latency_ps.end()) {
    if (target.family != TargetFamily::Pim) refuse("target '{}' is not of the pim family; choose a pim chip", target.name);
    period_ = cycles_to_picoseconds(1, core_.period_fs);
    require_positive(static_cast<std::uint64_t>(period_), target, "the core's clock period in picoseconds");
    require_positive(local_.width_bytes, target, "the local memory's data width");
    require_positive(memory_.width_bytes, target, "the global memory's data width");
    require_positive(core_.vector_width_elems, target, "the vector width");
    require_positive(bus_width_bytes_, target, "the bus width");
    require_positive(core_.matrix_period_fs, target, "the matrix unit's clock period");
    const std::size_t switches = std::size_t{core_count_} + 1;
    if (link_latency_ps_.size() != switches * switches) {
        bad_input("target '{}': the link table has {} entries instead of {}", target.name, link_latency_ps_.size(), switches * switches);
    }
}

Picoseconds PimCosts::access(const Port& port, std::uint64_t bytes, std::uint64_t cycles) {
    const std::uint64_t beats = bytes / port.width_bytes + (bytes % port.width_bytes != 0 ? 1 : 0);
    return cycles_to_picoseconds(Wide{beats} * cycles, port.period_fs);
}

Picoseconds PimCosts::local_read(std::uint64_t bytes) const { return access(local_, bytes, local_.read_cycles); }
Picoseconds PimCosts::local_write(std::uint64_t bytes) const { return access(local_, bytes, local_.write_cycles); }
Picoseconds PimCosts::memory_read(std::uint64_t bytes) const { return access(memory_, bytes, memory_.read_cycles); }
Picoseconds PimCosts::memory_write(std::uint64_t bytes) const { return access(memory_, bytes, memory_.write_cycles); }

Activity PimCosts::copy(std::uint64_t bytes) const {
    const Picoseconds duration = saturated(Wide{local_read(bytes)} + local_write(bytes));
    return {duration, late_after(duration)};
}

Activity PimCosts::fill(std::uint64_t bytes) const {
    const Picoseconds duration = local_write(bytes);
    return {duration, late_after(duration)};
}

/// A result that is written back once it has been computed. A write of exactly one period keeps the side of the edge on which
/// the computation ended, and so does no write at all.
Activity PimCosts::with_write(Picoseconds computed, Picoseconds write) const {
    const bool inherits = write == 0 || write == period_;
    return {saturated(Wide{computed} + write), late_after(inherits ? computed : write)};
}

UnitSteps PimCosts::vector_steps(Opcode op, std::uint64_t elements, BitWidths widths) const {
    const std::uint64_t input_bytes = elements * widths.input_bytes();
    const std::uint64_t output_bytes = writes_output_width(op) ? elements * widths.output_bytes() : input_bytes;
    const std::uint64_t steps = elements / core_.vector_width_elems + (elements % core_.vector_width_elems != 0 ? 1 : 0);
    return {local_read(input_bytes), reads_two_operands(op) ? 2U : 1U, saturated(Wide{steps} * core_.vector_step_ns * 1000), local_write(output_bytes)};
}

Activity PimCosts::vector(Opcode op, std::uint64_t elements, BitWidths widths) const {
    const UnitSteps steps = vector_steps(op, elements, widths);
    return with_write(saturated(Wide{steps.read} * steps.reads + steps.compute), steps.write);
}

std::int64_t PimCosts::matrix_cycles(std::uint32_t input_bits) const {
    const std::uint64_t read_cycles = core_.crossbar_read_fs / core_.matrix_period_fs + (core_.crossbar_read_fs % core_.matrix_period_fs != 0 ? 1 : 0);
    const std::int64_t front = std::int64_t{core_.dac_cycles} + static_cast<std::int64_t>(read_cycles) + core_.sample_hold_cycles;
    const std::int64_t conversions = quotient(core_.crossbar_columns, core_.adc_count);
    const std::int64_t after_conversion = std::int64_t{core_.shift_adder_cycles} + core_.output_buffer_cycles;
    const std::int64_t slowest_step = std::max<std::int64_t>(core_.adc_cycles, after_conversion);
    const std::int64_t back = core_.adc_cycles + after_conversion + (conversions - 1) * slowest_step;
    const std::int64_t passes = quotient(input_bits, core_.dac_resolution_bits) * quotient(core_.crossbar_rows, core_.dac_count);
    // Without a pass the pipelined formula leaves the shorter phase, as the simulator has it.
    return core_.matrix_pipelined ? front + back + (passes - 1) * std::max(front, back) : (front + back) * passes;
}

UnitSteps PimCosts::mvmul_steps(std::uint64_t crossbars, std::uint32_t weight_bits, BitWidths widths) const {
    // The factor of eight is the simulator's: it takes bytes for bits when it reads the input vector.
    const Picoseconds read = local_read(std::uint64_t{core_.crossbar_rows} * widths.input_bytes() * 8);
    const Picoseconds write = local_write(results_per_crossbar(weight_bits) * widths.output_bytes() * crossbars);
    const std::int64_t cycles = std::max<std::int64_t>(matrix_cycles(widths.input_bits), 0);
    return {read, 1, cycles_to_picoseconds(cycles, core_.matrix_period_fs), write};
}

Activity PimCosts::mvmul(std::uint64_t crossbars, std::uint32_t weight_bits, BitWidths widths) const {
    const UnitSteps steps = mvmul_steps(crossbars, weight_bits, widths);
    return with_write(saturated(Wide{steps.read} + steps.compute), steps.write);
}

Picoseconds PimCosts::network(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const {
    const std::uint64_t flits = bytes / bus_width_bytes_ + (bytes % bus_width_bytes_ != 0 ? 1 : 0);
    const std::uint32_t latency = link_latency_ps_[std::size_t{from} * (std::size_t{core_count_} + 1) + to];
    // Most calls by far: no division of 128 bits.
    if (flits <= 0x7fffffffU) return static_cast<Picoseconds>(flits * latency / 1000 * 1000);
    return saturated(Wide{flits} * latency / 1000 * 1000);
}

std::uint64_t PimCosts::results_per_crossbar(std::uint32_t weight_bits) const {
    return weight_bits == 0 ? 0 : std::uint64_t{core_.cell_bits} * core_.crossbar_columns / weight_bits;
}

Picoseconds PimCosts::unit_time(Activity activity) const {
    constexpr Picoseconds small = picoseconds_limit / 8;
    if (activity.duration > small || period_ > small) return wide_unit_time(activity, period_);
    const Picoseconds edge = (activity.duration + period_ - 1) / period_ * period_;
    const bool late = activity.late && edge == activity.duration;
    return edge + (late ? 3 : 2) * period_;
}

}  // namespace weft
