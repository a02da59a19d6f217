#pragma once

#include "artifact/target.h"

namespace weft::test {

/// The C600's description as the tests want it, independent of the file in targets/ (another test compares the two).
inline TargetColumns c600(ExchangeDiscipline discipline = ExchangeDiscipline::Exclusive) {
    TargetColumns target;
    target.family = TargetFamily::Ipu21;
    target.name = "c600";
    target.core_count = 1472;
    target.weight_bits = 16;
    target.activation_bits = 16;
    Ipu21& m = target.ipu21;
    m.tile_rows = 23;
    m.workers = 6;
    m.clock_hz = 1'500'000'000;
    m.memory_begin = 0x4C000;
    m.standard_begin = 0x586E0;
    m.interleaved_begin = 0x80000;
    m.placeable_end = 0xE7BB0;
    m.memory_end = 0xE8000;
    m.element_bytes = 16384;
    m.interleaved_element_bytes = 32768;
    m.support_bytes = 49152;
    m.discipline = discipline;
    m.exchange_bytes_per_cycle = 4;
    m.max_transfer_words = 4148;
    m.paired_min_words = 128;
    m.route_origin_cycles = 34;
    m.receive_tail_cycles = 58;
    m.dedicated_lead_cycles = 112;
    m.row_cycles = 2;
    m.phase_cycles = 600;
    m.measured_boundary_cycles = 328;
    m.exchange_row_words = 7;
    m.fragment_cycles = 160;
    m.standard_load_bytes_per_cycle = 8;
    m.interleaved_load_bytes_per_cycle = 16;
    m.copy_bytes_per_cycle = 8;
    m.stage_bytes_per_cycle = 6;
    m.copy_call_cycles = 288;
    m.launch_cycles = 11;
    m.flops_f32 = 32;
    m.flops_f16 = 128;
    m.amp_columns = 16;
    m.amp_inner_f16 = 16;
    m.amp_inner_f32 = 8;
    m.inner_block = 64;
    m.amp_call_cycles = 294;
    m.amp_group_standard_cycles = 1063;
    m.amp_group_interleaved_cycles = 940;
    m.amp_row_cycles = 4;
    m.gelu_cycles_per_elem = 10;
    m.pointwise_bytes_per_cycle = 16;
    m.reduction_bytes_per_cycle = 1;
    m.pack_start_cycles = 4096;
    m.softmax_cycles_per_elem = 12;
    m.norm_cycles_per_elem = 4;
    m.amp_alignment_bytes = 32;
    m.operand_alignment_bytes = 8;
    m.row_alignment_bytes = 4;
    m.paired_alignment_bytes = 8;
    m.stream_tail_f16_bytes = 16;
    m.stream_tail_f32_bytes = 32;
    m.flops_f8 = 256;
    m.amp_inner_f8 = 32;
    m.fetch_guard_bytes = 64;
    m.rearrange_cycles_per_elem = 10;
    m.host_page_bytes = 4096;
    m.host_short_packet_bytes = 60;
    m.host_long_packet_bytes = 1024;
    m.host_read_packet_bytes = 256;
    m.host_window_bytes = 16384;
    m.host_read_events = 18;
    m.host_command_cycles = 73;
    return target;
}

}  // namespace weft::test
