#include "target/ipu21/resolve.h"

#include <bit>

namespace weft::ipu21 {
namespace {

constexpr std::int64_t cycles_high = 1 << 20;
constexpr std::int64_t address_high = 1 << 24;

/// Required whole numbers of one section.
class Numbers {
public:
    explicit Numbers(JsonSection section) : section_(std::move(section)) {}
    ~Numbers() = default;
    Numbers(const Numbers&) = delete;
    Numbers& operator=(const Numbers&) = delete;

    std::uint32_t operator()(std::string_view key, std::int64_t low, std::int64_t high) {
        if (!section_.has(key)) section_.impossible(key, "is missing");
        return static_cast<std::uint32_t>(section_.integer(key, 0, low, high));
    }
    JsonSection& section() { return section_; }

private:
    JsonSection section_;
};

void read_array(JsonSection section, TargetColumns& target) {
    Numbers number(std::move(section));
    Ipu21& machine = target.ipu21;
    machine.tile_rows = number("rows", 1, 256);
    target.core_count = number("tiles", 2, std::int64_t{machine.tile_rows} * 64);
    machine.workers = number("workers", 1, 64);
    if (!number.section().has("clock_hz")) number.section().impossible("clock_hz", "is missing");
    machine.clock_hz = static_cast<std::uint64_t>(number.section().integer("clock_hz", 0, 1, std::int64_t{1} << 40));
    number.section().finish();
}

void read_memory(JsonSection section, Ipu21& machine) {
    Numbers number(std::move(section));
    machine.memory_begin = number("begin", 0, address_high);
    machine.standard_begin = number("standard_begin", machine.memory_begin, address_high);
    machine.interleaved_begin = number("interleaved_begin", machine.standard_begin, address_high);
    machine.placeable_end = number("placeable_end", machine.interleaved_begin, address_high);
    machine.memory_end = number("end", machine.placeable_end, address_high);
    machine.element_bytes = number("element_bytes", 1, address_high);
    machine.interleaved_element_bytes = number("interleaved_element_bytes", 1, address_high);
    const std::int64_t standard_bytes = std::int64_t{machine.interleaved_begin} - machine.standard_begin;
    machine.support_bytes = number("support_bytes", 0, standard_bytes);
    machine.fetch_guard_bytes = number("fetch_guard_bytes", 0, standard_bytes);
    number.section().finish();
}

/// Alignments are powers of two.
std::uint32_t alignment(Numbers& number, std::string_view key) {
    const std::uint32_t bytes = number(key, 1, 4096);
    if (!std::has_single_bit(bytes)) number.section().impossible(key, fmt::format("{} is no power of two", bytes));
    return bytes;
}

void read_operands(JsonSection section, Ipu21& machine) {
    Numbers number(std::move(section));
    machine.amp_alignment_bytes = alignment(number, "amp_alignment_bytes");
    machine.operand_alignment_bytes = alignment(number, "alignment_bytes");
    machine.row_alignment_bytes = alignment(number, "row_alignment_bytes");
    machine.paired_alignment_bytes = alignment(number, "paired_alignment_bytes");
    machine.stream_tail_f16_bytes = number("stream_tail_f16_bytes", 0, 4096);
    machine.stream_tail_f32_bytes = number("stream_tail_f32_bytes", 0, 4096);
    number.section().finish();
}

void read_exchange(JsonSection section, Ipu21& machine) {
    Numbers number(std::move(section));
    const std::string discipline = number.section().text("discipline", "exclusive");
    if (discipline != "exclusive" && discipline != "full_duplex") {
        number.section().impossible("discipline", fmt::format("'{}' is neither exclusive nor full_duplex", discipline));
    }
    machine.discipline = discipline == "exclusive" ? ExchangeDiscipline::Exclusive : ExchangeDiscipline::FullDuplex;
    machine.exchange_bytes_per_cycle = number("bytes_per_cycle", 1, 1024);
    machine.max_transfer_words = number("max_transfer_words", 1, address_high);
    machine.paired_min_words = number("paired_min_words", 0, address_high);
    machine.route_origin_cycles = number("route_origin_cycles", 0, cycles_high);
    machine.receive_tail_cycles = number("receive_tail_cycles", 0, cycles_high);
    machine.dedicated_lead_cycles = number("dedicated_lead_cycles", 0, cycles_high);
    machine.row_cycles = number("row_cycles", 0, cycles_high);
    machine.phase_cycles = number("phase_cycles", 0, cycles_high);
    machine.measured_boundary_cycles = number("measured_boundary_cycles", 0, cycles_high);
    machine.exchange_row_words = number("row_words", 0, cycles_high);
    machine.fragment_cycles = number("fragment_cycles", 0, cycles_high);
    number.section().finish();
}

void read_kernels(JsonSection section, Ipu21& machine) {
    Numbers number(std::move(section));
    machine.standard_load_bytes_per_cycle = number("standard_load_bytes_per_cycle", 1, cycles_high);
    machine.interleaved_load_bytes_per_cycle = number("interleaved_load_bytes_per_cycle", 1, cycles_high);
    machine.copy_bytes_per_cycle = number("copy_bytes_per_cycle", 1, cycles_high);
    machine.stage_bytes_per_cycle = number("stage_bytes_per_cycle", 1, cycles_high);
    machine.copy_call_cycles = number("copy_call_cycles", 0, cycles_high);
    machine.launch_cycles = number("launch_cycles", 0, cycles_high);
    machine.flops_f32 = number("flops_f32", 1, cycles_high);
    machine.flops_f16 = number("flops_f16", 1, cycles_high);
    machine.flops_f8 = number("flops_f8", 0, cycles_high);
    machine.amp_columns = number("amp_columns", 1, 1024);
    machine.amp_inner_f16 = number("amp_inner_f16", 1, 1024);
    machine.amp_inner_f32 = number("amp_inner_f32", 1, 1024);
    machine.amp_inner_f8 = number("amp_inner_f8", 0, 1024);
    machine.inner_block = number("inner_block", 1, 4096);
    machine.amp_call_cycles = number("amp_call_cycles", 0, cycles_high);
    machine.amp_group_standard_cycles = number("amp_group_standard_cycles", 0, cycles_high);
    machine.amp_group_interleaved_cycles = number("amp_group_interleaved_cycles", 0, cycles_high);
    machine.amp_row_cycles = number("amp_row_cycles", 0, cycles_high);
    machine.gelu_cycles_per_elem = number("gelu_cycles_per_elem", 0, cycles_high);
    machine.pointwise_bytes_per_cycle = number("pointwise_bytes_per_cycle", 1, cycles_high);
    machine.reduction_bytes_per_cycle = number("reduction_bytes_per_cycle", 1, cycles_high);
    machine.pack_start_cycles = number("pack_start_cycles", 0, cycles_high);
    machine.softmax_cycles_per_elem = number("softmax_cycles_per_elem", 0, cycles_high);
    machine.norm_cycles_per_elem = number("norm_cycles_per_elem", 0, cycles_high);
    machine.rearrange_cycles_per_elem = number("rearrange_cycles_per_elem", 0, cycles_high);
    number.section().finish();
}

void read_host(JsonSection section, Ipu21& machine) {
    Numbers number(std::move(section));
    machine.host_page_bytes = number("page_bytes", 1, address_high);
    machine.host_short_packet_bytes = number("short_packet_bytes", 1, address_high);
    machine.host_long_packet_bytes = number("long_packet_bytes", machine.host_short_packet_bytes, address_high);
    machine.host_read_packet_bytes = number("read_packet_bytes", 1, address_high);
    machine.host_window_bytes = number("window_bytes", 1, address_high);
    machine.host_read_events = number("read_events", 0, cycles_high);
    machine.host_command_cycles = number("command_cycles", 0, cycles_high);
    number.section().finish();
}

}  // namespace

TargetColumns resolve(const nlohmann::json& json, const std::filesystem::path& file, const std::string& name, KeyLists& lists) {
    TargetColumns target;
    target.family = TargetFamily::Ipu21;
    target.name = name;
    target.weight_bits = 16;
    target.activation_bits = 16;
    JsonSection root(&json, "", file.string(), lists);
    (void)root.text("family", "ipu21");
    for (const std::string_view key : {"array", "memory", "operands", "exchange", "kernels", "host"}) {
        if (!root.has(key)) root.impossible(key, "is missing");
    }
    read_array(root.section("array"), target);
    read_memory(root.section("memory"), target.ipu21);
    read_operands(root.section("operands"), target.ipu21);
    read_exchange(root.section("exchange"), target.ipu21);
    read_kernels(root.section("kernels"), target.ipu21);
    read_host(root.section("host"), target.ipu21);
    root.finish();
    return target;
}

std::string describe(const Target& target) {
    const Ipu21& machine = target.ipu21;
    const std::string host = machine.host_window_bytes == 0 ? "" : fmt::format("; host window {} KiB a tile", machine.host_window_bytes / 1024);
    return fmt::format("{}: {} tiles in {} rows at {} MHz, {} KiB each ({} standard, {} interleaved bytes for placement), {} exchange{}", target.name,
                       target.core_count, machine.tile_rows, machine.clock_hz / 1'000'000, (machine.memory_end - machine.memory_begin) / 1024,
                       machine.interleaved_begin - machine.standard_begin, machine.placeable_end - machine.interleaved_begin,
                       machine.discipline == ExchangeDiscipline::Exclusive ? "exclusive" : "full-duplex", host);
}

}  // namespace weft::ipu21
