#include "artifact/target.h"
#include "artifact/validate.h"

namespace weft {
namespace {

constexpr std::uint32_t core_limit = 1U << 15U;
// Products of these stay far below 63 bits: see the costs in pim-timing.md.
constexpr std::uint64_t period_limit_fs = 1'000'000'000'000;   // 1 ms
constexpr std::uint64_t count_limit = 1U << 24U;

struct Limits {
    std::string_view file;

    void between(std::uint64_t value, std::uint64_t low, std::uint64_t high, std::string_view field) const {
        if (value < low || value > high) bad_input("{}: field '{}' is {}, must lie in {}..{}", file, field, value, low, high);
    }
};

void check_core(const PimCore& core, const Limits& check) {
    check.between(core.period_fs, 1000, period_limit_fs, "core.period_fs");
    check.between(core.rob_entries, 1, 1U << 16U, "core.rob_entries");
    check.between(core.vector_width_elems, 1, count_limit, "core.vector_width_elems");
    check.between(core.vector_step_ns, 0, count_limit, "core.vector_step_ns");
    check.between(core.local_data_width_bytes, 1, count_limit, "core.local_data_width_bytes");
    check.between(core.local_period_fs, 0, period_limit_fs, "core.local_period_fs");
    check.between(core.local_read_cycles, 0, count_limit, "core.local_read_cycles");
    check.between(core.local_write_cycles, 0, count_limit, "core.local_write_cycles");
    check.between(core.local_memory_bytes, 1, std::uint64_t{1} << 31U, "core.local_memory_bytes");
    check.between(core.crossbar_count, 0, count_limit, "core.crossbar_count");
    check.between(core.crossbar_rows, 1, 1U << 16U, "core.crossbar_rows");
    check.between(core.crossbar_columns, 1, 1U << 16U, "core.crossbar_columns");
    check.between(core.cell_bits, 1, 64, "core.cell_bits");
    check.between(core.matrix_period_fs, 1, period_limit_fs, "core.matrix_period_fs");
    check.between(core.dac_resolution_bits, 1, 64, "core.dac_resolution_bits");
    check.between(core.dac_count, 1, count_limit, "core.dac_count");
    check.between(core.dac_cycles, 0, count_limit, "core.dac_cycles");
    check.between(core.adc_count, 1, count_limit, "core.adc_count");
    check.between(core.adc_cycles, 0, count_limit, "core.adc_cycles");
    check.between(core.crossbar_read_fs, 0, period_limit_fs, "core.crossbar_read_fs");
    check.between(core.sample_hold_cycles, 0, count_limit, "core.sample_hold_cycles");
    check.between(core.shift_adder_cycles, 0, count_limit, "core.shift_adder_cycles");
    check.between(core.output_buffer_cycles, 0, count_limit, "core.output_buffer_cycles");
}

}  // namespace

template <>
void validate<Target>(const Target& target, std::string_view file) {
    const Validator check(file);
    const Limits limits{file};
    if (target.family != TargetFamily::Pim && target.family != TargetFamily::Ipu21) {
        bad_input("{}: field 'family' is {}, which no weft knows", file, static_cast<int>(target.family));
    }
    limits.between(target.core_count, 1, core_limit, "core_count");
    limits.between(target.weight_bits, 1, 32, "weight_bits");
    limits.between(target.activation_bits, 1, 32, "activation_bits");
    const std::size_t switches = std::size_t{target.core_count} + 1;
    check.length(target.link_latency_ps.size(), switches * switches, "link_latency_ps");
    if (target.family != TargetFamily::Pim) return;
    if (target.memory_switch_id >= 0 && static_cast<std::uint32_t>(target.memory_switch_id) < target.core_count) {
        bad_input("{}: field 'memory_switch_id' is {}, which is a core", file, target.memory_switch_id);
    }
    check_core(target.core, limits);
    limits.between(target.memory.data_width_bytes, 1, count_limit, "memory.data_width_bytes");
    limits.between(target.memory.period_fs, 0, period_limit_fs, "memory.period_fs");
    limits.between(target.memory.read_cycles, 0, count_limit, "memory.read_cycles");
    limits.between(target.memory.write_cycles, 0, count_limit, "memory.write_cycles");
    limits.between(target.network.bus_width_bytes, 1, count_limit, "network.bus_width_bytes");
    limits.between(target.network.layout_rows, 1, core_limit, "network.layout_rows");
    limits.between(target.network.layout_columns, 1, core_limit, "network.layout_columns");
}

}  // namespace weft
