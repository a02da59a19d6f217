// The JSON files beside the instruction lists: chip, network, native image.
#include <nlohmann/json.hpp>

#include "artifact/hash.h"
#include "base/id.h"
#include "export/pimsim.h"
#include "export/projection.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

/// A time in the simulator's nanoseconds; whole numbers stay whole.
Json nanoseconds(std::uint64_t amount, std::uint64_t per_nanosecond) {
    if (amount % per_nanosecond == 0) return amount / per_nanosecond;
    return static_cast<double>(amount) / static_cast<double>(per_nanosecond);
}

constexpr std::uint64_t femtoseconds = 1'000'000;
constexpr std::uint64_t picoseconds = 1'000;

Json matrix_json(const Target& target) {
    const PimCore& core = target.core;
    return {{"xbar_array_count", core.crossbar_count},
            {"period", nanoseconds(core.matrix_period_fs, femtoseconds)},
            {"pipeline_mode", core.matrix_pipelined},
            {"dac_resolution", core.dac_resolution_bits},
            {"dac_count", core.dac_count},
            {"dac_latency_cycle", core.dac_cycles},
            {"xbar_size", {core.crossbar_rows, core.crossbar_columns}},
            {"cell_precision", core.cell_bits},
            {"xbar_latency", nanoseconds(core.crossbar_read_fs, femtoseconds)},
            {"sample_hold_latency_cycle", core.sample_hold_cycles},
            {"adc_latency_cycle", core.adc_cycles},
            {"adc_count", core.adc_count},
            {"shift_adder_latency_cycle", core.shift_adder_cycles},
            {"output_buffer_latency_cycle", core.output_buffer_cycles}};
}

Json core_config_json(const Target& target) {
    const PimCore& core = target.core;
    return {{"period", nanoseconds(core.period_fs, femtoseconds)},
            {"rob_size", core.rob_entries},
            {"global_memory_switch_id", target.memory_switch_id},
            {"vector_width", core.vector_width_elems},
            {"vector_latency_cycle", core.vector_step_ns},
            {"matrix_config", matrix_json(target)},
            {"local_memory_config",
             {{"memory_size", core.local_memory_bytes},
              {"data_width", core.local_data_width_bytes},
              {"period", nanoseconds(core.local_period_fs, femtoseconds)},
              {"read_latency_cycle", core.local_read_cycles},
              {"write_latency_cycle", core.local_write_cycles}}}};
}

/// The simulator's id of a row of the link table: a core, or after the last core the global memory.
std::string switch_name(const Target& target, std::uint32_t row) {
    return row == target.core_count ? std::to_string(target.memory_switch_id) : std::to_string(row);
}

Json port_json(const Port& port, std::uint32_t element_bytes) {
    return {{"graph_tensor", port.graph_tensor}, {"address", std::uint64_t{port.address} * element_bytes},
            {"rows", port.rows},                 {"columns", port.columns},
            {"channels", port.channels},         {"gap", port.gap},
            {"row_stride", port.row_stride},     {"column_stride", port.column_stride},
            {"channel_stride", port.channel_stride}, {"round_offset", port.offset}};
}

Json groups_json(const Program& program, std::size_t core) {
    Json groups = Json::array();
    for (std::uint32_t index = program.core_first_group[core]; index < program.core_first_group[core + 1]; ++index) {
        const ArrayGroup& group = program.groups[index];
        Json blocks = Json::array();
        for (const GroupBlock& block : program.blocks.subspan(group.first_block, group.block_count)) {
            blocks.push_back({{"weight", block.weight}, {"row", block.row}, {"column", block.column}, {"rows", block.rows},
                              {"columns", block.columns}, {"offset", block.offset}, {"row_stride", block.row_stride},
                              {"column_stride", block.column_stride}});
        }
        groups.push_back({{"crossbars", group.crossbars}, {"rows", group.rows}, {"columns", group.columns}, {"blocks", blocks}});
    }
    return groups;
}

Json constant_json(const LocalConstant& constant, std::uint32_t element_bytes) {
    Json result = {{"core", constant.core}, {"address", std::uint64_t{constant.address} * element_bytes}, {"count", constant.count},
                   {"repeats", constant.repeats}, {"pitch_bytes", std::uint64_t{constant.pitch} * element_bytes}};
    if (constant.weight != no_id) {
        result.update({{"weight", constant.weight}, {"offset", constant.offset}, {"stride", constant.stride}, {"scale", constant.scale}});
    }
    result["shift"] = constant.shift;
    return result;
}

}  // namespace

std::string chip_json(const Target& target, const SimulationSettings& settings) {
    const PimMemory& memory = target.memory;
    const Json chip = {
        {"chip_config",
         {{"core_cnt", target.core_count},
          {"global_memory_switch_id", target.memory_switch_id},
          {"core_config", core_config_json(target)},
          {"global_memory_config",
           {{"memory_size", memory.size_bytes},
            {"data_width", memory.data_width_bytes},
            {"period", nanoseconds(memory.period_fs, femtoseconds)},
            {"read_latency_cycle", memory.read_cycles},
            {"write_latency_cycle", memory.write_cycles}}},
          {"network_config",
           {{"bus_topology", "mesh"},
            {"bus_width", target.network.bus_width_bytes},
            // The simulator ignores the layout but wants it positive.
            {"layout", {std::max(target.network.layout_rows, 1U), std::max(target.network.layout_columns, 1U)}},
            {"net_config_file_path", "network.json"}}}}},
        {"sim_config",
         {{"sim_mode", settings.mode},
          {"sim_time", settings.time_ms},
          {"latency_timeout_ms", settings.latency_timeout_ms},
          {"report_verbose_level", 1}}}};
    return chip.dump(1) + "\n";
}

std::string network_json(const Target& target) {
    const std::uint32_t side = target.core_count + 1;
    std::string out = "{\"latency\":{";
    for (std::uint32_t source = 0; source < side; ++source) {
        out += fmt::format("{}\n\"{}\":{{", source == 0 ? "" : ",", switch_name(target, source));
        bool first = true;
        for (std::uint32_t destination = 0; destination < side; ++destination) {
            const std::uint32_t latency = target.link_latency_ps[std::size_t{source} * side + destination];
            if (latency == 0) continue;   // an absent pair has latency 0
            out += fmt::format("{}\"{}\":{}", first ? "" : ",", switch_name(target, destination), nanoseconds(latency, picoseconds).dump());
            first = false;
        }
        out += '}';
    }
    return out + "\n},\n\"energy\":{}}\n";
}

std::string native_image_json(const Program& program) {
    Json image = {{"element_bytes", native_element_bytes},
                  {"depth", program.depth},
                  {"inferences_per_round", program.inferences_per_round},
                  {"weights", Json::array()},
                  {"groups", Json::array()},
                  {"constants", Json::array()},
                  {"inputs", Json::array()},
                  {"outputs", Json::array()}};
    for (const auto& weight : program.weights) {
        image["weights"].push_back({{"hash", to_hex({weight.hash_high, weight.hash_low})}, {"elements", weight.elem_count}});
    }
    for (std::size_t core = 0; core + 1 < program.core_first_group.size(); ++core) image["groups"].push_back(groups_json(program, core));
    for (const auto& constant : program.constants) image["constants"].push_back(constant_json(constant, native_element_bytes));
    for (const auto& port : program.inputs) image["inputs"].push_back(port_json(port, native_element_bytes));
    for (const auto& port : program.outputs) image["outputs"].push_back(port_json(port, native_element_bytes));
    return image.dump() + "\n";
}

}  // namespace weft
