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

/// The map must ascend and every divisor be positive; the array holds 64 physical ids a row, of which two pairs are used per column.
void check_ipu21(const Target& target, const Limits& check) {
    const Ipu21& tile = target.ipu21;
    check.between(tile.tile_rows, 1, 256, "ipu21.tile_rows");
    check.between(target.core_count, 2, std::uint64_t{tile.tile_rows} * 64, "core_count");
    check.between(tile.workers, 1, 64, "ipu21.workers");
    check.between(tile.clock_hz, 1, std::uint64_t{1} << 40U, "ipu21.clock_hz");
    constexpr std::uint64_t address_limit = 1U << 24U;
    check.between(tile.memory_end, 1, address_limit, "ipu21.memory_end");
    check.between(tile.placeable_end, 1, tile.memory_end, "ipu21.placeable_end");
    check.between(tile.interleaved_begin, 1, tile.placeable_end, "ipu21.interleaved_begin");
    check.between(tile.standard_begin, 0, tile.interleaved_begin, "ipu21.standard_begin");
    check.between(tile.memory_begin, 0, tile.standard_begin, "ipu21.memory_begin");
    check.between(tile.support_bytes, 0, tile.interleaved_begin - tile.standard_begin, "ipu21.support_bytes");
    check.between(tile.fetch_guard_bytes, 0, tile.interleaved_begin - tile.standard_begin, "ipu21.fetch_guard_bytes");
    check.between(static_cast<std::uint64_t>(tile.discipline), 0, 1, "ipu21.discipline");
    const std::pair<std::uint32_t, std::string_view> divisors[] = {
        {tile.element_bytes, "ipu21.element_bytes"},
        {tile.interleaved_element_bytes, "ipu21.interleaved_element_bytes"},
        {tile.exchange_bytes_per_cycle, "ipu21.exchange_bytes_per_cycle"},
        {tile.max_transfer_words, "ipu21.max_transfer_words"},
        {tile.standard_load_bytes_per_cycle, "ipu21.standard_load_bytes_per_cycle"},
        {tile.interleaved_load_bytes_per_cycle, "ipu21.interleaved_load_bytes_per_cycle"},
        {tile.copy_bytes_per_cycle, "ipu21.copy_bytes_per_cycle"},
        {tile.stage_bytes_per_cycle, "ipu21.stage_bytes_per_cycle"},
        {tile.flops_f32, "ipu21.flops_f32"},
        {tile.flops_f16, "ipu21.flops_f16"},
        {tile.amp_columns, "ipu21.amp_columns"},
        {tile.amp_inner_f16, "ipu21.amp_inner_f16"},
        {tile.amp_inner_f32, "ipu21.amp_inner_f32"},
        {tile.inner_block, "ipu21.inner_block"},
        {tile.pointwise_bytes_per_cycle, "ipu21.pointwise_bytes_per_cycle"},
        {tile.reduction_bytes_per_cycle, "ipu21.reduction_bytes_per_cycle"},
    };
    for (const auto& [value, field] : divisors) check.between(value, 1, count_limit, field);
    const std::pair<std::uint32_t, std::string_view> costs[] = {
        {tile.route_origin_cycles, "ipu21.route_origin_cycles"},
        {tile.receive_tail_cycles, "ipu21.receive_tail_cycles"},
        {tile.dedicated_lead_cycles, "ipu21.dedicated_lead_cycles"},
        {tile.row_cycles, "ipu21.row_cycles"},
        {tile.phase_cycles, "ipu21.phase_cycles"},
        {tile.measured_boundary_cycles, "ipu21.measured_boundary_cycles"},
        {tile.exchange_row_words, "ipu21.exchange_row_words"},
        {tile.fragment_cycles, "ipu21.fragment_cycles"},
        {tile.copy_call_cycles, "ipu21.copy_call_cycles"},
        {tile.launch_cycles, "ipu21.launch_cycles"},
        {tile.amp_call_cycles, "ipu21.amp_call_cycles"},
        {tile.amp_group_standard_cycles, "ipu21.amp_group_standard_cycles"},
        {tile.amp_group_interleaved_cycles, "ipu21.amp_group_interleaved_cycles"},
        {tile.amp_row_cycles, "ipu21.amp_row_cycles"},
        {tile.gelu_cycles_per_elem, "ipu21.gelu_cycles_per_elem"},
        {tile.pack_start_cycles, "ipu21.pack_start_cycles"},
        {tile.softmax_cycles_per_elem, "ipu21.softmax_cycles_per_elem"},
        {tile.norm_cycles_per_elem, "ipu21.norm_cycles_per_elem"},
        {tile.rearrange_cycles_per_elem, "ipu21.rearrange_cycles_per_elem"},
        {tile.flops_f8, "ipu21.flops_f8"},
        {tile.amp_inner_f8, "ipu21.amp_inner_f8"},
        {tile.host_read_events, "ipu21.host_read_events"},
        {tile.host_command_cycles, "ipu21.host_command_cycles"},
    };
    const std::pair<std::uint32_t, std::string_view> alignments[] = {
        {tile.amp_alignment_bytes, "ipu21.amp_alignment_bytes"},
        {tile.operand_alignment_bytes, "ipu21.operand_alignment_bytes"},
        {tile.row_alignment_bytes, "ipu21.row_alignment_bytes"},
        {tile.paired_alignment_bytes, "ipu21.paired_alignment_bytes"},
    };
    constexpr std::uint64_t alignment_limit = 4096;
    for (const auto& [value, field] : alignments) {
        check.between(value, 1, alignment_limit, field);
        check.between(value & (value - 1), 0, 0, field);   // a power of two
    }
    check.between(tile.stream_tail_f16_bytes, 0, alignment_limit, "ipu21.stream_tail_f16_bytes");
    check.between(tile.stream_tail_f32_bytes, 0, alignment_limit, "ipu21.stream_tail_f32_bytes");
    // A host exchange is described whole or, in older files, not at all.
    const bool host = tile.host_page_bytes != 0;
    const std::pair<std::uint32_t, std::string_view> host_bytes[] = {
        {tile.host_short_packet_bytes, "ipu21.host_short_packet_bytes"},
        {tile.host_long_packet_bytes, "ipu21.host_long_packet_bytes"},
        {tile.host_read_packet_bytes, "ipu21.host_read_packet_bytes"},
        {tile.host_window_bytes, "ipu21.host_window_bytes"},
    };
    check.between(tile.host_page_bytes, 0, address_limit, "ipu21.host_page_bytes");
    for (const auto& [value, field] : host_bytes) check.between(value, host ? 1 : 0, host ? address_limit : 0, field);
    check.between(tile.host_long_packet_bytes, tile.host_short_packet_bytes, address_limit, "ipu21.host_long_packet_bytes");
    constexpr std::uint64_t cost_limit = 1U << 20U;
    for (const auto& [value, field] : costs) check.between(value, 0, cost_limit, field);
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
    if (target.family == TargetFamily::Ipu21) {
        check.length(target.link_latency_ps.size(), 0, "link_latency_ps");
        check_ipu21(target, limits);
        return;
    }
    const std::size_t switches = std::size_t{target.core_count} + 1;
    check.length(target.link_latency_ps.size(), switches * switches, "link_latency_ps");
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
