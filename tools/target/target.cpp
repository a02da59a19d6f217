#include "target.h"

#include "artifact/file.h"
#include "ipu21/resolve.h"
#include "json_section.h"
#include "network.h"

namespace weft {
namespace {

constexpr std::int64_t count_high = 1 << 24;
constexpr std::int64_t cores_high = 1 << 15;

void ignore_powers(JsonSection& section, std::initializer_list<std::string_view> units) {
    for (const std::string_view unit : units) {
        section.ignore({fmt::format("{}_static_power", unit), fmt::format("{}_dynamic_power", unit)});
    }
}

std::uint64_t period(JsonSection& section, double standard_ns) {
    const std::uint64_t fs = section.femtoseconds("period", standard_ns);
    if (fs < 1000) section.impossible("period", "a period below one picosecond stops the simulator's clock");
    return fs;
}

template <class Memory>
void read_memory(JsonSection section, Memory& memory) {
    // Both kinds of memory have the same keys and, in the schema, differently named fields.
    memory.size = static_cast<std::uint64_t>(section.integer("memory_size", 1 << 20, 1, std::int64_t{1} << 40));
    memory.data_width = static_cast<std::uint32_t>(section.integer("data_width", 16, 1, count_high));
    memory.period_fs = section.femtoseconds("period", 1);
    memory.read_cycles = static_cast<std::uint32_t>(section.integer("read_latency_cycle", 8, 0, count_high));
    memory.write_cycles = static_cast<std::uint32_t>(section.integer("write_latency_cycle", 10, 0, count_high));
    section.ignore({"static_power", "read_dynamic_energy", "write_dynamic_energy"});
    section.finish();
}

struct MemoryKeys {
    std::uint64_t size = 0;
    std::uint32_t data_width = 0;
    std::uint64_t period_fs = 0;
    std::uint32_t read_cycles = 0;
    std::uint32_t write_cycles = 0;
};

void read_matrix(JsonSection section, PimCore& core) {
    const auto count = [&](std::string_view key, std::int64_t standard, std::int64_t low, std::int64_t high = count_high) {
        return static_cast<std::uint32_t>(section.integer(key, standard, low, high));
    };
    core.crossbar_count = count("xbar_array_count", 1, 0);
    core.matrix_period_fs = section.femtoseconds("period", 1 / 1.28);
    if (core.matrix_period_fs == 0) section.impossible("period", "a matrix period of 0 ns gives infinitely many cycles");
    core.matrix_pipelined = section.boolean("pipeline_mode", true);
    core.dac_resolution_bits = count("dac_resolution", 1, 1, 64);
    core.dac_count = count("dac_count", 128, 1);
    core.dac_cycles = count("dac_latency_cycle", 1, 0);
    core.adc_count = count("adc_count", 1, 1);
    core.adc_cycles = count("adc_latency_cycle", 1, 0);
    core.sample_hold_cycles = count("sample_hold_latency_cycle", 1, 0);
    core.shift_adder_cycles = count("shift_adder_latency_cycle", 1, 0);
    core.output_buffer_cycles = count("output_buffer_latency_cycle", 1, 0);
    const auto [rows, columns] = section.pair("xbar_size", {128, 128}, 1, 1 << 16);
    core.crossbar_rows = static_cast<std::uint32_t>(rows);
    core.crossbar_columns = static_cast<std::uint32_t>(columns);
    core.cell_bits = count("cell_precision", 2, 1, 64);
    core.crossbar_read_fs = section.femtoseconds("xbar_latency", 30);
    section.ignore({"xbar_read_power", "adc_resolution", "input_buffer_latency_cycle"});
    ignore_powers(section, {"dac", "sample_hold", "adc", "shift_adder", "input_buffer", "output_buffer"});
    section.finish();
}

/// The core's section; returns the switch id under which its loads and stores look for the global memory.
std::int64_t read_core(JsonSection section, PimCore& core) {
    core.period_fs = period(section, 1);
    core.rob_entries = static_cast<std::uint32_t>(section.integer("rob_size", 1, 1, 1 << 16));
    core.vector_width_elems = static_cast<std::uint32_t>(section.integer("vector_width", 16, 1, count_high));
    core.vector_step_ns = static_cast<std::uint32_t>(section.integer("vector_latency_cycle", 8, 0, count_high));
    MemoryKeys local;
    read_memory(section.section("local_memory_config"), local);
    if (local.size > (std::uint64_t{1} << 31U)) section.impossible("local_memory_config/memory_size", "local addresses have 31 bits");
    core.local_memory_bytes = local.size;
    core.local_data_width_bytes = local.data_width;
    core.local_period_fs = local.period_fs;
    core.local_read_cycles = local.read_cycles;
    core.local_write_cycles = local.write_cycles;
    read_matrix(section.section("matrix_config"), core);
    ignore_powers(section, {"controller", "inst_fetch", "inst_decode", "inst_decode_offset", "reg_file", "scalar", "transfer"});
    section.ignore({"reg_file_read_dynamic_power", "reg_file_write_dynamic_power", "vector_alu_static_power", "vector_alu_dynamic_energy",
                    "vector_reg_static_power", "vector_reg_read_dynamic_energy", "vector_reg_write_dynamic_energy"});
    const std::int64_t memory_id = section.integer("global_memory_switch_id", -10, INT32_MIN, INT32_MAX);
    section.finish();
    return memory_id;
}

void read_chip(JsonSection section, const std::filesystem::path& chip_file, ResolvedTarget& result) {
    TargetColumns& target = result.columns;
    target.core_count = static_cast<std::uint32_t>(section.integer("core_cnt", 1, 1, cores_high));
    target.memory_switch_id = static_cast<std::int32_t>(section.integer("global_memory_switch_id", -10, INT32_MIN, INT32_MAX));
    if (target.memory_switch_id >= 0 && target.memory_switch_id < static_cast<std::int32_t>(target.core_count)) {
        section.impossible("global_memory_switch_id", fmt::format("{} is the switch of a core", target.memory_switch_id));
    }
    const std::int64_t core_memory_id = read_core(section.section("core_config"), target.core);
    if (core_memory_id != target.memory_switch_id) {
        section.impossible("core_config/global_memory_switch_id",
                           fmt::format("{} differs from the chip's {}: loads and stores crash the simulator", core_memory_id, target.memory_switch_id));
    }
    MemoryKeys memory;
    read_memory(section.section("global_memory_config"), memory);
    target.memory = {memory.data_width, memory.period_fs, memory.read_cycles, memory.write_cycles, memory.size};
    read_network(section.section("network_config"), chip_file, result);
    section.finish();
}

void read_simulation(JsonSection section) {
    // Nothing of it describes hardware; checked all the same, so that the file also loads in the simulator.
    (void)section.integer("sim_mode", 0, 0, 1);
    if (section.femtoseconds("sim_time", 1) == 0) section.impossible("sim_time", "must be positive");
    if (section.femtoseconds("latency_timeout_ms", 60000) == 0) section.impossible("latency_timeout_ms", "must be positive");
    if (section.integer("report_verbose_level", 0, 0, INT32_MAX) > 1) {
        section.impossible("report_verbose_level", "a level above 1 makes the simulator fail after the simulation");
    }
    section.finish();
}

}  // namespace

nlohmann::json parse_json_file(const std::filesystem::path& path) {
    try {
        return nlohmann::json::parse(read_text(path));
    } catch (const nlohmann::json::exception& error) {
        bad_input("{}: not a JSON file: {}", path.string(), error.what());
    }
}

ResolvedTarget resolve_target(const std::filesystem::path& chip_file, const std::string& name) {
    const nlohmann::json json = parse_json_file(chip_file);
    ResolvedTarget result;
    if (json.is_object() && json.value("family", nlohmann::json()) == "ipu21") {
        KeyLists lists;
        result.columns = ipu21::resolve(json, chip_file, name, lists);
        result.unknown_keys = std::move(lists.unknown);
        result.notes = std::move(lists.notes);
        return result;
    }
    result.columns.family = TargetFamily::Pim;
    result.columns.name = name;
    result.columns.weight_bits = 8;
    result.columns.activation_bits = 8;
    KeyLists lists;
    const std::string file = chip_file.string();
    JsonSection root(&json, "", file, lists);
    if (!root.has("chip_config")) bad_input("{}: there is no chip_config, so this is not a chip description", file);
    read_chip(root.section("chip_config"), chip_file, result);
    read_simulation(root.section("sim_config"));
    root.finish();
    if (result.columns.core.period_fs % 1000 != 0) lists.notes.push_back("/chip_config/core_config/period: rounded to whole picoseconds by the simulator");
    result.unknown_keys = std::move(lists.unknown);
    result.ignored_keys = std::move(lists.ignored);
    result.notes.insert(result.notes.end(), lists.notes.begin(), lists.notes.end());
    return result;
}

std::string describe_target(const Target& target) {
    if (target.family == TargetFamily::Ipu21) return ipu21::describe(target);
    return fmt::format("{}: {} cores, {} crossbars of {} x {} cells of {} bits each, {} KiB local memory, reorder buffer {}", target.name,
                       target.core_count, target.core.crossbar_count, target.core.crossbar_rows, target.core.crossbar_columns,
                       target.core.cell_bits, target.core.local_memory_bytes / 1024, target.core.rob_entries);
}

}  // namespace weft
