#pragma once

#include <cstdint>

#include "artifact/target.h"

namespace weft::test {

/// The simulator's own example chip with `cores` cores: 128 x 128 crossbars of 8-bit cells, 64 bytes and one nanosecond a local
/// access, 16 bytes and one nanosecond a global access, `core_link_ps` between cores and 15 ns to the global memory, per flit.
inline TargetColumns example_target(std::uint32_t cores, std::uint32_t core_link_ps = 4000) {
    TargetColumns target;
    target.family = TargetFamily::Pim;
    target.name = "example";
    target.core_count = cores;
    target.weight_bits = 8;
    target.activation_bits = 8;
    target.memory_switch_id = -10;
    PimCore& core = target.core;
    core.period_fs = 1'000'000;
    core.rob_entries = 1;
    core.vector_width_elems = 16;
    core.vector_step_ns = 4;
    core.local_data_width_bytes = 64;
    core.local_period_fs = 1'000'000;
    core.local_read_cycles = 1;
    core.local_write_cycles = 1;
    core.local_memory_bytes = 1U << 20U;
    core.crossbar_count = 64;
    core.crossbar_rows = 128;
    core.crossbar_columns = 128;
    core.cell_bits = 8;
    core.matrix_period_fs = 1'000'000;
    core.matrix_pipelined = true;
    core.dac_resolution_bits = 1;
    core.dac_count = 128;
    core.dac_cycles = 1;
    core.adc_count = 2;
    core.adc_cycles = 10;
    core.crossbar_read_fs = 30'000'000;
    core.sample_hold_cycles = 1;
    core.shift_adder_cycles = 1;
    core.output_buffer_cycles = 1;
    target.memory.data_width_bytes = 16;
    target.memory.period_fs = 1'000'000;
    target.memory.read_cycles = 1;
    target.memory.write_cycles = 1;
    target.memory.size_bytes = 1U << 20U;
    target.network.bus_width_bytes = 8;
    target.network.layout_rows = 1;
    target.network.layout_columns = cores;
    const std::uint32_t switches = cores + 1;
    for (std::uint32_t from = 0; from < switches; ++from) {
        for (std::uint32_t to = 0; to < switches; ++to) {
            const bool memory = from == cores || to == cores;
            target.link_latency_ps.push_back(from == to ? 0 : memory ? 15'000 : core_link_ps);
        }
    }
    return target;
}

}  // namespace weft::test
